"""`Expect.of`: what an object last saw, asked once, through one method, without a query."""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Mapping

import pytest

from cas_orm import Expect, InvalidExpectation, MissingExpectation, not_one_of, one_of

NOON = dt.datetime(2024, 2, 29, 12, 0, 0, 123456, tzinfo=dt.UTC)


class Row:
    """An object of no ORM; it knows what it saw and counts how often it was asked."""

    def __init__(self, **seen: object) -> None:
        self.seen = seen
        self.asked: list[tuple[str, ...]] = []

    def __cas_seen__(self, names: tuple[str, ...]) -> Mapping[str, object]:
        self.asked.append(names)
        roles = tuple(role for role in ("record_version", "run_seq") if role in self.seen)
        for name in names:
            if name not in self.seen:
                raise MissingExpectation(f"{name} is deferred")
        return {name: self.seen[name] for name in names or roles}


def test_no_names_mean_version_and_generation() -> None:
    """The default belief is the two numbers and no column."""
    row = Row(record_version=7, run_seq=3, state="a")
    assert Expect.of(row) == Expect(record_version=7, run_seq=3)
    assert row.asked == [()]


def test_a_model_without_a_generation_gives_its_version() -> None:
    """A role that the model does not have is not believed."""
    assert Expect.of(Row(record_version=7)) == Expect(record_version=7)


def test_names_mean_exactly_these() -> None:
    """Roles and columns can be named; the others are left out."""
    row = Row(record_version=7, run_seq=3, state="a", owner=None)
    assert Expect.of(row, "run_seq", "state") == Expect(run_seq=3, state="a")
    assert Expect.of(row, "owner") == Expect(owner=None)
    assert row.asked == [("run_seq", "state"), ("owner",)]


def test_a_deferred_attribute_is_no_expectation() -> None:
    """What was never read is not believed, and nothing is fetched for it."""
    with pytest.raises(MissingExpectation):
        Expect.of(Row(record_version=7), "state")


@pytest.mark.parametrize("role", ["record_version", "run_seq"])
def test_a_number_that_is_none_is_no_expectation(role: str) -> None:
    """An unsaved or half-loaded object fails closed."""
    with pytest.raises(MissingExpectation):
        Expect.of(Row(**{"record_version": 1, "run_seq": 1, role: None}))


@pytest.mark.parametrize(
    "value", [1.5, {"a": 1}, ["a"], float("nan")], ids=lambda value: f"{type(value).__name__}"
)
def test_having_been_read_does_not_make_it_comparable(value: object) -> None:
    """JSON and floats stay refused, though they come from the row."""
    with pytest.raises(InvalidExpectation, match="amount"):
        Expect.of(Row(amount=value), "amount")


def test_a_datetime_read_from_the_row_is_comparable() -> None:
    """The one way to believe a datetime; it survives pickling and the meet."""
    seen = Expect.of(Row(record_version=7, finished_at=NOON), "record_version", "finished_at")
    assert seen.believed() == {"record_version": 7, "finished_at": NOON}
    assert pickle.loads(pickle.dumps(seen)) == seen
    assert (seen & Expect(state="a")).columns == {"finished_at": NOON, "state": "a"}
    assert seen & seen == seen == Expect() & seen


def test_a_datetime_does_not_travel_as_json() -> None:
    """On the other side it would not have been read from the row."""
    with pytest.raises(InvalidExpectation, match="finished_at"):
        Expect.of(Row(finished_at=NOON), "finished_at").to_json()


def test_a_datetime_meets_value_sets() -> None:
    """ "As read, and not NULL" is that datetime; "as read, and one of others" is a contradiction."""
    seen = Expect.of(Row(finished_at=NOON), "finished_at")
    assert seen & Expect(finished_at=not_one_of(None)) == seen
    assert Expect(finished_at=not_one_of(None)) & seen == seen
    with pytest.raises(ValueError, match="finished_at") as refused:
        seen & Expect(finished_at=one_of(None, "never"))
    assert not isinstance(refused.value, InvalidExpectation)


def test_two_readings_of_different_times_contradict() -> None:
    """Two objects that saw different times cannot be believed together."""
    later = Row(finished_at=NOON + dt.timedelta(microseconds=1))
    with pytest.raises(ValueError, match="finished_at"):
        Expect.of(Row(finished_at=NOON), "finished_at") & Expect.of(later, "finished_at")


def test_the_belief_does_not_follow_the_object() -> None:
    """What was seen is copied."""
    row = Row(record_version=7, run_seq=3)
    seen = Expect.of(row)
    row.seen["record_version"] = 8
    assert seen == Expect(record_version=7, run_seq=3)


@pytest.mark.parametrize(
    "other",
    [None, 1, "row", {"record_version": 1}, object(), Expect()],
    ids=lambda value: f"{type(value).__name__}",
)
def test_anything_else_is_a_type_error(other: object) -> None:
    """An object that cannot say what it saw is a mistake of the caller's."""
    with pytest.raises(TypeError, match="is not a CAS model"):
        Expect.of(other)
