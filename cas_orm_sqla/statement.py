"""The plan of a conditional write: one Core UPDATE or DELETE on one table, its belief in plain columns.

Prebuilt for a mapper, a set of attributes and a shape of belief, and kept: building such a statement costs
ten times as much as executing it. What depends on a value, an expression or the caller's own condition, is
built for one use. Nothing is executed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sqlalchemy import Delete, Dialect, Update, bindparam, delete, func, update

from cas_orm_sqla.belief import AttributeBelief
from cas_orm_sqla.columns import Attribute, Columns, Part
from cas_orm_sqla.matching import belief_params, key_params, matches

__all__ = ["SET", "Rises", "Shape", "Statement", "belief_params", "delete_shape", "update_shape"]

#: Parameters are named apart from the columns, whose names SQLAlchemy keeps for itself.
SET: Final = "cas_set_"


class Rises(NamedTuple):
    """What a write raises, besides what it assigns."""

    version: bool
    generation: bool
    token: bool


@dataclass(slots=True, frozen=True)
class Statement:
    """One statement of a shape.

    Attributes:
        keys: the parameters of the primary key, in its order.
        binds: the parameters that are assigned, each with the attribute whose value it takes.
        unseen: attributes whose new values only the database knows.
        returning: the attributes that it hands back, in order.
    """

    sql: Update | Delete
    part: Part
    keys: tuple[str, ...]
    binds: tuple[tuple[str, str], ...] = ()
    unseen: tuple[str, ...] = ()
    returning: tuple[str, ...] = ()


Shape = tuple[Statement, ...]


def returns_rows(dialect: Dialect, part: Part) -> bool:
    """Tell whether UPDATE … RETURNING works here. MariaDB has it for INSERT and DELETE only."""
    return bool(dialect.update_returning and part.table.implicit_returning)


def update_shape(
    columns: Columns,
    dialect: Dialect,
    names: Sequence[str],
    computed: Mapping[str, Any],
    belief: AttributeBelief,
    rises: Rises,
) -> Shape:
    """Lay out an update: the version's own table first, untouched tables left out.

    Args:
        columns: the mapper's roles.
        dialect: the dialect it will run on.
        names: attributes that are assigned bound values.
        computed: attributes that are assigned expressions.
        belief: what stands in the WHERE of the version's own table.
        rises: what is raised besides.
    """
    statements = []
    for part in columns.parts:
        first = part is columns.owner
        values: dict[Any, Any] = {
            a.column: computed[a.key]
            if a.key in computed
            else bindparam(SET + a.key, type_=a.column.type, required=True)
            for a in part.attributes
            if a.key in computed or a.key in names
        }
        if not values and not first:
            continue
        assigned = {column.key for column in values}
        unseen = [a.key for a in part.attributes if a.key in computed]
        moved = [a for a in _changed(columns, part) if a.column.key not in assigned]
        answers = [*unseen, *(a.key for a in moved if _is_told(dialect, a))]
        unseen += [a.key for a in moved]
        if first:
            values |= _raised(columns, dialect, rises)
            answers += [*_unknown_numbers(columns, dialect, belief), *columns.derived_here]
        sql = update(part.table).values(values).where(matches(columns, part, belief if first else None))
        returning: tuple[str, ...] = ()
        if answers and returns_rows(dialect, part):
            returning = tuple(answers)
            sql = sql.returning(*(_column(columns, part, key) for key in answers))
        bound = [a.key for a in part.attributes if a.key in names and a.key not in computed]
        binds = tuple((SET + key, key) for key in bound)
        statements.append(Statement(sql, part, key_params(part), binds, tuple(unseen), returning))
    return tuple(statements)


def delete_shape(columns: Columns, belief: AttributeBelief) -> Shape:
    """Lay out a delete of one row of one table."""
    part = columns.owner
    return (Statement(delete(part.table).where(matches(columns, part, belief)), part, key_params(part)),)


def _changed(columns: Columns, part: Part) -> list[Attribute]:
    """Return the attributes that an UPDATE of this table changes by itself."""
    return [a for a in columns.changed_by_update if a.column.table is part.table]


def _is_told(dialect: Dialect, attribute: Attribute) -> bool:
    """Tell whether RETURNING knows the new value. A trigger of SQLite changes the row only after it."""
    column = attribute.column
    by_trigger = column.server_onupdate is not None and column.computed is None
    return not (by_trigger and dialect.name == "sqlite")


def _raised(columns: Columns, dialect: Dialect, rises: Rises) -> dict[Any, Any]:
    """Return the numbers that rise. MariaDB cannot return the version; its last insert id keeps it."""
    version = columns.version.column
    new = version + 1 if rises.version else version
    values: dict[Any, Any] = {}
    if dialect.name in ("mysql", "mariadb"):
        values[version] = func.last_insert_id(new)
    elif rises.version:
        values[version] = new
    if rises.generation and columns.generation is not None:
        values[columns.generation.column] = columns.generation.column + 1
    if rises.token and columns.token is not None:
        values[columns.token.column] = bindparam(SET + columns.token.key, type_=columns.token.column.type)
    return values


def _unknown_numbers(columns: Columns, dialect: Dialect, belief: AttributeBelief) -> list[str]:
    """Name the numbers that the belief does not give away, so that the database has to.

    On PostgreSQL the version is always asked for: a BEFORE trigger may have raised it further.
    """
    asked = []
    if belief.version is None or dialect.name == "postgresql":
        asked.append(columns.version.key)
    if columns.generation is not None and belief.generation is None:
        asked.append(columns.generation.key)
    return asked


def _column(columns: Columns, part: Part, key: str) -> Any:
    found = columns.mapper.attrs[key].columns
    return found[0] if key in columns.derived else next(c for c in found if c.table is part.table)
