"""From an `Expect` to the conditions of one WHERE: which columns, in which shape, with which values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.core.exceptions import ValidationError
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q
from django.db.models.expressions import Expression

from cas_orm import UNSET, Expect, InvalidExpectation, MissingExpectation
from cas_orm.values import Number, ValueSet, check_number
from cas_orm_django.columns import AnyField, Columns, maximum_of

#: Anything that Django's filter() takes as one positional condition.
Where: TypeAlias = Q | Expression

#: How one column is compared: its field, the operator, how many values.
Condition: TypeAlias = tuple[AnyField, str, int]


@dataclass(slots=True)
class Belief:
    """What must hold of the row: numbers by role, columns by field, and the caller's own condition."""

    version: int | None = None
    generation: int | None = None
    columns: Sequence[tuple[AnyField, object]] = ()
    where: Where | None = None

    def numbers(self) -> dict[str, int]:
        """Return the believed numbers by role."""
        numbers = {}
        if self.version is not None:
            numbers["record_version"] = self.version
        if self.generation is not None:
            numbers["run_seq"] = self.generation
        return numbers

    def facts(self) -> dict[str, object]:
        """Return the belief by role and column name."""
        facts: dict[str, object] = {**self.numbers()}
        for field, value in self.columns:
            facts[field.attname] = value
        return facts

    def expect(self) -> Expect:
        """Return the belief as the value that `judge` takes."""
        read = frozenset(field.attname for field, _ in self.columns)
        version = UNSET if self.version is None else self.version
        generation = UNSET if self.generation is None else self.generation
        columns = {field.attname: value for field, value in self.columns}
        return Expect._make(version, generation, columns, read)

    def shape(self) -> tuple[object, ...]:
        """Return what the belief adds to the key of a kept statement."""
        numbers = (self.version is not None, self.generation is not None)
        if not self.columns:
            return numbers
        return (*numbers, *((field.attname, *_operator(value)) for field, value in self.columns))

    def conditions(self, columns: Columns) -> tuple[Condition, ...]:
        """Return the shape of the WHERE beyond the key; equal shapes share one statement."""
        shape: list[Condition] = []
        if self.version is not None:
            shape.append((columns.version, "=", 1))
        if self.generation is not None and columns.generation is not None:
            shape.append((columns.generation, "=", 1))
        shape.extend((field, *_operator(value)) for field, value in self.columns)
        return tuple(shape)

    def params(self, connection: BaseDatabaseWrapper) -> list[object]:
        """Return the values to bind, in the order of `conditions`; numbers need no preparation."""
        bound: list[object] = [number for number in (self.version, self.generation) if number is not None]
        for field, value in self.columns:
            members = value.sorted() if isinstance(value, ValueSet) else [value]
            bound += [field.get_db_prep_value(m, connection) for m in members if m is not None]
        return bound


def resolve(
    columns: Columns, expect: Expect | None, where: Where | None, seen: Belief | None = None
) -> Belief:
    """Check a belief against its model; an explicit version or generation replaces the one in ``seen``.

    Raises:
        InvalidExpectation: a column that cannot be believed, or a value that its field refuses.
        MissingExpectation: a generation is believed of a model that has none.
    """
    belief = seen or Belief()
    belief.where = where
    if expect is None:
        return belief
    if not isinstance(expect, Expect):
        raise InvalidExpectation(
            f"expect= takes an Expect, not {type(expect).__name__} [cas-invalid-expectation]"
        )
    if expect.record_version is not UNSET:
        belief.version = exact(columns.version, "record_version", expect.record_version)
    if expect.run_seq is not UNSET:
        if columns.generation is None:
            raise InvalidExpectation(f"{columns.label} has no generation column [cas-invalid-expectation]")
        belief.generation = exact(columns.generation, "run_seq", expect.run_seq)
    belief.columns = [_column(columns, name, value) for name, value in expect.columns.items()]
    return belief


def exact(field: AnyField, role: str, value: object) -> int:
    """Return a version or generation that the column can hold and still count past.

    Raises:
        MissingExpectation: None.
        InvalidExpectation: not an exact int, negative, or at the column's maximum.
    """
    number: Number = check_number(role, value)
    if number is UNSET:
        raise MissingExpectation(f"{role} is not known [cas-no-expectation]")
    if number >= (maximum := maximum_of(field)):
        raise InvalidExpectation(f"{role} {number} is not below {maximum} [cas-invalid-expectation]")
    return number


def _column(columns: Columns, name: str, value: object) -> tuple[AnyField, object]:
    field = columns.believable(name)
    if isinstance(value, ValueSet):
        members = [_typed(field, member) for member in value.members]
        return field, ValueSet(members, negated=value.negated)
    return field, _typed(field, value)


def _typed(field: AnyField, value: object) -> object:
    """Return the value in the column's own Python type, so that SQL and Python compare alike."""
    if value is None:
        return None
    if hasattr(value, "resolve_expression") or hasattr(value, "_meta"):
        raise InvalidExpectation(f"{field.name}: a plain value is needed [cas-invalid-expectation]")
    while isinstance(field, models.ForeignKey):
        field = field.target_field
    convert: Callable[[Any], object] = field.to_python
    try:
        return convert(value)
    except (ValidationError, ValueError, TypeError) as error:
        raise InvalidExpectation(
            f"{field.name} does not take a {type(value).__name__} like this [cas-invalid-expectation]"
        ) from error


def _operator(value: object) -> tuple[str, int]:
    """Name the comparison that keeps two-valued logic: NULL is a value like any other."""
    if not isinstance(value, ValueSet):
        return ("null", 0) if value is None else ("=", 1)
    count = len(value.members) - (None in value.members)
    operator = "not in" if value.negated else "in"
    nullable = (None in value.members) is not value.negated
    return (f"{operator} or null" if nullable else operator), count
