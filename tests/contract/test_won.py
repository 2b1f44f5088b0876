"""What a win looks like: one more version, nothing else moved, every fact in the outcome."""

from __future__ import annotations

import pytest

from cas_orm import Expect, MissingExpectation, Verdict
from tests.contract.adapters.base import Api
from tests.contract.run import contract


@contract
async def test_save_wins(api: Api) -> None:
    """A save over an unmoved row writes it and raises the version by one, never the generation."""
    order = await api.make(api.models.Order, title="a", n=1)
    order.title = "b"
    outcome = await api.save_if_current(order)
    row = await api.row(api.models.Order, api.key(order))
    assert outcome.verdict is Verdict.WON
    assert bool(outcome)
    assert (row["title"], row["n"], row["record_version"], row["run_seq"]) == ("b", 1, 2, 0)


@contract
async def test_outcome_of_a_save(api: Api) -> None:
    """The outcome names the model, the key, the belief and the new numbers."""
    order = await api.make(api.models.Order)
    outcome = await api.try_save_if_current(order)
    assert outcome.model == api.label(api.models.Order)
    assert outcome.key == api.key(order)
    assert dict(outcome.expected) == {"record_version": 1, "run_seq": 0}
    assert outcome.actual is None
    assert (outcome.record_version, outcome.run_seq) == (2, 0)
    assert outcome.provisional is False
    assert (outcome.attempts, outcome.waited) == (1, 0)
    assert outcome.or_raise() is outcome
    with pytest.raises(TypeError):
        outcome.expected["record_version"] = 5


@contract
async def test_save_with_nothing_changed_still_verifies_and_bumps(api: Api) -> None:
    """A save without a change is a write all the same."""
    order = await api.make(api.models.Order)
    assert (await api.save_if_current(order)).verdict is Verdict.WON
    assert (await api.save_if_current(order)).record_version == 3
    assert (await api.row(api.models.Order, api.key(order)))["record_version"] == 3


@contract
async def test_save_without_a_generation(api: Api) -> None:
    """A model with a version alone has no generation, in the row or in the outcome."""
    doc = await api.make(api.models.Doc, title="a")
    outcome = await api.save_if_current(doc)
    assert (outcome.record_version, outcome.run_seq) == (2, None)
    assert dict(outcome.expected) == {"record_version": 1}
    assert not api.has_verb(api.models.Doc, "new_generation_if_current")
    assert api.has_verb(api.models.Order, "new_generation_if_current")


@contract
async def test_update_wins(api: Api) -> None:
    """An update writes what ``set`` names, under exactly the belief that the caller states."""
    order = await api.make(api.models.Order, state="new", n=1)
    outcome = await api.update_if_current(order, expect=Expect(state="new"), set={"state": "paid"})
    row = await api.row(api.models.Order, api.key(order))
    assert outcome.verdict is Verdict.WON
    assert dict(outcome.expected) == {"state": "new"}
    assert (row["state"], row["n"], row["record_version"], row["run_seq"]) == ("paid", 1, 2, 0)
    assert (order.state, order.record_version, outcome.record_version) == ("paid", 2, 2)


@contract
async def test_update_does_not_write_the_objects_other_changes(api: Api) -> None:
    """A column that was assigned but not named in ``set`` stays in memory only."""
    order = await api.make(api.models.Order, title="a")
    order.title = "unsaved"
    await api.update_if_current(order, expect=Expect(record_version=1), set={"n": 5})
    row = await api.row(api.models.Order, api.key(order))
    assert (row["title"], row["n"]) == ("a", 5)
    assert order.title == "unsaved"


@contract
async def test_update_by_key_wins(keyed: Api) -> None:
    """The by-key form needs no object."""
    order = await keyed.make(keyed.models.Order, state="new")
    key = keyed.key(order)
    outcome = await keyed.by_key(
        "update_if_current", keyed.models.Order, key, expect=Expect(record_version=1, run_seq=0), set={"n": 7}
    )
    row = await keyed.row(keyed.models.Order, key)
    assert (outcome.verdict, outcome.key, outcome.record_version) == (Verdict.WON, key, 2)
    assert (row["n"], row["record_version"]) == (7, 2)


@contract
async def test_delete_wins(api: Api) -> None:
    """A delete over an unmoved row removes it; there is no version afterwards."""
    order = await api.make(api.models.Order)
    key = api.key(order)
    outcome = await api.delete_if_current(order)
    assert (outcome.verdict, outcome.key) == (Verdict.WON, key)
    assert (outcome.record_version, outcome.run_seq) == (None, None)
    assert await api.row(api.models.Order, key) is None


@contract
async def test_delete_by_key_wins(keyed: Api) -> None:
    """A delete by key believes what ``expect`` says."""
    order = await keyed.make(keyed.models.Order, state="new")
    key = keyed.key(order)
    outcome = await keyed.by_key("delete_if_current", keyed.models.Order, key, expect=Expect(state="new"))
    assert (outcome.verdict, outcome.key, outcome.record_version) == (Verdict.WON, key, None)
    assert await keyed.row(keyed.models.Order, key) is None


@contract
async def test_delete_by_key_demands_a_belief(keyed: Api) -> None:
    """A delete by key without a belief is refused before any SQL."""
    order = await keyed.make(keyed.models.Order)
    async with keyed.statements() as sent:
        with pytest.raises(MissingExpectation):
            await keyed.by_key("delete_if_current", keyed.models.Order, keyed.key(order), expect=Expect())
    assert sent == []


@contract
async def test_new_generation_wins(api: Api) -> None:
    """A hand-over raises the generation and the version by exactly one and writes ``set``."""
    order = await api.make(api.models.Order, state="new")
    outcome = await api.new_generation_if_current(order, set={"state": "scheduled"})
    row = await api.row(api.models.Order, api.key(order))
    assert (outcome.verdict, outcome.record_version, outcome.run_seq) == (Verdict.WON, 2, 1)
    assert (row["record_version"], row["run_seq"], row["state"]) == (2, 1, "scheduled")
    assert (order.record_version, order.run_seq, order.state) == (2, 1, "scheduled")
    assert (await api.new_generation_if_current(order)).run_seq == 2


@contract
async def test_new_generation_by_key_wins(keyed: Api) -> None:
    """The by-key hand-over believes the generation that the caller states."""
    order = await keyed.make(keyed.models.Order)
    key = keyed.key(order)
    outcome = await keyed.by_key(
        "new_generation_if_current", keyed.models.Order, key, expect=Expect(run_seq=0), set={"n": 3}
    )
    row = await keyed.row(keyed.models.Order, key)
    assert (outcome.verdict, outcome.record_version, outcome.run_seq) == (Verdict.WON, 2, 1)
    assert (row["n"], row["record_version"], row["run_seq"]) == (3, 2, 1)


@contract
async def test_new_generation_by_key_demands_a_generation(keyed: Api) -> None:
    """A by-key hand-over that does not say which generation it ends is refused before any SQL."""
    order = await keyed.make(keyed.models.Order)
    async with keyed.statements() as sent:
        for expect in (Expect(), Expect(record_version=1)):
            with pytest.raises(MissingExpectation):
                await keyed.by_key(
                    "new_generation_if_current", keyed.models.Order, keyed.key(order), expect=expect
                )
    assert sent == []


@contract
async def test_an_object_writes_again_and_again(api: Api) -> None:
    """Every win leaves the object in step, whichever verb won."""
    order = await api.make(api.models.Order)
    await api.save_if_current(order)
    await api.update_if_current(order, expect=Expect(record_version=2), set={"n": 1})
    await api.new_generation_if_current(order)
    await api.save_if_current(order)
    outcome = await api.delete_if_current(order)
    assert dict(outcome.expected) == {"record_version": 5, "run_seq": 1}


@contract
async def test_expressions_reach_the_row(api: Api) -> None:
    """``set`` takes expressions; the object shows what the database computed."""
    order = await api.make(api.models.Order, n=1)
    await api.rival(order, n=10)
    await api.update_if_current(order, expect=Expect(record_version=1), set={"n": api.plus("n", 5)})
    assert (await api.row(api.models.Order, api.key(order)))["n"] == 15
    await api.reload(order, "n")
    assert (order.n, order.record_version) == (15, 2)
