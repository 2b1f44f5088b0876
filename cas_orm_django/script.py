"""A conditional write made ready: which statements, on which tables, with which parameters.

fields + belief ──▶ Shape (SQL text; kept per class when no value shapes it) ──▶ Script (bound)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from django.db.backends.base.base import BaseDatabaseWrapper

from cas_orm import script as core
from cas_orm_django.belief import FieldBelief
from cas_orm_django.binding import Binder, binders, bound, is_expression, key_binders
from cas_orm_django.columns import AnyField, Columns, Table, column_of, generated
from cas_orm_django.statement import (
    Compiled,
    Plan,
    belief_params,
    compiled_value,
    compiled_where,
    conditions_of,
    delete_plan,
    returns_rows,
    update_plan,
)

#: Shapes kept per class; reached only by code that invents new field sets, and then forgotten whole.
MOST_SHAPES: Final = 512
#: The key values of every table, by attribute name.
Keys: TypeAlias = Mapping[str, Any]


@dataclass(slots=True, frozen=True)
class Part:
    """One table's share of a shape: what is assigned there, and the statement that does it.

    Attributes:
        binders: how the assigned values become parameters; `keys` likewise.
        unseen: the fields whose new values only the database knows.
        first: whether this is the version's own table.
    """

    table: Table
    binders: tuple[Binder, ...]
    keys: tuple[Binder, ...]
    unseen: tuple[AnyField, ...]
    plan: Plan
    first: bool


@dataclass(slots=True)
class Step:
    """One statement, bound."""

    plan: Plan
    params: Sequence[Any]
    table: Table
    unseen: tuple[AnyField, ...] = ()


@dataclass(slots=True)
class Script(core.Script[Columns, AnyField]):
    """A conditional write on Django's tables.

    Attributes:
        alias: the database.
        keys: the key values of every table.
        steps: the version's own table first. More than one share a transaction.
        whole: whether everything that the object has loaded is written.
    """

    alias: str = ""
    keys: Keys = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    whole: bool = False


def update_script(
    columns: Columns,
    connection: BaseDatabaseWrapper,
    key: Any,
    keys: Keys,
    belief: FieldBelief,
    values: Mapping[str, object],
    *,
    verb: str,
    bumps: bool = True,
    hands_over: bool = False,
    token: bytes | None = None,
    whole: bool = False,
) -> Script:
    """Make an update ready.

    Args:
        columns: the model's roles.
        connection: the database to write to.
        key: the object's primary key, as the outcome will show it.
        keys: the key values of every table, by attribute name.
        belief: what stands in the WHERE of the version's own table.
        values: what to assign, by attribute name; expressions are compiled by Django.
        verb: the verb's short name.
        bumps: whether the version rises by one.
        hands_over: whether the generation rises by one.
        token: the write token to leave in the row.
        whole: whether every table has to have its row, also where nothing is assigned.

    Raises:
        FieldError: an expression that aggregates or reaches into another table.
        InvalidExpectation: a condition that is not over plain columns of the one table.
    """
    shape = (connection.alias, whole, bumps, hands_over, token is None, belief.shape(), *values)
    script = Script(
        columns,
        key,
        belief,
        verb,
        values,
        bumps,
        hands_over,
        token,
        alias=connection.alias,
        keys=keys,
        whole=whole,
    )
    kept = columns.shapes.get(shape) if belief.where is None else None
    if kept is None or not _bind(script, connection, kept, {}, ()):
        script.steps.clear()
        _lay_out(script, connection, shape)
    return script


def _lay_out(script: Script, connection: BaseDatabaseWrapper, shape: tuple[object, ...]) -> None:
    """Build the statements, keep them for the next time if no value has shaped them, and bind them."""
    columns, belief = script.columns, script.belief
    compiled = {
        name: compiled_value(connection, columns.by_attname[name], value)
        for name, value in script.values.items()
        if is_expression(value) or name in columns.placeholders
    }
    where, where_params = compiled_where(connection.alias, columns.owner.model, belief.where)
    parts = _parts(script, connection, compiled, where)
    if not compiled and not where:
        if len(columns.shapes) >= MOST_SHAPES:
            columns.shapes.clear()
        columns.shapes[shape] = parts
    _bind(script, connection, parts, compiled, where_params)


def _bind(
    script: Script,
    connection: BaseDatabaseWrapper,
    parts: tuple[Part, ...],
    compiled: Mapping[str, Compiled],
    where_params: Sequence[object],
) -> bool:
    """Bind every statement; False when a kept one meets an expression, which has to be compiled."""
    for part in parts:
        params = bound(connection, part.binders, script.values, compiled)
        if params is None:
            return False
        if part.first and script.token is not None and script.columns.token is not None:
            params.append(script.columns.token.get_db_prep_save(script.token, connection))
        params += bound(connection, part.keys, script.keys) or ()
        if part.first:
            params += belief_params(connection, script.belief)
            params += where_params
        script.steps.append(Step(part.plan, params, part.table, part.unseen))
    return True


def delete_script(
    columns: Columns, connection: BaseDatabaseWrapper, key: Any, keys: Keys, belief: FieldBelief
) -> Script:
    """Make a delete of one row ready, for models where the ORM has nothing to cascade to."""
    where, where_params = compiled_where(connection.alias, columns.owner.model, belief.where)
    plan = delete_plan(connection, columns.owner, conditions_of(columns, belief), where)
    params = [
        *(bound(connection, key_binders(connection, columns.owner.keys), keys) or ()),
        *belief_params(connection, belief),
        *where_params,
    ]
    step = Step(plan, params, columns.owner)
    return Script(columns, key, belief, "delete", {}, alias=connection.alias, keys=keys, steps=[step])


def _parts(
    script: Script, connection: BaseDatabaseWrapper, compiled: Mapping[str, Compiled], where: str
) -> tuple[Part, ...]:
    """Lay out the statements: the version's own table first, untouched tables left out."""
    columns, belief, values = script.columns, script.belief, script.values
    pairs = ((columns.version, script.bumps), (columns.generation, script.hands_over))
    numbers = [field for field, rises in pairs if rises and field is not None]
    parts = []
    for table in columns.tables:
        first = table is columns.owner
        own = tuple(f for f in table.fields if f.attname in values)
        if not own and not first and not script.whole:
            continue
        assigned = [(f, compiled[f.attname].sql if f.attname in compiled else "%s") for f in own]
        unseen = [f for f in own if f.attname in compiled and compiled[f.attname].computed]
        unseen += [f for f in table.model._meta.local_concrete_fields if generated(f)]
        if not first:
            assigned = assigned or _assigned_to_itself(connection, table)
            plan = update_plan(connection, table, assigned, returning=_returned(connection, unseen))
        else:
            if script.token is not None and columns.token is not None:
                assigned.append((columns.token, compiled_value(connection, columns.token, b"").sql))
            if not assigned and not numbers:
                assigned = _assigned_to_itself(connection, table)
            asked = [*unseen, *_unknown_numbers(columns, connection, belief)]
            plan = update_plan(
                connection,
                table,
                assigned,
                numbers=numbers,
                version=columns.version,
                conditions=conditions_of(columns, belief),
                where=where,
                returning=_returned(connection, asked),
            )
        keys = key_binders(connection, table.keys)
        parts.append(Part(table, binders(connection, own), keys, tuple(unseen), plan, first))
    return tuple(parts)


def _assigned_to_itself(connection: BaseDatabaseWrapper, table: Table) -> list[tuple[AnyField, str]]:
    """Touch the row without changing it: the statement counts whether it is there."""
    return [(key, connection.ops.quote_name(column_of(key))) for key in table.keys]


def _returned(connection: BaseDatabaseWrapper, fields: Sequence[AnyField]) -> tuple[AnyField, ...]:
    return tuple(fields) if returns_rows(connection) else ()


def _unknown_numbers(
    columns: Columns, connection: BaseDatabaseWrapper, belief: FieldBelief
) -> Iterator[AnyField]:
    """Name the numbers that the belief does not give away, so that the database has to.

    On PostgreSQL the version is always asked for: it costs nothing there, and a BEFORE trigger may have
    raised it further. On SQLite asking costs a third of the statement, and a trigger that bumps as well runs
    after it: the object's next write is then refused.
    """
    if belief.version is None or connection.vendor == "postgresql":
        yield columns.version
    if columns.generation is not None and belief.generation is None:
        yield columns.generation
