"""Which columns of a mapper carry the belief, and in which tables they live.

Worked out once per mapper, at its first use, and kept. A role's column is found by its ``Column.info``
mark, so that attribute and column names are free; classes that adopt columns name the attribute instead.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from sqlalchemy import Column, inspect
from sqlalchemy.orm import Mapper, RelationshipDirection
from sqlalchemy.sql import sqltypes

from cas_orm import InvalidExpectation, UnsupportedBackend
from cas_orm_sqla.belief import condition

if TYPE_CHECKING:
    from cas_orm_sqla.statement import Shape

#: The key in ``Column.info`` under which a column says which role it plays.
MARK: Final = "cas_orm_role"
AnyMapper: TypeAlias = Mapper[Any]
AnyColumn: TypeAlias = Column[Any]


@dataclass(frozen=True, eq=False)
class Attribute:
    """A mapped column: the attribute's name and the column behind it."""

    key: str
    column: AnyColumn


@dataclass(frozen=True, eq=False)
class Part:
    """One table of a mapper: how to find its row, and what a write may assign there."""

    table: Any
    keys: tuple[Attribute, ...]
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True, eq=False)
class Columns:
    """The roles that a mapper's columns play.

    Attributes:
        version, generation, token: the attributes by role.
        parts: the version's own table first, then the others of joined inheritance.
    """

    mapper: AnyMapper
    version: Attribute
    generation: Attribute | None
    token: Attribute | None
    unversioned: frozenset[str]
    parts: tuple[Part, ...]

    @cached_property
    def label(self) -> str:
        """The mapped class's name, for outcomes and messages."""
        return self.mapper.class_.__name__

    @cached_property
    def version_name(self) -> str:
        """The attribute that is the version."""
        return self.version.key

    @cached_property
    def generation_name(self) -> str | None:
        """The attribute that is the generation; None when there is none."""
        return None if self.generation is None else self.generation.key

    @property
    def owner(self) -> Part:
        """The table that holds the version: the one that is updated first."""
        return self.parts[0]

    @cached_property
    def writable(self) -> dict[str, Attribute]:
        """What a verb may assign, by attribute name."""
        return {a.key: a for part in self.parts for a in part.attributes}

    @cached_property
    def roles(self) -> frozenset[str]:
        """Names of the attributes that only the library writes."""
        return frozenset(a.key for a in (self.version, self.generation, self.token) if a is not None)

    @cached_property
    def shapes(self) -> dict[tuple[object, ...], Shape]:
        """Statements built before, by what shaped them."""
        return {}

    @cached_property
    def derived(self) -> tuple[str, ...]:
        """Attributes that are SQL expressions: a write may have changed them."""
        return tuple(p.key for p in self.mapper.column_attrs if not isinstance(p.columns[0], Column))

    @cached_property
    def many_to_one(self) -> tuple[str, ...]:
        """Relationships whose foreign key is set only by a flush."""
        many_to_one = RelationshipDirection.MANYTOONE
        return tuple(
            r.key for r in self.mapper.relationships if r.direction is many_to_one and not r.viewonly
        )

    @cached_property
    def cascades(self) -> bool:
        """Whether the ORM's own delete would touch more than this one row of one table."""
        return len(self.parts) > 1 or any(
            r.direction is not RelationshipDirection.MANYTOONE
            and not r.viewonly
            and r.passive_deletes != "all"
            for r in self.mapper.relationships
        )

    @cached_property
    def version_maximum(self) -> int:
        """The largest number that the version's column holds."""
        return _maximum(self.version)

    @cached_property
    def generation_maximum(self) -> int | None:
        """The largest number that the generation's column holds; None when there is none."""
        return None if self.generation is None else _maximum(self.generation)

    def attribute(self, name: str) -> Attribute:
        """Return what a verb may write under this name.

        Raises:
            InvalidExpectation: unknown, a key, computed, a relationship, or the version or generation.
        """
        found = self.writable.get(name)
        if found is None:
            why = "is written by the library alone" if name in self.roles else "is not a writable column"
            raise InvalidExpectation(f"{self.label}.{name} {why} [cas-invalid-expectation]")
        return found

    def condition(self, name: str, value: object) -> tuple[str, Attribute, object]:
        """Return name, attribute and value of one believed column."""
        return condition(self, name, value)

    @cached_property
    def own(self) -> dict[str, Attribute]:
        """Every plain column of the version's own table, by attribute name."""
        table = self.owner.table
        return {
            prop.key: Attribute(prop.key, column)
            for prop in self.mapper.column_attrs
            for column in prop.columns
            if isinstance(column, Column) and column.table is table
        }


_KNOWN: WeakKeyDictionary[AnyMapper, Columns] = WeakKeyDictionary()


def new_token() -> bytes:
    """Return 16 random bytes for one write."""
    return os.urandom(16)


def columns_of(model: type[Any]) -> Columns:
    """Return the roles of a mapped class's columns.

    Raises:
        UnsupportedBackend: the class has no version column, or a generation in another table.
    """
    mapper: AnyMapper = inspect(model)
    known = _KNOWN.get(mapper)
    if known is None:
        known = _KNOWN[mapper] = _work_out(mapper)
    return known


def marked(table: Any, role: str) -> AnyColumn | None:
    """Return the column of a table that is marked with a role."""
    return next((c for c in table.columns if c.info.get(MARK) == role), None)


def _work_out(mapper: AnyMapper) -> Columns:
    version = _role(mapper, "record_version", "cas_version_field")
    generation = _role(mapper, "run_seq", "cas_generation_field")
    token = _role(mapper, "write_token", "cas_token_field")
    name = mapper.class_.__name__
    if version is None:
        raise UnsupportedBackend(
            f"{name} has no version column: use RecordVersionMixin or CasMixin, or name yours in "
            "cas_version_field [cas-unsupported]"
        )
    owner = version.column.table
    if generation is not None and generation.column.table is not owner:
        raise UnsupportedBackend(f"{name}: version and generation must be in one table [cas-unsupported]")
    roles = {a.key for a in (version, generation, token) if a is not None}
    tables = [owner, *(t for t in mapper.tables if t is not owner)]
    return Columns(
        mapper=mapper,
        version=version,
        generation=generation,
        token=token,
        unversioned=frozenset(getattr(mapper.class_, "cas_unversioned_fields", ())),
        parts=tuple(_part(mapper, table, roles) for table in tables),
    )


def _role(mapper: AnyMapper, role: str, option: str) -> Attribute | None:
    named = getattr(mapper.class_, option, None)
    for prop in mapper.column_attrs:
        for column in prop.columns:
            if isinstance(column, Column) and (column.info.get(MARK) == role or prop.key == named):
                return Attribute(prop.key, column)
    return None


def _part(mapper: AnyMapper, table: Any, roles: set[str]) -> Part:
    keys = tuple(Attribute(mapper.get_property_by_column(c).key, c) for c in table.primary_key)
    of_table = [
        Attribute(prop.key, column)
        for prop in mapper.column_attrs
        for column in prop.columns
        if isinstance(column, Column) and column.table is table
    ]
    attributes = tuple(
        a for a in of_table if not a.column.primary_key and a.key not in roles and a.column.computed is None
    )
    return Part(table, keys, attributes)


def _maximum(attribute: Attribute) -> int:
    kind = attribute.column.type
    if isinstance(kind, sqltypes.SmallInteger):
        return 2**15 - 1
    return 2**63 - 1 if isinstance(kind, sqltypes.BigInteger) else 2**31 - 1
