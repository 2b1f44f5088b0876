"""Adopted columns, unversioned columns, write tokens, keys of other kinds."""

from __future__ import annotations

import uuid

import pytest

from cas_orm import Expect, InvalidExpectation, Verdict
from tests.contract.adapters.base import Api
from tests.contract.run import contract


@contract
async def test_adopted_columns_go_by_their_roles(keyed: Api) -> None:
    """Beliefs and outcomes speak of ``record_version`` and ``run_seq`` whatever the columns are called."""
    legacy = await keyed.make(keyed.models.Legacy, title="a")
    legacy.title = "b"
    outcome = await keyed.save_if_current(legacy)
    assert dict(outcome.expected) == {"record_version": 1, "run_seq": 0}
    assert (outcome.record_version, legacy.lock_version, legacy.epoch) == (2, 2, 0)
    outcome = await keyed.new_generation_if_current(legacy)
    assert (outcome.record_version, outcome.run_seq, legacy.lock_version, legacy.epoch) == (3, 1, 3, 1)
    outcome = await keyed.by_key(
        "update_if_current",
        keyed.models.Legacy,
        keyed.key(legacy),
        expect=Expect(record_version=3, run_seq=1),
        set={"title": "c"},
    )
    row = await keyed.row(keyed.models.Legacy, keyed.key(legacy))
    assert (row["title"], row["lock_version"], row["epoch"]) == ("c", 4, 1)
    assert (await keyed.try_save_if_current(legacy)).verdict is Verdict.STALE


@pytest.mark.parametrize("column", ["lock_version", "epoch"])
@contract
async def test_adopted_columns_are_never_set(api: Api, column: str) -> None:
    """The real names are as closed as the roles."""
    legacy = await api.make(api.models.Legacy)
    with pytest.raises(ValueError):
        await api.update_if_current(legacy, expect=Expect(record_version=1), set={column: 7})
    with pytest.raises(ValueError):
        await api.save_if_current(legacy, update_fields=[column])
    assert await api.save_if_current(legacy)


@contract
async def test_adopted_columns_superseded(api: Api) -> None:
    """The verdicts know the roles too."""
    legacy = await api.make(api.models.Legacy)
    await api.rival(legacy, epoch=1)
    outcome = await api.try_save_if_current(legacy)
    assert outcome.verdict is Verdict.SUPERSEDED
    assert outcome.actual["run_seq"] == 1


@contract
async def test_unversioned_columns_are_not_in_a_full_save(api: Api) -> None:
    """A full save neither writes back an old counter nor alarms because it moved."""
    device = await api.make(api.models.Device, name="a")
    await api.rival(device, hits=50)
    device.name, device.hits = "b", 1
    assert await api.save_if_current(device)
    row = await api.row(api.models.Device, api.key(device))
    assert (row["name"], row["hits"], row["record_version"]) == ("b", 50, 2)


@contract
async def test_unversioned_columns_alone_do_not_bump(api: Api) -> None:
    """Named alone they are written under key and generation, whatever the version is."""
    device = await api.make(api.models.Device, name="a")
    await api.rival(device, record_version=5, name="theirs")
    device.hits = 7
    assert (await api.save_if_current(device, update_fields=["hits"])).verdict is Verdict.WON
    row = await api.row(api.models.Device, api.key(device))
    assert (row["hits"], row["name"], row["record_version"]) == (7, "theirs", 5)


@contract
async def test_unversioned_columns_are_fenced_by_the_generation(api: Api) -> None:
    """A write of the older generation is superseded."""
    device = await api.make(api.models.Device)
    await api.rival(device, run_seq=1)
    device.hits = 7
    assert (await api.try_save_if_current(device, update_fields=["hits"])).verdict is Verdict.SUPERSEDED
    assert (await api.row(api.models.Device, api.key(device)))["hits"] == 0


@contract
async def test_unversioned_and_versioned_columns_together_bump(api: Api) -> None:
    """One versioned column makes it an ordinary write."""
    device = await api.make(api.models.Device)
    device.hits, device.name = 7, "b"
    assert (await api.save_if_current(device, update_fields=["hits", "name"])).record_version == 2
    row = await api.row(api.models.Device, api.key(device))
    assert (row["hits"], row["name"], row["record_version"]) == (7, "b", 2)


@contract
async def test_every_write_has_a_token_of_its_own(api: Api) -> None:
    """Insert, save, update and hand-over each leave 16 new bytes, in the row and on the object."""
    ticket = await api.make(api.models.Ticket)
    seen = [bytes(ticket.write_token)]
    await api.save_if_current(ticket)
    seen.append(bytes(ticket.write_token))
    await api.update_if_current(ticket, expect=Expect(n=0), set={"n": 1})
    seen.append(bytes(ticket.write_token))
    await api.new_generation_if_current(ticket)
    seen.append(bytes(ticket.write_token))
    await api.save_if_current(ticket, update_fields=["title"])
    seen.append(bytes(ticket.write_token))
    assert len(set(seen)) == 5
    assert {len(token) for token in seen} == {16}
    assert bytes((await api.row(api.models.Ticket, api.key(ticket)))["write_token"]) == seen[-1]


@contract
async def test_a_refused_write_leaves_the_token(api: Api) -> None:
    """Neither the row's nor the object's token moves."""
    ticket = await api.make(api.models.Ticket)
    before = bytes(ticket.write_token)
    await api.rival(ticket, record_version=9)
    assert not await api.try_save_if_current(ticket)
    assert bytes(ticket.write_token) == before
    assert bytes((await api.row(api.models.Ticket, api.key(ticket)))["write_token"]) == before


@contract
async def test_composite_key(keyed: Api) -> None:
    """The key is a tuple everywhere, and addresses exactly one row."""
    seat = await keyed.make(keyed.models.Seat, row="A", number=1)
    neighbour = await keyed.make(keyed.models.Seat, row="A", number=2)
    seat.holder = "me"
    outcome = await keyed.save_if_current(seat)
    assert (outcome.verdict, outcome.key) == (Verdict.WON, ("A", 1))
    outcome = await keyed.by_key(
        "update_if_current",
        keyed.models.Seat,
        ("A", 1),
        expect=Expect(record_version=2),
        set={"holder": "you"},
    )
    assert (outcome.verdict, outcome.key, outcome.record_version) == (Verdict.WON, ("A", 1), 3)
    assert (await keyed.try_save_if_current(seat)).verdict is Verdict.STALE
    assert (await keyed.row(keyed.models.Seat, ("A", 2)))["record_version"] == 1
    assert await keyed.delete_if_current(neighbour)
    assert await keyed.by_key(
        "delete_if_current", keyed.models.Seat, ("A", 1), expect=Expect(record_version=3)
    )
    assert await keyed.row(keyed.models.Seat, ("A", 1)) is None


@contract
async def test_uuid_key(keyed: Api) -> None:
    """A UUID is a key like another."""
    parcel = await keyed.make(keyed.models.Parcel, label="a")
    key = keyed.key(parcel)
    assert isinstance(key, uuid.UUID)
    assert (await keyed.save_if_current(parcel)).key == key
    outcome = await keyed.by_key(
        "update_if_current", keyed.models.Parcel, key, expect=Expect(record_version=2), set={"label": "b"}
    )
    assert (outcome.key, outcome.record_version) == (key, 3)
    outcome = await keyed.by_key(
        "try_update_if_current",
        keyed.models.Parcel,
        uuid.uuid4(),
        expect=Expect(record_version=2),
        set={"label": "b"},
    )
    assert outcome.verdict is Verdict.MISSING


@contract
async def test_text_key(keyed: Api) -> None:
    """A chosen text key."""
    slot = await keyed.make(keyed.models.Slot, code="S-1")
    assert (await keyed.save_if_current(slot)).key == "S-1"
    assert await keyed.by_key("delete_if_current", keyed.models.Slot, "S-1", expect=Expect(record_version=2))


@contract
async def test_none_is_no_key(keyed: Api) -> None:
    """A key that is None never reaches the database."""
    async with keyed.statements() as sent:
        with pytest.raises((InvalidExpectation, ValueError, TypeError)):
            await keyed.by_key(
                "update_if_current", keyed.models.Order, None, expect=Expect(record_version=1), set={"n": 1}
            )
    assert sent == []
