"""The roles that a mapper's columns play, and what follows from them for a write."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column
from sqlalchemy.orm import RelationshipDirection
from sqlalchemy.sql import ColumnElement, sqltypes

from cas_orm import InvalidExpectation
from cas_orm.lifecycle import Lifecycle
from cas_orm_sqla.belief import condition, is_over
from cas_orm_sqla.names import real_name, why_no_column
from cas_orm_sqla.parts import AnyMapper, Attribute, Part, columns_in, made_by_database

if TYPE_CHECKING:
    from cas_orm_sqla.statement import Shape


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
    def numbers(self) -> frozenset[str]:
        """Names of the attributes that are believed as ``record_version`` and ``run_seq``."""
        return frozenset(a.key for a in (self.version, self.generation) if a is not None)

    @cached_property
    def believable(self) -> dict[str, Attribute]:
        """What a belief has named before, by that name."""
        return {}

    @cached_property
    def is_job(self) -> bool:
        """Whether the class has a lifecycle."""
        return hasattr(self.mapper.class_, "cas_transitions")

    @cached_property
    def lifecycle(self) -> Lifecycle:
        """The states of a job, from the class's options; InvalidExpectation when it is not one."""
        return Lifecycle.of(self.mapper.class_, self.label)

    @cached_property
    def shapes(self) -> dict[tuple[object, ...], Shape]:
        """Statements built before, by what shaped them."""
        return {}

    @cached_property
    def derived(self) -> tuple[str, ...]:
        """Attributes that are SQL expressions: a write may have changed them."""
        return tuple(p.key for p in self.mapper.column_attrs if not isinstance(p.columns[0], Column))

    @cached_property
    def derived_here(self) -> tuple[str, ...]:
        """Those that are made of the version's own table alone: its UPDATE can hand them back."""
        props = [self.mapper.column_attrs[key] for key in self.derived]
        return tuple(p.key for p in props if not p.deferred and is_over(self.owner.table, p.columns[0]))

    @cached_property
    def changed_by_update(self) -> tuple[Attribute, ...]:
        """Attributes that any UPDATE of their table changes: onupdate, server_onupdate, computed."""
        return tuple(
            a
            for part in self.parts
            for a in columns_in(self.mapper, part.table)
            if (a.column.onupdate is not None or a.column.server_onupdate is not None or a.column.computed)
            and a.key not in self.roles
        )

    @cached_property
    def many_to_one(self) -> dict[str, frozenset[str]]:
        """Relationships whose foreign key is set only by a flush, with that key's attributes."""
        return {
            r.key: frozenset(self.mapper.get_property_by_column(c).key for c in r.local_columns)
            for r in self.mapper.relationships
            if r.direction is RelationshipDirection.MANYTOONE and not r.viewonly
        }

    @property
    def cascades(self) -> bool:
        """Whether the ORM's own delete would touch more than this one row of one table.

        Subclasses count: a row that is named by its key may be one of theirs. They may be mapped later, so
        this is not kept.
        """
        mappers = [m for m in self.mapper.self_and_descendants if not m.concrete or m is self.mapper]
        return any(
            [*m.tables] != [self.owner.table] or any(_cascades(r) for r in m.relationships) for m in mappers
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
        """Return what a verb may write under this name; a synonym stands for its column.

        Raises:
            InvalidExpectation: unknown, a key, computed, a relationship, or the version or generation.
        """
        found = self.writable.get(name) or self.writable.get(real_name(self.mapper, name))
        if found is None:
            raise InvalidExpectation(f"{self.label}.{name} {self._closed(name)} [cas-invalid-expectation]")
        return found

    def _closed(self, name: str) -> str:
        """Say why a name cannot be written."""
        key = real_name(self.mapper, name)
        if key in self.roles:
            return "is written by the library alone"
        columns = [c for c in getattr(self.mapper.attrs.get(key), "columns", ()) if isinstance(c, Column)]
        if not columns or key not in self.mapper.column_attrs:
            return why_no_column(self.mapper, key)
        if any(made_by_database(c) for c in columns):
            return "is computed by the database"
        return "is not a writable column: it is part of the primary key"

    def condition(self, name: str, value: object) -> tuple[str, Attribute, object]:
        """Return name, attribute and typed value of one believed column."""
        return condition(self, name, value)

    @cached_property
    def discriminated(self) -> tuple[ColumnElement[bool], ...]:
        """What tells rows of this class from those of other classes in the same table."""
        kind: Any = self.mapper.polymorphic_on
        identities = [m.polymorphic_identity for m in self.mapper.self_and_descendants]
        shared = self.mapper.inherits is not None and getattr(kind, "table", None) is self.owner.table
        return (kind.in_(identities),) if shared and None not in identities else ()

    @cached_property
    def own(self) -> dict[str, Attribute]:
        """Every plain column of the version's own table, by attribute name."""
        return {a.key: a for a in columns_in(self.mapper, self.owner.table)}


def _cascades(relationship: Any) -> bool:
    """Tell whether deleting an object makes the ORM touch what this relationship leads to."""
    if relationship.viewonly:
        return False
    if relationship.direction is RelationshipDirection.MANYTOONE:
        return bool(relationship.cascade.delete)
    return relationship.secondary is not None or relationship.passive_deletes != "all"


def _maximum(attribute: Attribute) -> int:
    kind = attribute.column.type
    if isinstance(kind, sqltypes.SmallInteger):
        return 2**15 - 1
    return 2**63 - 1 if isinstance(kind, sqltypes.BigInteger) else 2**31 - 1
