"""A conditional write made ready: which statements, on which tables, with which parameters.

fields + belief ──▶ Shape (SQL text; kept per class when no value shapes it) ──▶ Script (bound)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from cas_orm_django.belief import NO_BELIEF, Belief
from cas_orm_django.columns import AnyField, Columns, Table, generated
from cas_orm_django.statement import (
    Compiled,
    Plan,
    compiled_value,
    compiled_where,
    delete_plan,
    prepared,
    returns_rows,
    update_plan,
)

#: Shapes kept per class; reached only by code that invents new field sets, and then forgotten whole.
MOST_SHAPES: Final = 512
Keys = Callable[[Table], Sequence[Any]]


@dataclass(slots=True, frozen=True)
class Part:
    """One table's share of a shape: what is assigned there, and the statement that does it.

    Attributes:
        unseen: the fields whose new values only the database knows.
    """

    table: Table
    fields: tuple[AnyField, ...]
    unseen: tuple[AnyField, ...]
    plan: Plan


@dataclass(slots=True)
class Step:
    """One statement, bound."""

    plan: Plan
    params: Sequence[object]
    table: Table
    unseen: tuple[AnyField, ...] = ()


@dataclass(slots=True)
class Script:
    """A conditional write, ready to be sent, and to be sent again by `settle`.

    Attributes:
        values: what is assigned, by attribute name.
        steps: the version's own table first. More than one share a transaction.
        bumps: whether the version rises.
        hands_over: whether the generation rises.
        token: the write token that the statement carries, if the model has one.
        after: what the ORM does in the same transaction once the row is won (a cascading delete).
        answered: what the database handed back, by field.
    """

    columns: Columns
    alias: str
    key: Any
    belief: Belief
    verb: str
    values: Mapping[str, object]
    steps: Sequence[Step]
    bumps: bool = True
    hands_over: bool = False
    token: bytes | None = None
    after: Callable[[], object] | None = None
    answered: dict[AnyField, object] = field(default_factory=dict)


def update_script(
    columns: Columns,
    alias: str,
    key: Any,
    keys: Keys,
    belief: Belief,
    values: Mapping[str, object],
    *,
    verb: str,
    bumps: bool = True,
    hands_over: bool = False,
    token: bytes | None = None,
) -> Script:
    """Make an update ready.

    Args:
        columns: the model's roles.
        alias: the database to write to.
        key: the object's primary key, as the outcome will show it.
        keys: the key values of one table.
        belief: what stands in the WHERE of the version's own table.
        values: what to assign, by attribute name; expressions are compiled by Django.
        verb: the verb's short name.
        bumps: whether the version rises by one.
        hands_over: whether the generation rises by one.
        token: the write token to leave in the row.

    Raises:
        FieldError: an expression that aggregates or reaches into another table.
        InvalidExpectation: a condition that is not over plain columns of the one table.
    """
    connection = connections[alias]
    compiled: dict[str, Compiled] = {}
    for name, value in values.items():
        if hasattr(value, "resolve_expression") or name in columns.placeholders:
            compiled[name] = compiled_value(connection, columns.by_attname[name], value)
    where, where_params = (
        ("", ()) if belief.where is None else compiled_where(alias, columns.owner.model, belief.where)
    )
    shape_key = None
    if not compiled and not where:
        shape_key = (alias, *values, bumps, hands_over, token is None, *belief.shape())
    parts = columns.shapes.get(shape_key) if shape_key is not None else None
    if parts is None:
        parts = _shape(columns, connection, values, compiled, belief, bumps, hands_over, token, where)
        if shape_key is not None:
            _keep(columns, shape_key, parts)
    return Script(
        columns,
        alias,
        key,
        belief,
        verb,
        values,
        [
            _bind(columns, connection, part, keys, belief, values, compiled, token, where_params)
            for part in parts
        ],
        bumps,
        hands_over,
        token,
    )


def delete_script(columns: Columns, alias: str, key: Any, keys: Keys, belief: Belief) -> Script:
    """Make a delete of one row ready, for models where the ORM has nothing to cascade to."""
    connection = connections[alias]
    where, where_params = (
        ("", ()) if belief.where is None else compiled_where(alias, columns.owner.model, belief.where)
    )
    plan = delete_plan(connection, columns.owner, belief.conditions(columns), where)
    params = [*prepared(connection, columns.owner, keys(columns.owner), belief), *where_params]
    return Script(columns, alias, key, belief, "delete", {}, [Step(plan, params, columns.owner)], bumps=False)


def _keep(columns: Columns, shape_key: tuple[object, ...], parts: tuple[Part, ...]) -> None:
    if len(columns.shapes) >= MOST_SHAPES:
        columns.shapes.clear()
    columns.shapes[shape_key] = parts


def _shape(
    columns: Columns,
    connection: BaseDatabaseWrapper,
    values: Mapping[str, object],
    compiled: Mapping[str, Compiled],
    belief: Belief,
    bumps: bool,
    hands_over: bool,
    token: bytes | None,
    where: str,
) -> tuple[Part, ...]:
    """Lay out the statements: the version's own table first, untouched tables left out."""
    numbers = [f for f, rises in ((columns.version, bumps), (columns.generation, hands_over)) if rises and f]
    parts = []
    for table in columns.tables:
        first = table is columns.owner
        own = tuple(f for f in table.fields if f.attname in values)
        if not own and not first:
            continue
        assigned = [(f, compiled[f.attname].sql if f.attname in compiled else "%s") for f in own]
        if first and token is not None and columns.token is not None:
            assigned.append((columns.token, _token_sql(connection, columns.token)))
        unseen = [f for f in own if f.attname in compiled and compiled[f.attname].computed]
        unseen += [f for f in table.model._meta.local_concrete_fields if generated(f)]
        answers = list(unseen)
        if first:
            answers += _unknown_numbers(columns, connection, belief, bumps, hands_over)
        plan = update_plan(
            connection,
            table,
            assigned,
            numbers=numbers if first else [],
            version=columns.version if first else None,
            conditions=belief.conditions(columns) if first else (),
            where=where if first else "",
            returning=tuple(answers) if returns_rows(connection) else (),
        )
        parts.append(Part(table, own, tuple(unseen), plan))
    return tuple(parts)


def _token_sql(connection: BaseDatabaseWrapper, token: AnyField) -> str:
    return compiled_value(connection, token, b"").sql


def _unknown_numbers(
    columns: Columns, connection: BaseDatabaseWrapper, belief: Belief, bumps: bool, hands_over: bool
) -> list[AnyField]:
    """Name the numbers that the belief does not give away, so that the database has to.

    On PostgreSQL the version is always asked for: it costs nothing there, and a BEFORE trigger may have
    raised it further. On SQLite asking costs a third of the statement, and triggers cannot change it.
    """
    asked = []
    if belief.version is None or connection.vendor == "postgresql":
        asked.append(columns.version)
    if columns.generation is not None and belief.generation is None:
        asked.append(columns.generation)
    return asked


def _bind(
    columns: Columns,
    connection: BaseDatabaseWrapper,
    part: Part,
    keys: Keys,
    belief: Belief,
    values: Mapping[str, object],
    compiled: Mapping[str, Compiled],
    token: bytes | None,
    where_params: Sequence[object],
) -> Step:
    params: list[object] = []
    for f in part.fields:
        name = f.attname
        if name in compiled:
            params += compiled[name].params
        else:
            params.append(f.get_db_prep_save(values[name], connection))
    first = part.table is columns.owner
    if first and token is not None and columns.token is not None:
        params.append(columns.token.get_db_prep_save(token, connection))
    params += prepared(connection, part.table, keys(part.table), belief if first else NO_BELIEF)
    if first:
        params += where_params
    return Step(part.plan, params, part.table, part.unseen)
