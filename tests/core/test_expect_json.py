"""Beliefs travel as JSON: a round trip loses nothing, and junk is refused by name."""

from __future__ import annotations

import contextlib
import datetime as dt
import enum
import json
import uuid
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cas_orm import Expect, InvalidExpectation, MissingExpectation, not_one_of, one_of
from tests.core.beliefs import json_expects


class Colour(enum.Enum):
    RED = "red"


class State(enum.StrEnum):
    DONE = "done"


@given(json_expects())
def test_the_round_trip_loses_nothing(expect: Expect) -> None:
    """The belief that comes back is equal, looks the same, and is sent as the same line again."""
    line = expect.to_json()
    back = Expect.from_json(line)
    assert back == expect
    assert repr(back) == repr(expect)
    assert back.to_json() == line
    assert Expect.from_json(line.encode()) == expect
    assert len(line.splitlines()) == 1


def test_the_text_is_plain_json() -> None:
    """The format is part of the contract with messages that are already under way."""
    expect = Expect(
        record_version=7, run_seq=0, state=one_of("b", None, "a"), flag=True, owner=not_one_of("x")
    )
    assert json.loads(expect.to_json()) == {
        "record_version": 7,
        "run_seq": 0,
        "state": {"one_of": [None, "a", "b"]},
        "flag": True,
        "owner": {"not_one_of": ["x"]},
    }


def test_bools_and_text_enums_keep_their_kind() -> None:
    """True comes back as True; a text enum as the text it is equal to."""
    back = Expect.from_json(Expect(flag=True, count=1, state=State.DONE).to_json())
    assert back.columns["flag"] is True
    assert type(back.columns["count"]) is int
    assert back == Expect(flag=True, count=1, state="done")


HOMELESS = [Decimal(1), b"a", uuid.UUID(int=1), dt.date(2024, 2, 29), Colour.RED]


@pytest.mark.parametrize("value", HOMELESS, ids=repr)
def test_other_values_do_not_travel(value: object) -> None:
    """What JSON would turn into something else is refused, alone and inside a set."""
    with pytest.raises(InvalidExpectation, match=r"^state: .*\[cas-invalid-expectation\]$"):
        Expect(state=value).to_json()
    with pytest.raises(InvalidExpectation, match="state"):
        Expect(state=not_one_of("a", value)).to_json()


JUNK = [
    "",
    "x",
    "null",
    "7",
    "[]",
    '"state"',
    "{",
    "{]",
    '{"state": 1.5}',
    '{"state": NaN}',
    '{"state": Infinity}',
    '{"state": 1e400}',
    '{"state": []}',
    '{"state": ["a"]}',
    '{"state": {}}',
    '{"state": {"one_of": []}}',
    '{"state": {"one_of": "ab"}}',
    '{"state": {"one_of": [1.5]}}',
    '{"state": {"one_of": [["a"]]}}',
    '{"state": {"one_of": [{"one_of": ["a"]}]}}',
    '{"state": {"one_of": ["a"], "not_one_of": ["b"]}}',
    '{"state": {"any": ["a"]}}',
    '{"record_version": true}',
    '{"record_version": 1.0}',
    '{"record_version": "1"}',
    '{"record_version": -1}',
    '{"record_version": 9223372036854775807}',
    '{"run_seq": {"one_of": [1]}}',
    '{"run_seq": {"one_of": [1, 2]}}',
    '{"state": ' + "9" * 5000 + "}",
    "[" * 100_000,
    '{"a":' * 100_000,
    b"\xff\xfe\xfd",
    b'{"state": "\xff"}',
]


@pytest.mark.parametrize("text", JUNK, ids=lambda text: repr(text[:40]))
def test_junk_is_refused_by_name(text: str | bytes) -> None:
    """Broken text, deep nesting and values that never were a belief are InvalidExpectation."""
    with pytest.raises(InvalidExpectation, match=r"\[cas-invalid-expectation\]$"):
        Expect.from_json(text)


@pytest.mark.parametrize("text", ['{"record_version": null}', '{"run_seq": null, "state": "a"}'])
def test_a_number_without_a_value_is_no_expectation(text: str) -> None:
    """null for a version fails closed here, too."""
    with pytest.raises(MissingExpectation):
        Expect.from_json(text)


def accepted(text: str | bytes) -> Expect | None:
    """Return the belief, or None when it was refused by one of the two names."""
    with contextlib.suppress(InvalidExpectation, MissingExpectation):
        return Expect.from_json(text)
    return None


@given(st.one_of(st.text(), st.binary()))
def test_any_text_is_a_belief_or_refused_by_name(text: str | bytes) -> None:
    """Arbitrary text and bytes never raise anything else."""
    accepted(text)


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4))
KEYS = st.sampled_from(["record_version", "run_seq", "state", "one_of", "not_one_of", ""])
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, ANY_JSON, max_size=4))
def test_any_object_is_a_belief_or_refused_by_name(document: dict[str, object]) -> None:
    """Objects that look almost like beliefs are refused by name, or survive a second round trip."""
    belief = accepted(json.dumps(document))
    if belief is not None:
        assert Expect.from_json(belief.to_json()) == belief


@given(json_expects(), st.data())
def test_a_damaged_belief_is_a_belief_or_refused_by_name(expect: Expect, data: st.DataObject) -> None:
    """One character less, or another in its place, never raises anything else."""
    line = expect.to_json()
    place = data.draw(st.integers(0, len(line) - 1))
    accepted(line[:place] + data.draw(st.sampled_from(["", "}", "0", "null", '"'])) + line[place + 1 :])
    accepted(line[:place])
