"""What a writer believes about a row: a frozen value that becomes the WHERE of one statement."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from typing import Final, NoReturn, Protocol, final, runtime_checkable

from cas_orm.errors import InvalidExpectation
from cas_orm.facts import Facts
from cas_orm.values import (
    UNSET,
    NotAValue,
    Number,
    ValueSet,
    check_number,
    check_value,
    from_plain,
    meet,
    not_one_of,
    one_of,
    same_number,
    simplest,
    to_plain,
)

__all__ = ["UNSET", "Expect", "ValueSet", "not_one_of", "one_of"]

#: The role names; a model's own columns may be called anything.
ROLES: Final = ("record_version", "run_seq")


@runtime_checkable
class Believable(Protocol):
    """An ORM object that can say what it last saw, without a query."""

    def __cas_seen__(self, names: tuple[str, ...]) -> Mapping[str, object]:
        """Return the values of these roles and columns; no names mean version and generation."""
        ...


@final
class Expect(NotAValue):
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
                check_value(name, value)
        set_(self, "columns", Facts({name: simplest(value) for name, value in columns.items()}))
        set_(self, "_read", read)

    @classmethod
    def _make(
        cls, version: object, generation: object, columns: Mapping[str, object], read: frozenset[str]
    ) -> Expect:
        made = cls.__new__(cls)
        made._fill(version, generation, columns, read)
        return made

    @classmethod
    def read(cls, version: Number, generation: Number, columns: Mapping[str, object]) -> Expect:
        """Return a belief whose values were read from the row, or checked against its model."""
        return cls._make(version, generation, columns, frozenset(columns))

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
        version = same_number("record_version", self.record_version, other.record_version)
        generation = same_number("run_seq", self.run_seq, other.run_seq)
        columns = dict(self.columns)
        for name, value in other.columns.items():
            columns[name] = meet(name, columns[name], value) if name in columns else value
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
        return json.dumps({name: to_plain(name, value) for name, value in self.believed().items()})

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
        values = {name: from_plain(name, value) for name, value in plain.items()}
        version, generation = (values.pop(role, UNSET) for role in ROLES)
        return cls._make(version, generation, values, frozenset())
