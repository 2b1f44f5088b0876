"""`Expect` is a value: frozen, hashable, picklable, with any column name."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given

from cas_orm import UNSET, Expect, not_one_of, one_of
from cas_orm.expect import ValueSet
from tests.core.beliefs import Belief, beliefs

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


@given(beliefs())
def test_survives_pickling_and_copying(a: Belief) -> None:
    """Every pickle protocol, copy and deepcopy give an equal belief with an equal hash."""
    expect = a.expect()
    twins = [pickle.loads(pickle.dumps(expect, protocol)) for protocol in PROTOCOLS]
    for twin in (*twins, copy.copy(expect), copy.deepcopy(expect)):
        assert twin == expect
        assert hash(twin) == hash(expect)
        assert (twin.record_version is UNSET) == (a.version is None)


def test_unset_is_the_same_object_after_pickling() -> None:
    """`is UNSET` works on the other side of a queue."""
    assert pickle.loads(pickle.dumps(UNSET)) is UNSET
    assert copy.deepcopy(UNSET) is UNSET
    assert repr(UNSET) == "UNSET"


@pytest.mark.parametrize("name", ["record_version", "run_seq", "columns", "state", "_read"])
def test_an_expect_is_frozen(name: str) -> None:
    """Nothing can be assigned to a belief, and nothing deleted from it."""
    expect = Expect(record_version=1, run_seq=2, state="a")
    with pytest.raises(AttributeError):
        setattr(expect, name, 3)
    with pytest.raises(AttributeError):
        delattr(expect, name)
    assert expect == Expect(record_version=1, run_seq=2, state="a")


@pytest.mark.parametrize("name", ["members", "negated", "other"])
def test_a_value_set_is_frozen(name: str) -> None:
    """Nothing can be assigned to a value set, and nothing deleted from it."""
    values = one_of("a", "b")
    with pytest.raises(AttributeError):
        setattr(values, name, frozenset("c"))
    with pytest.raises(AttributeError):
        delattr(values, name)
    assert values == one_of("b", "a")


def test_the_columns_are_a_copy_and_read_only() -> None:
    """Neither the caller's dict nor the attribute is a way in."""
    columns: dict[str, Any] = {"state": "a"}
    expect = Expect(**columns)
    columns["state"] = "b"
    assert expect.columns == {"state": "a"}
    with pytest.raises(TypeError):
        expect.columns["state"] = "b"  # type: ignore[index]


NAMES = ["self", "columns", "record", "cls", "obj", "names", "_read", "believed", "of", "version", "class"]


@pytest.mark.parametrize("name", NAMES)
def test_a_column_may_have_any_name(name: str) -> None:
    """Only the two roles are taken; a column called like a method or a parameter is a column."""
    column: dict[str, Any] = {name: "a"}
    expect = Expect(record_version=1, **column)
    assert expect.believed() == {"record_version": 1, name: "a"}
    assert Expect.from_json(expect.to_json()) == expect & expect
    assert pickle.loads(pickle.dumps(expect)) == expect


def test_columns_called_like_parameters_meet() -> None:
    """The issue's three names at once, through every operation."""
    expect = Expect(self=1, columns=2) & Expect(record=one_of(3, 4))
    assert expect.believed() == {"self": 1, "columns": 2, "record": one_of(3, 4)}
    assert repr(expect) == "Expect(self=1, columns=2, record=one_of(3, 4))"


def test_numbers_are_keyword_only() -> None:
    """A bare number never becomes a version by its position."""
    with pytest.raises(TypeError):
        Expect(7)  # type: ignore[call-arg]


def test_says_what_is_believed() -> None:
    """`believed` and `repr` show what was named and nothing else."""
    assert Expect().believed() == {}
    assert Expect(run_seq=0).believed() == {"run_seq": 0}
    assert Expect(record_version=7, finished_at=None).believed() == {
        "record_version": 7,
        "finished_at": None,
    }
    assert repr(Expect(run_seq=3, state=not_one_of("b", "a"))) == (
        "Expect(run_seq=3, state=not_one_of('a', 'b'))"
    )


def test_a_set_of_one_is_that_value() -> None:
    """`one_of("a")` and `"a"` are the same belief; "none of these" stays a set."""
    assert Expect(state=one_of("a")) == Expect(state="a")
    assert Expect(state=one_of("a")).columns["state"] == "a"
    assert Expect(state=one_of(None)).columns["state"] is None
    assert isinstance(Expect(state=not_one_of("a")).columns["state"], ValueSet)


def test_is_not_equal_to_other_things() -> None:
    """A belief equals beliefs only, a value set value sets only."""
    assert Expect(state="a") != {"state": "a"}
    assert one_of("a") != frozenset({"a"})
    assert one_of("a") != not_one_of("a")
    assert Expect(run_seq=1) != Expect(record_version=1)
    assert Expect() != Expect(state=None)


@pytest.mark.parametrize("values", [one_of(None, "a", 1), not_one_of(None, "a", 1)], ids=repr)
def test_a_value_set_pickles_and_sorts(values: ValueSet) -> None:
    """A value set survives pickling, and shows its members in an order that does not change."""
    twin = pickle.loads(pickle.dumps(values))
    assert twin == values
    assert hash(twin) == hash(values)
    assert values.sorted() == [None, 1, "a"]
