"""What may be believed of one column: a value, or a set of values; and what never compares exactly."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator
from enum import Enum
from typing import Final, Literal, NoReturn, TypeAlias, final

from cas_orm.errors import InvalidExpectation, MissingExpectation

#: Versions and generations stay below the maximum of a signed 64-bit column, so that + 1 always fits.
MAX_NUMBER: Final = 2**63 - 1


class _Unset(Enum):
    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


#: Nothing is believed about this number. Not the same as None, which is refused.
UNSET: Final = _Unset.UNSET
Number: TypeAlias = int | Literal[_Unset.UNSET]


class NotAValue:
    """Base of what is a belief itself, and so cannot be a value that is believed."""

    __slots__ = ()


@final
class ValueSet(NotAValue):
    """The values that a column may have (`one_of`) or must not have (`not_one_of`). Frozen."""

    __slots__ = ("members", "negated")
    members: frozenset[object]
    negated: bool

    def __init__(self, members: Collection[object], *, negated: bool) -> None:
        for member in members:
            check_value("a value set", member)
        if not members:
            raise ValueError("an empty value set believes nothing that could ever hold, or everything")
        object.__setattr__(self, "members", frozenset(members))
        object.__setattr__(self, "negated", negated)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a ValueSet is frozen")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a ValueSet is frozen")

    def __contains__(self, value: object) -> bool:
        return (value in self.members) is not self.negated

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ValueSet):
            return NotImplemented
        return self.negated is other.negated and self.members == other.members

    def __hash__(self) -> int:
        return hash((self.negated, self.members))

    def __reduce__(self) -> tuple[object, ...]:
        return (_value_set, (self.members, self.negated))

    def __repr__(self) -> str:
        name = "not_one_of" if self.negated else "one_of"
        return f"{name}({', '.join(repr(value) for value in self.sorted())})"

    def sorted(self) -> list[object]:
        """Return the members in an order that does not change from process to process."""
        return sorted(self.members, key=lambda value: (type(value).__name__, repr(value)))


def _value_set(members: frozenset[object], negated: bool) -> ValueSet:
    return ValueSet(members, negated=negated)


def one_of(*values: object) -> ValueSet:
    """Believe that the column has one of these values; None among them includes IS NULL.

    Raises:
        ValueError: no values were given.
        InvalidExpectation: a value is a float, a container or a datetime.

    Example:
        >>> Expect(state=one_of("pending", "running"))
        Expect(state=one_of('pending', 'running'))
    """
    return ValueSet(values, negated=False)


def not_one_of(*values: object) -> ValueSet:
    """Believe that the column has none of these values. NULL matches unless None is among them.

    Raises:
        ValueError: no values were given.
        InvalidExpectation: a value is a float, a container or a datetime.
    """
    return ValueSet(values, negated=True)


def check_number(role: str, value: object) -> Number:
    """Return a version or generation that SQL compares exactly, or raise."""
    if value is UNSET:
        return UNSET
    if value is None:
        raise MissingExpectation(f"{role} is None: a write without a belief is refused [cas-no-expectation]")
    if type(value) is not int:
        raise InvalidExpectation(
            f"{role} must be an int, not {type(value).__name__} [cas-invalid-expectation]"
        )
    if not 0 <= value < MAX_NUMBER:
        raise InvalidExpectation(f"{role} must lie in 0 ... 2**63 - 2 [cas-invalid-expectation]")
    return value


def check_value(name: str, value: object) -> None:
    """Refuse what never compares exactly: the rules of equality differ by database and driver."""
    if isinstance(value, datetime.datetime):
        raise InvalidExpectation(
            f"{name}: a datetime can be compared only as read from the row; "
            f"use Expect.of(obj, {name!r}) [cas-invalid-expectation]"
        )
    container = isinstance(value, Collection | Iterator) and not isinstance(value, str | bytes)
    if container or isinstance(value, float | complex | NotAValue | _Unset):
        raise InvalidExpectation(
            f"{name}: a {type(value).__name__} cannot be compared exactly [cas-invalid-expectation]"
        )
    try:
        hash(value)
    except TypeError as error:
        raise InvalidExpectation(f"{name}: a plain value is needed [cas-invalid-expectation]") from error
    if value != value:
        raise InvalidExpectation(f"{name}: NaN does not equal itself [cas-invalid-expectation]")


def simplest(value: object) -> object:
    """Return a set of one value as that value."""
    if isinstance(value, ValueSet) and not value.negated and len(value.members) == 1:
        return next(iter(value.members))
    return value


def same_number(role: str, mine: Number, theirs: Number) -> Number:
    """Return the number that both believe; a contradiction is a ValueError."""
    if UNSET not in (mine, theirs) and mine != theirs:
        raise ValueError(f"{role} cannot be both {mine} and {theirs}")
    return theirs if mine is UNSET else mine


def meet(name: str, mine: object, theirs: object) -> object:
    """Return what meets both conditions; a contradiction is a ValueError."""
    if mine == theirs:
        return mine
    (a, a_negated), (b, b_negated) = _members(mine), _members(theirs)
    if a_negated and b_negated:
        return ValueSet(a | b, negated=True)
    both = b - a if a_negated else a - b if b_negated else a & b
    if not both:
        raise ValueError(f"the beliefs about {name} contradict each other")
    return next(iter(both)) if len(both) == 1 else ValueSet(both, negated=False)


def _members(value: object) -> tuple[frozenset[object], bool]:
    return (value.members, value.negated) if isinstance(value, ValueSet) else (frozenset((value,)), False)


def to_plain(name: str, value: object) -> object:
    """Return the condition as JSON can carry it."""
    if isinstance(value, ValueSet):
        key = "not_one_of" if value.negated else "one_of"
        return {key: [to_plain(name, member) for member in value.sorted()]}
    if value is None or isinstance(value, int | str):
        return value
    raise InvalidExpectation(
        f"{name}: a {type(value).__name__} does not travel as JSON [cas-invalid-expectation]"
    )


def from_plain(name: str, value: object) -> object:
    """Return the condition that `to_plain` wrote."""
    if isinstance(value, dict) and len(value) == 1:
        (key, members), *_ = value.items()
        if key in ("one_of", "not_one_of") and isinstance(members, list) and members:
            return ValueSet(members, negated=key == "not_one_of")
    if value is None or isinstance(value, int | str):
        return value
    raise InvalidExpectation(f"{name}: not a belief [cas-invalid-expectation]")
