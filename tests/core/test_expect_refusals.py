"""What the value alone shows to be wrong is refused when the belief is made."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from collections import deque
from decimal import Decimal
from typing import Any

import pytest

from cas_orm import UNSET, Expect, InvalidExpectation, MissingExpectation, not_one_of, one_of

ROLES = ("record_version", "run_seq")
MAXIMUM = 2**63 - 1


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Text(enum.StrEnum):
    A = "a"


class Unhashable:
    __hash__ = None  # type: ignore[assignment]


NOT_A_NUMBER: list[object] = [
    True,
    False,
    1.0,
    float("nan"),
    "1",
    "1x",
    b"1",
    Decimal(1),
    Level.LOW,
    1 + 0j,
    [1],
    (1,),
    {1},
    {},
    one_of(1),
    one_of(1, 2),
    not_one_of(1),
    Expect(),
    -1,
    -MAXIMUM,
    MAXIMUM,
    MAXIMUM + 1,
]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("value", NOT_A_NUMBER, ids=repr)
def test_a_number_is_an_exact_int_below_the_maximum(role: str, value: object) -> None:
    """bool, float, str, containers, value sets, negative and too large are InvalidExpectation."""
    with pytest.raises(InvalidExpectation, match=rf"^{role} .*\[cas-invalid-expectation\]$") as refused:
        Expect(**{role: value})  # type: ignore[arg-type]
    assert isinstance(refused.value, ValueError)


@pytest.mark.parametrize("role", ROLES)
def test_an_absurdly_large_number_is_refused_like_any_other(role: str) -> None:
    """Python itself refuses to print such an int; the refusal must not trip over that."""
    with pytest.raises(InvalidExpectation, match=role):
        Expect(**{role: 10**5000})


@pytest.mark.parametrize("role", ROLES)
def test_none_is_no_expectation(role: str) -> None:
    """None never means "do not check"; it is MissingExpectation and not a ValueError."""
    with pytest.raises(MissingExpectation, match=rf"^{role} .*\[cas-no-expectation\]$") as refused:
        Expect(**{role: None})  # type: ignore[arg-type]
    assert not isinstance(refused.value, ValueError)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("value", [0, 1, MAXIMUM - 1, UNSET])
def test_the_whole_range_is_accepted(role: str, value: Any) -> None:
    """The twin of the refusals: both ends of the range, and nothing believed."""
    assert getattr(Expect(**{role: value}), role) == value


NOT_COMPARABLE: list[object] = [
    1.0,
    float("nan"),
    float("inf"),
    1j,
    Decimal("NaN"),
    Decimal("sNaN"),
    [],
    ["a"],
    (),
    ("a", "b"),
    {},
    {"a": 1},
    {"a"},
    frozenset("a"),
    bytearray(b"a"),
    memoryview(b"a"),
    range(3),
    deque("a"),
    iter("ab"),
    (letter for letter in "ab"),
    Text,
    dt.datetime(2024, 2, 29, 12),
    dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC),
    Expect(state="a"),
    UNSET,
    Unhashable(),
]


@pytest.mark.parametrize("value", NOT_COMPARABLE, ids=lambda value: type(value).__name__)
def test_a_column_takes_no_value_that_compares_inexactly(value: object) -> None:
    """Floats, NaN, containers, iterators, datetimes and beliefs are refused; the column is named."""
    with pytest.raises(InvalidExpectation, match=r"^amount: .*\[cas-invalid-expectation\]$"):
        Expect(amount=value)


@pytest.mark.parametrize("value", [*NOT_COMPARABLE, one_of("a")], ids=lambda value: type(value).__name__)
def test_a_value_set_takes_no_such_value_either(value: object) -> None:
    """The same inside value sets, beside good values; sets do not nest."""
    with pytest.raises(InvalidExpectation):
        one_of("a", value)
    with pytest.raises(InvalidExpectation):
        not_one_of(value, None)


COMPARABLE: list[object] = [
    None,
    True,
    False,
    0,
    -5,
    2**70,
    "",
    "running",
    b"\x00",
    Decimal("1.10"),
    uuid.UUID(int=1),
    dt.date(2024, 2, 29),
    Colour.RED,
    Level.LOW,
    Text.A,
]


@pytest.mark.parametrize("value", COMPARABLE, ids=repr)
def test_a_column_takes_plain_values(value: object) -> None:
    """The twin of the refusals: alone and inside both kinds of value sets."""
    assert Expect(state=value).columns["state"] is value
    assert value in one_of(value, "another")
    assert value not in not_one_of(value, "another")


def test_an_empty_value_set_is_a_value_error() -> None:
    """A set without members believes nothing that could ever hold, or everything."""
    with pytest.raises(ValueError, match="empty"):
        one_of()
    with pytest.raises(ValueError, match="empty"):
        not_one_of()


def test_none_in_a_set_includes_is_null_and_its_absence_matches_null() -> None:
    """The contract's two examples of two-valued logic."""
    assert None in one_of(None, "a")
    assert None not in one_of("b", "a")
    assert None in not_one_of("a")
    assert None not in not_one_of("a", None)


SECRET = "s3cret-7f1c"


@pytest.mark.parametrize(
    "value", [[SECRET], (SECRET,), {SECRET: 1}, iter([SECRET])], ids=lambda value: type(value).__name__
)
def test_a_refusal_does_not_quote_the_value(value: object) -> None:
    """The message names the column and the type."""
    with pytest.raises(InvalidExpectation) as refused:
        Expect(state=value)
    assert SECRET not in str(refused.value)
