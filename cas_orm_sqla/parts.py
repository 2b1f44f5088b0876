"""The tables of a mapper: how the row of each is found by the key, and what a write may assign there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from sqlalchemy import Column
from sqlalchemy.orm import Mapper
from sqlalchemy.sql import visitors
from sqlalchemy.sql.elements import BinaryExpression

from cas_orm import UnsupportedBackend
from cas_orm_sqla.kinds import taken_as_is

AnyMapper: TypeAlias = Mapper[Any]
AnyColumn: TypeAlias = Column[Any]


@dataclass(frozen=True, eq=False)
class Attribute:
    """A mapped column: the attribute's name and the column behind it."""

    key: str
    column: AnyColumn

    @cached_property
    def taken_as_is(self) -> frozenset[type]:
        """Python types of which the column takes every value as it is."""
        return taken_as_is(self.column.type)


@dataclass(frozen=True, eq=False)
class Part:
    """One table of a mapper.

    Attributes:
        keys: what identifies its row, in the order of the mapper's primary key.
        attributes: what a write may assign.
    """

    table: Any
    keys: tuple[Attribute, ...]
    attributes: tuple[Attribute, ...]


def tables_of(mapper: AnyMapper) -> list[Any]:
    """Return a mapper's tables as a flush writes them: the root's first."""
    down = [m.local_table for m in reversed([*mapper.iterate_to_root()]) if m.local_table in mapper.tables]
    return [*dict.fromkeys(down), *(t for t in mapper.tables if t not in down)]


def part_of(mapper: AnyMapper, table: Any, roles: set[str]) -> Part:
    """Return one table of a mapper; attributes with these names are written by the library alone.

    Raises:
        UnsupportedBackend: nothing in the table corresponds to a column of the mapper's primary key.
    """
    keys = tuple(_key(mapper, column, table) for column in mapper.primary_key)
    closed = {a.column for a in keys} | set(table.primary_key)
    attributes = tuple(
        a
        for a in columns_in(mapper, table)
        if a.column not in closed and a.key not in roles and not made_by_database(a.column)
    )
    return Part(table, keys, attributes)


def columns_in(mapper: AnyMapper, table: Any) -> Iterator[Attribute]:
    """Yield every plain column that a mapper has in this table."""
    for prop in mapper.column_attrs:
        for column in prop.columns:
            if isinstance(column, Column) and column.table is table:
                yield Attribute(prop.key, column)


def made_by_database(column: AnyColumn) -> bool:
    """Tell whether the database refuses to be given a value for this column."""
    return column.computed is not None or (column.identity is not None and bool(column.identity.always))


def _key(mapper: AnyMapper, column: Any, table: Any) -> Attribute:
    """Return the column of this table that has the same value as one of the mapper's primary key."""
    same = {column}
    grown = True
    while grown:
        found = {c for pair in _joined(mapper) if same.intersection(pair) for c in pair}
        grown = not found <= same
        same |= found
    for twin in same:
        if twin.table is table:
            return Attribute(mapper.get_property_by_column(twin).key, twin)
    raise UnsupportedBackend(
        f"{mapper.class_.__name__}: {table.name} has no column for the key {column.name} [cas-unsupported]"
    )


def _joined(mapper: AnyMapper) -> Iterator[tuple[AnyColumn, AnyColumn]]:
    """Yield the pairs of columns that inheritance, or the mapped join, holds equal."""
    conditions = [m.inherit_condition for m in mapper.iterate_to_root() if m.inherit_condition is not None]
    for condition in (*conditions, mapper.persist_selectable):
        for element in visitors.iterate(condition):
            if isinstance(element, BinaryExpression):
                left, right = element.left, element.right
                if isinstance(left, Column) and isinstance(right, Column):
                    yield _plain(left), _plain(right)


def _plain(column: AnyColumn) -> AnyColumn:
    """Return the table's own column behind an annotated one."""
    return column.table.c[column.key]
