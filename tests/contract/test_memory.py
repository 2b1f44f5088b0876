"""The object's version is truthful after wins and rollbacks of every kind, of inserts and deletes too."""

from __future__ import annotations

import pytest

from cas_orm import Expect, Verdict
from tests.contract.adapters.base import Api, Undo
from tests.contract.run import contract

WRITES = {
    "save_if_current": {},
    "update_if_current": {"expect": Expect(state="new"), "set": {"n": 9}},
    "new_generation_if_current": {},
}


@pytest.mark.parametrize("verb", WRITES)
@contract
async def test_a_committed_transaction_keeps_the_version(api: Api, verb: str) -> None:
    """The accepted twin of the rollbacks below."""
    order = await api.make(api.models.Order)
    async with api.transaction():
        outcome = await api.on_object(verb, order, **WRITES[verb])
        assert outcome.provisional is True
        assert order.record_version == 2
    assert order.record_version == 2
    outcome = await api.save_if_current(order)
    assert (outcome.record_version, outcome.provisional) == (3, False)


@pytest.mark.parametrize("verb", WRITES)
@contract
async def test_an_outer_rollback_puts_the_version_back(api: Api, verb: str) -> None:
    """The write never happened: the next verb believes the version from before it."""
    order = await api.make(api.models.Order)
    async with api.transaction():
        await api.on_object(verb, order, **WRITES[verb])
        raise Undo
    order.title = "after"
    outcome = await api.save_if_current(order)
    assert dict(outcome.expected) == {"record_version": 1, "run_seq": 0}
    row = await api.row(api.models.Order, api.key(order))
    assert (row["title"], row["record_version"], row["run_seq"]) == ("after", 2, 0)


@contract
async def test_several_wins_rolled_back_together(api: Api) -> None:
    """The version goes back to what was committed, not by one step."""
    order = await api.make(api.models.Order)
    async with api.transaction():
        await api.save_if_current(order)
        await api.new_generation_if_current(order)
        await api.save_if_current(order)
        raise Undo
    assert Expect.of(order) == Expect(record_version=1, run_seq=0)
    assert (await api.save_if_current(order)).record_version == 2


@contract
async def test_a_savepoint_rollback_puts_back_only_its_own_writes(api: Api) -> None:
    """Inside the same transaction the next verb wins on the version before the savepoint."""
    order = await api.make(api.models.Order)
    async with api.transaction():
        await api.save_if_current(order)
        async with api.savepoint():
            await api.new_generation_if_current(order)
            raise Undo
        outcome = await api.save_if_current(order)
        assert dict(outcome.expected) == {"record_version": 2, "run_seq": 0}
    assert (await api.row(api.models.Order, api.key(order)))["record_version"] == 3
    assert (await api.save_if_current(order)).record_version == 4


@contract
async def test_a_released_savepoint_inside_a_rolled_back_one(api: Api) -> None:
    """A savepoint that was released dies with the one around it."""
    order = await api.make(api.models.Order)
    async with api.transaction():
        async with api.savepoint():
            async with api.savepoint():
                await api.save_if_current(order)
            await api.save_if_current(order)
            raise Undo
        assert (await api.save_if_current(order)).record_version == 2
    assert (await api.save_if_current(order)).record_version == 3


@contract
async def test_a_released_savepoint_inside_a_rolled_back_transaction(api: Api) -> None:
    """Released is not committed."""
    order = await api.make(api.models.Order)
    async with api.transaction():
        async with api.savepoint():
            await api.save_if_current(order)
        raise Undo
    assert (await api.save_if_current(order)).record_version == 2


@contract
async def test_a_rollback_then_a_rival(api: Api) -> None:
    """The version put back is a belief like any other: a rival's write refuses it."""
    order = await api.make(api.models.Order)
    async with api.transaction():
        await api.save_if_current(order)
        raise Undo
    await api.bumped_by_rival(order)  # the row is at 2, as the rolled-back write had made it
    assert (await api.try_save_if_current(order)).verdict is Verdict.STALE


@contract
async def test_a_refusal_leaves_the_transaction_usable(api: Api) -> None:
    """Zero rows are not an error: work before and after the refusal is committed."""
    before, loser, after = [await api.make(api.models.Order) for _ in range(3)]
    await api.rival(loser, record_version=7)
    async with api.transaction():
        await api.save_if_current(before)
        with pytest.raises(Exception, match="cas-stale"):
            await api.save_if_current(loser)
        await api.save_if_current(after)
    for order in (before, after):
        assert (await api.row(api.models.Order, api.key(order)))["record_version"] == 2


@contract
async def test_a_rolled_back_insert_has_to_be_inserted_again(api: Api) -> None:
    """The object is truthful about whether it is in the database."""
    if "plain_save_is_guarded" not in api.capabilities:
        pytest.skip("plain_save_is_guarded")
    async with api.transaction():
        order = await api.insert(api.models.Order, title="a")
        await api.save_if_current(order)
        raise Undo
    await api.plain_save(order)
    row = await api.row(api.models.Order, api.key(order))
    assert (row["title"], row["record_version"], row["run_seq"]) == ("a", 1, 0)
    assert (await api.save_if_current(order)).record_version == 2


@contract
async def test_an_insert_rolled_back_by_a_savepoint(api: Api) -> None:
    """The same with a savepoint inside a transaction that goes on."""
    if "plain_save_is_guarded" not in api.capabilities:
        pytest.skip("plain_save_is_guarded")
    async with api.transaction():
        async with api.savepoint():
            order = await api.insert(api.models.Order, title="a")
            raise Undo
        await api.plain_save(order)
    assert (await api.row(api.models.Order, api.key(order)))["record_version"] == 1
    assert (await api.save_if_current(order)).record_version == 2


@contract
async def test_a_rolled_back_delete(api: Api) -> None:
    """The row is still there, and so is the object's way to it."""
    order = await api.make(api.models.Order)
    key = api.key(order)
    async with api.transaction():
        await api.delete_if_current(order)
        raise Undo
    assert await api.row(api.models.Order, key) is not None
    assert (await api.save_if_current(order)).record_version == 2
    assert api.key(order) == key


@contract
async def test_a_committed_delete(api: Api) -> None:
    """The accepted twin: the row is gone for good."""
    order = await api.make(api.models.Order)
    key = api.key(order)
    async with api.transaction():
        outcome = await api.delete_if_current(order)
        assert outcome.provisional is True
    assert await api.row(api.models.Order, key) is None


@contract
async def test_a_refusal_inside_a_rolled_back_transaction_still_fences(api: Api) -> None:
    """A fence is knowledge about the object; a rollback does not make its data newer."""
    order = await api.make(api.models.Order)
    await api.rival(order, record_version=7)
    async with api.transaction():
        assert not await api.try_save_if_current(order)
        raise Undo
    with pytest.raises(Exception, match="cas-stale") as caught:
        await api.save_if_current(order)
    assert caught.value.fenced
