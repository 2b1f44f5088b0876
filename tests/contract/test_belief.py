"""What a belief says in WHERE: NULL, value sets, two-valued logic, combination, replacement."""

from __future__ import annotations

from typing import Any

import pytest

from cas_orm import Expect, Verdict, not_one_of, one_of
from tests.contract.adapters.base import Api
from tests.contract.run import contract

#: belief about ``note`` -> the values that it accepts, the values that it refuses
BELIEFS: dict[str, tuple[Any, tuple[str | None, ...], tuple[str | None, ...]]] = {
    "value": ("a", ("a",), ("b", None)),
    "empty": ("", ("",), ("a", None)),
    "none": (None, (None,), ("a", "")),
    "one_of": (one_of("a", "b"), ("a", "b"), ("c", None)),
    "one_of_with_none": (one_of(None, "a"), ("a", None), ("b",)),
    "one_of_only_none": (one_of(None), (None,), ("a",)),
    "not_one_of": (not_one_of("a", "b"), ("c", None), ("a", "b")),
    "not_one_of_with_none": (not_one_of(None, "a"), ("b",), ("a", None)),
    "not_one_of_only_none": (not_one_of(None), ("a", ""), (None,)),
}
CASES = [
    pytest.param(belief, value, accepted, id=f"{name}-{value}")
    for name, (belief, good, bad) in BELIEFS.items()
    for accepted, values in ((True, good), (False, bad))
    for value in values
]


@pytest.mark.parametrize(("belief", "value", "accepted"), CASES)
@contract
async def test_belief_about_a_nullable_column(
    api: Api, belief: Any, value: str | None, accepted: bool
) -> None:
    """The belief decides in the UPDATE itself exactly as it reads."""
    order = await api.make(api.models.Order, note=value)
    outcome = await api.try_update_if_current(order, expect=Expect(note=belief), set={"n": 1})
    assert outcome.verdict is (Verdict.WON if accepted else Verdict.WRONG_STATE)
    assert (await api.row(api.models.Order, api.key(order)))["n"] == (1 if accepted else 0)


@pytest.mark.parametrize(
    ("column", "right", "wrong"), [("n", 3, 4), ("flag", True, False), ("title", "Running", "running")]
)
@contract
async def test_belief_about_other_columns(api: Api, column: str, right: Any, wrong: Any) -> None:
    """Integers, booleans and text are compared; text with the column's collation."""
    if column == "title" and api.database == "mariadb":
        wrong = "stopped"  # the column of the test has a collation without case
    for value, verdict in ((right, Verdict.WON), (wrong, Verdict.WRONG_STATE)):
        order = await api.make(api.models.Order, **{column: right})
        assert (await api.try_save_if_current(order, expect=Expect(**{column: value}))).verdict is verdict


@contract
async def test_belief_about_a_datetime_as_read(api: Api) -> None:
    """A datetime that was read from the row is a belief like another."""
    import datetime as dt

    due = dt.datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=dt.UTC)
    for move, verdict in ((None, Verdict.WON), (due + dt.timedelta(seconds=1), Verdict.WRONG_STATE)):
        order = await api.make(api.models.Order, due=due)
        belief = Expect.of(order, "due")
        if move:
            await api.rival(order, due=move)
        assert (await api.try_update_if_current(order, expect=belief, set={"n": 1})).verdict is verdict


@contract
async def test_expect_of_an_object(api: Api) -> None:
    """``Expect.of`` without names takes version and generation, with names those; it sends nothing."""
    order = await api.make(api.models.Order, state="new")
    async with api.statements() as sent:
        assert Expect.of(order) == Expect(record_version=1, run_seq=0)
        assert Expect.of(order, "state", "record_version") == Expect(state="new", record_version=1)
    assert sent == []
    doc = await api.make(api.models.Doc)
    assert Expect.of(doc) == Expect(record_version=1)


@contract
async def test_beliefs_combined(api: Api) -> None:
    """``a & b``: both must hold."""
    belief = Expect(state=one_of("new", "paid")) & Expect(state=one_of("paid", "sent"), n=0)
    for state, n, verdict in (
        ("paid", 0, Verdict.WON),
        ("new", 0, Verdict.WRONG_STATE),
        ("sent", 0, Verdict.WRONG_STATE),
        ("paid", 1, Verdict.WRONG_STATE),
    ):
        order = await api.make(api.models.Order, state=state, n=n)
        assert (await api.try_update_if_current(order, expect=belief, set={"title": "x"})).verdict is verdict


@contract
async def test_where_alone_is_a_belief(api: Api) -> None:
    """An update whose belief is only ``where`` goes through."""
    for n, verdict in ((3, Verdict.WON), (4, Verdict.WRONG_STATE)):
        order = await api.make(api.models.Order, n=n)
        outcome = await api.try_update_if_current(
            order, expect=Expect(), where=api.where(api.models.Order, n=3), set={"title": "x"}
        )
        assert outcome.verdict is verdict


@contract
async def test_expect_adds_to_what_save_believes(api: Api) -> None:
    """``expect`` on a save comes on top of version and generation."""
    order = await api.make(api.models.Order, state="new")
    await api.rival(order, record_version=2)
    assert (await api.try_save_if_current(order, expect=Expect(state="new"))).verdict is Verdict.STALE
    order = await api.make(api.models.Order, state="new")
    outcome = await api.save_if_current(order, expect=Expect(state="new"))
    assert dict(outcome.expected) == {"record_version": 1, "run_seq": 0, "state": "new"}


@contract
async def test_an_explicit_version_replaces_the_last_seen_one(api: Api) -> None:
    """A form or a request may know another version than the object was loaded with."""
    order = await api.make(api.models.Order)
    await api.rival(order, record_version=4)
    outcome = await api.save_if_current(order, expect=Expect(record_version=4))
    assert (outcome.verdict, outcome.record_version, order.record_version) == (Verdict.WON, 5, 5)
    fresh = await api.load(api.models.Order, api.key(order))
    assert (await api.try_save_if_current(fresh, expect=Expect(record_version=4))).verdict is Verdict.STALE


@contract
async def test_an_explicit_generation_replaces_the_last_seen_one(api: Api) -> None:
    """The token of an older hand-over is refused although the object was loaded today."""
    order = await api.make(api.models.Order, run_seq=3)
    assert (await api.try_save_if_current(order, expect=Expect(run_seq=2))).verdict is Verdict.SUPERSEDED
    order = await api.load(api.models.Order, api.key(order))
    assert (await api.save_if_current(order, expect=Expect(run_seq=3))).verdict is Verdict.WON


@contract
async def test_the_belief_is_judged_against_the_row_not_the_object(api: Api) -> None:
    """What the caller expects of a column is not what the object happens to hold."""
    order = await api.make(api.models.Order, state="new")
    order.state = "paid"
    assert (await api.save_if_current(order, expect=Expect(state="new"))).verdict is Verdict.WON
    assert (await api.row(api.models.Order, api.key(order)))["state"] == "paid"


@contract
async def test_ac06_expectation_without_a_change(api: Api) -> None:
    """AC-06: asking for what is already there is refused when the expected source is gone."""
    run = await api.make(api.models.Run, state=None)
    assert await api.update_if_current(run, expect=Expect(state=None), set={"state": "SHELVING"})
    late = await api.load(api.models.Run, api.key(run))
    async with api.statements() as sent:
        outcome = await api.try_update_if_current(late, expect=Expect(state=None), set={"state": "SHELVING"})
    assert outcome.verdict is Verdict.WRONG_STATE
    assert sent
    clean = await api.load(api.models.Run, api.key(run))
    assert (await api.try_save_if_current(clean, expect=Expect(record_version=1))).verdict is Verdict.STALE
    assert (await api.row(api.models.Run, api.key(run)))["record_version"] == 2
