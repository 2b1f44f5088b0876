"""What a writer believes about a row: a frozen value that becomes the WHERE of one statement."""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from typing import Final, Literal, NoReturn, Protocol, TypeAlias, final, runtime_checkable

from cas_orm.errors import InvalidExpectation, MissingExpectation
from cas_orm.facts import Facts

__all__ = ["UNSET", "Expect", "ValueSet", "not_one_of", "one_of"]

#: The role names; a model's own columns may be called anything.
ROLES: Final = ("record_version", "run_seq")

#: Versions and generations stay below the maximum of a signed 64-bit column, so that + 1 always fits.
MAX_NUMBER: Final = 2**63 - 1


class _Unset(Enum):
    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


#: Nothing is believed about this number. Not the same as None, which is refused.
UNSET: Final = _Unset.UNSET
Number: TypeAlias = int | Literal[_Unset.UNSET]


@final
class ValueSet:
    """The values that a column may have (`one_of`) or must not have (`not_one_of`). Frozen."""

    __slots__ = ("members", "negated")
    members: frozenset[object]
    negated: bool

    def __init__(self, members: Collection[object], *, negated: bool) -> None:
        for member in members:
            _check_value("a value set", member)
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


@runtime_checkable
class Believable(Protocol):
    """An ORM object that can say what it last saw, without a query."""

    def __cas_seen__(self, names: tuple[str, ...]) -> Mapping[str, object]:
        """Return the values of these roles and columns; no names mean version and generation."""
        ...


@final
class Expect:
    """Believe that a row has this version, this generation and these column values. Frozen.

    Everything named here stands in the WHERE of the one statement that writes; what is not named is not
    compared. ``None`` for a column means IS NULL. Columns are attribute names of the model.

    Args:
        record_version: the version the row must have; an exact int.
        run_seq: the generation the row must have; an exact int.
        **columns: column values, or value sets made with `one_of` and `not_one_of`.

    Raises:
        MissingExpectation: ``record_version`` or ``run_seq`` is None. It never means "do not check".
        InvalidExpectation: a value that cannot be compared exactly in SQL: a float, a container, a
            datetime that was not read from the row (use `Expect.of`), a bool or str as a version.

    Example:
        >>> Expect(run_seq=3, state="running") & Expect(action="start")
        Expect(run_seq=3, state='running', action='start')
    """

    __slots__ = ("_read", "columns", "record_version", "run_seq")
    record_version: Number
    run_seq: Number
    columns: Facts
    _read: frozenset[str]

    def __init__(
        self, /, *, record_version: Number = UNSET, run_seq: Number = UNSET, **columns: object
    ) -> None:
        self._fill(record_version, run_seq, columns, frozenset())

    def _fill(
        self, version: object, generation: object, columns: Mapping[str, object], read: frozenset[str]
    ) -> None:
        set_ = object.__setattr__
        set_(self, "record_version", check_number("record_version", version))
        set_(self, "run_seq", check_number("run_seq", generation))
        for name, value in columns.items():
            if name not in read and not isinstance(value, ValueSet):
                _check_value(name, value)
        set_(self, "columns", Facts({name: _simplest(value) for name, value in columns.items()}))
        set_(self, "_read", read)

    @classmethod
    def _make(
        cls, version: object, generation: object, columns: Mapping[str, object], read: frozenset[str]
    ) -> Expect:
        made = cls.__new__(cls)
        made._fill(version, generation, columns, read)
        return made

    @classmethod
    def of(cls, obj: object, *names: str) -> Expect:
        """Believe what ``obj`` last saw: of the named roles and columns, else version and generation.

        Never queries. SQLAlchemy objects give their committed values; Django objects their attributes
        as they are, so call it before assigning.

        Raises:
            MissingExpectation: a named attribute is deferred, expired or was never read.
            TypeError: ``obj`` is not an object of a CAS model.
        """
        if not isinstance(obj, Believable):
            raise TypeError(f"{type(obj).__name__} is not a CAS model")
        seen = dict(obj.__cas_seen__(names))
        version, generation = (seen.pop(role, UNSET) for role in ROLES)
        read = frozenset(name for name, value in seen.items() if isinstance(value, datetime.datetime))
        return cls._make(version, generation, seen, read)

    def believed(self) -> dict[str, object]:
        """Return everything that is believed, by role and column name."""
        roles = {"record_version": self.record_version, "run_seq": self.run_seq}
        return {name: value for name, value in roles.items() if value is not UNSET} | dict(self.columns)

    def __and__(self, other: object) -> Expect:
        """Believe both. Value sets intersect; a contradiction is a ValueError."""
        if not isinstance(other, Expect):
            return NotImplemented
        version = _same_number("record_version", self.record_version, other.record_version)
        generation = _same_number("run_seq", self.run_seq, other.run_seq)
        columns = dict(self.columns)
        for name, value in other.columns.items():
            columns[name] = _meet(name, columns[name], value) if name in columns else value
        return Expect._make(version, generation, columns, self._read | other._read)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("an Expect is frozen")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("an Expect is frozen")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expect):
            return NotImplemented
        return self.believed() == other.believed()

    def __hash__(self) -> int:
        return hash(frozenset(self.believed().items()))

    def __reduce__(self) -> tuple[object, ...]:
        return (Expect._make, (self.record_version, self.run_seq, dict(self.columns), self._read))

    def __repr__(self) -> str:
        return f"Expect({', '.join(f'{name}={value!r}' for name, value in self.believed().items())})"

    def to_json(self) -> str:
        """Return the belief as one line of JSON, to travel in a message.

        Raises:
            InvalidExpectation: a value is not an int, str, bool, None or a set of these.
        """
        return json.dumps({name: _to_plain(name, value) for name, value in self.believed().items()})

    @classmethod
    def from_json(cls, text: str | bytes) -> Expect:
        """Read back what `to_json` wrote.

        Raises:
            InvalidExpectation: the text is not such a belief.
            MissingExpectation: it names a version or generation without a value.
        """
        try:
            plain = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidExpectation(f"not a belief: {error} [cas-invalid-expectation]") from error
        if not isinstance(plain, dict):
            raise InvalidExpectation("not a belief: a JSON object is needed [cas-invalid-expectation]")
        values = {name: _from_plain(name, value) for name, value in plain.items()}
        version, generation = (values.pop(role, UNSET) for role in ROLES)
        return cls._make(version, generation, values, frozenset())


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


def _check_value(name: str, value: object) -> None:
    """Refuse what never compares exactly: RULES of equality differ by database and driver."""
    if isinstance(value, datetime.datetime):
        raise InvalidExpectation(
            f"{name}: a datetime can be compared only as read from the row; "
            f"use Expect.of(obj, {name!r}) [cas-invalid-expectation]"
        )
    container = isinstance(value, Collection | Iterator) and not isinstance(value, str | bytes)
    if container or isinstance(value, float | complex | ValueSet | Expect | _Unset):
        raise InvalidExpectation(
            f"{name}: a {type(value).__name__} cannot be compared exactly [cas-invalid-expectation]"
        )
    try:
        hash(value)
    except TypeError as error:
        raise InvalidExpectation(f"{name}: a plain value is needed [cas-invalid-expectation]") from error
    if value != value:
        raise InvalidExpectation(f"{name}: NaN does not equal itself [cas-invalid-expectation]")


def _simplest(value: object) -> object:
    if isinstance(value, ValueSet) and not value.negated and len(value.members) == 1:
        return next(iter(value.members))
    return value


def _same_number(role: str, mine: Number, theirs: Number) -> Number:
    if UNSET not in (mine, theirs) and mine != theirs:
        raise ValueError(f"{role} cannot be both {mine} and {theirs}")
    return theirs if mine is UNSET else mine


def _meet(name: str, mine: object, theirs: object) -> object:
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


def _to_plain(name: str, value: object) -> object:
    if isinstance(value, ValueSet):
        key = "not_one_of" if value.negated else "one_of"
        return {key: [_to_plain(name, member) for member in value.sorted()]}
    if value is None or isinstance(value, int | str):
        return value
    raise InvalidExpectation(
        f"{name}: a {type(value).__name__} does not travel as JSON [cas-invalid-expectation]"
    )


def _from_plain(name: str, value: object) -> object:
    if isinstance(value, dict) and len(value) == 1:
        (key, members), *_ = value.items()
        if key in ("one_of", "not_one_of") and isinstance(members, list) and members:
            return ValueSet(members, negated=key == "not_one_of")
    if value is None or isinstance(value, int | str):
        return value
    raise InvalidExpectation(f"{name}: not a belief [cas-invalid-expectation]")
