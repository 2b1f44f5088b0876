"""The plan of a conditional write: one UPDATE or DELETE on one table, its belief in plain columns.

A plan is SQL text plus the fields that prepare the parameters. Plans of the same shape are built once
and kept; whatever depends on a value (an expression, a caller's condition) is compiled by Django and
makes a plan for one use. Nothing is executed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from django.core.exceptions import EmptyResultSet, FieldError, FullResultSet
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Subquery
from django.db.models.expressions import RawSQL
from django.db.models.sql import Query, UpdateQuery

from cas_orm import InvalidExpectation
from cas_orm.belief import comparison
from cas_orm_django.belief import HANDED_THROUGH, FieldBelief, Where
from cas_orm_django.columns import AnyField, AnyModel, Columns, Table, column_of

#: How one column is compared: its field, the comparison, how many values it takes.
Condition: TypeAlias = tuple[AnyField, str, int]


#: What a caller's condition compiles to when Django sees that it holds for no row, or for every row.
NEVER: Final = "1 = 0"
ALWAYS: Final = "1 = 1"


@dataclass(slots=True, frozen=True)
class Compiled:
    """The right-hand side of an assignment that is more than one bound value.

    Attributes:
        sql: the text that stands after the equals sign.
        params: its parameters.
        computed: whether the database works the value out, so that only it knows the result.
    """

    sql: str
    params: Sequence[object]
    computed: bool


@dataclass(slots=True, frozen=True)
class Plan:
    """One statement, ready to be bound.

    Attributes:
        sql: the text, with ``%s`` for every parameter.
        returning: the fields that the statement hands back, in order.
        counts_by_last_id: the new version is the cursor's ``lastrowid`` (MariaDB).
    """

    sql: str
    returning: tuple[AnyField, ...] = ()
    counts_by_last_id: bool = False


def returns_rows(connection: BaseDatabaseWrapper) -> bool:
    """Tell whether this database has UPDATE … RETURNING. MariaDB has it for INSERT and DELETE only."""
    return connection.vendor in ("postgresql", "sqlite")


def update_plan(
    connection: BaseDatabaseWrapper,
    table: Table,
    assigned: Sequence[tuple[AnyField, str]],
    *,
    numbers: Sequence[AnyField] = (),
    version: AnyField | None = None,
    conditions: Sequence[Condition] = (),
    where: str = "",
    returning: tuple[AnyField, ...] = (),
) -> Plan:
    """Build ``UPDATE table SET … WHERE key AND belief``.

    Args:
        connection: whose dialect to speak.
        table: the one table.
        assigned: fields and the SQL of their new values.
        numbers: version and generation fields that rise by one.
        version: the version's field, when this is its table. MariaDB cannot return it and keeps it as
            the last insert id instead, raised or not.
        conditions: the belief's shape.
        where: the caller's own condition, compiled.
        returning: fields to hand back, where the database can.
    """
    quote = connection.ops.quote_name
    sets = [f"{quote(column_of(f))} = {sql}" for f, sql in assigned]
    by_last_id = connection.vendor == "mysql" and version is not None
    kept = [version] if by_last_id and version is not None and version not in numbers else []
    for f in [*numbers, *kept]:
        column = quote(column_of(f))
        new = f"{column} + 1" if f in numbers else column
        sets.append(f"{column} = {f'LAST_INSERT_ID({new})' if by_last_id and f is version else new}")
    matches = _where(connection, table, conditions, where)
    sql = f"UPDATE {quote(table.name)} SET {', '.join(sets)} WHERE {matches}"
    if returning:
        sql += f" RETURNING {', '.join(quote(column_of(f)) for f in returning)}"
    return Plan(sql, returning, by_last_id)


def conditions_of(columns: Columns, belief: FieldBelief) -> list[Condition]:
    """Return what stands in the WHERE beyond the key, in the order in which it is bound."""
    conditions: list[Condition] = []
    if belief.version is not None:
        conditions.append((columns.version, "=", 1))
    if belief.generation is not None and columns.generation is not None:
        conditions.append((columns.generation, "=", 1))
    conditions.extend((field, *comparison(value)) for _, field, value in belief.columns)
    if belief.budget is not None:
        conditions.append((belief.budget[1], "<", 1))
    return conditions


def belief_params(connection: BaseDatabaseWrapper, belief: FieldBelief) -> list[object]:
    """Return the values to bind to `conditions_of`; numbers are exact ints and need no preparation."""
    params: list[object] = [n for n in (belief.version, belief.generation) if n is not None]
    if belief.columns:
        params += [
            value
            if type(value) is HANDED_THROUGH.get(type(field))
            else field.get_db_prep_value(value, connection)
            for field, value in belief.bound()
        ]
    if belief.budget is not None:
        params.append(belief.budget[2])
    return params


def delete_plan(
    connection: BaseDatabaseWrapper, table: Table, conditions: Sequence[Condition], where: str = ""
) -> Plan:
    """Build ``DELETE FROM table WHERE key AND belief``."""
    quote = connection.ops.quote_name
    return Plan(f"DELETE FROM {quote(table.name)} WHERE {_where(connection, table, conditions, where)}")


def _where(connection: BaseDatabaseWrapper, table: Table, conditions: Sequence[Condition], where: str) -> str:
    quote = connection.ops.quote_name
    parts = [f"{quote(column_of(key))} = %s" for key in table.keys]
    parts += [_condition(quote(column_of(field)), operator, count) for field, operator, count in conditions]
    if where:
        parts.append(f"({where})")
    return " AND ".join(parts)


def _condition(column: str, operator: str, count: int) -> str:
    """Spell one comparison with two-valued logic: ``not in or null`` keeps the rows that are NULL."""
    if operator in ("=", "<"):
        return f"{column} {operator} %s"
    if operator == "null":
        return f"{column} IS NULL"
    name, _, null = operator.partition(" or ")
    if not count:
        return f"{column} IS NULL" if null else f"{column} IS NOT NULL"
    listed = f"{column} {name.upper()} ({', '.join(['%s'] * count)})"
    return f"({listed} OR {column} IS NULL)" if null else listed


def compiled_value(connection: BaseDatabaseWrapper, field: AnyField, value: Any) -> Compiled:
    """Let Django compile what is more than one bound value: expressions, fields with own placeholders.

    Raises:
        FieldError: an aggregate, a window, or a reference to another table; as Django's update() does.
    """
    query = UpdateQuery(field.model)
    query.get_initial_alias()
    compiler = query.get_compiler(connection.alias)
    computed = hasattr(value, "resolve_expression")
    if computed:
        value = value.resolve_expression(query, allow_joins=False, for_save=True)
        if value.contains_aggregate or value.contains_over_clause:
            raise FieldError(f"an aggregate or window is not allowed in {field.name} = {value!r}")
    value = field.get_db_prep_save(value, connection)
    if (placeholder_sql := getattr(field, "get_placeholder_sql", None)) is not None:
        sql, params = placeholder_sql(value, compiler, connection)
        return Compiled(sql, params, computed)
    sql, params = compiler.compile(value) if computed else ("%s", [value])
    if (placeholder := getattr(field, "get_placeholder", None)) is not None:
        spot = placeholder(value, compiler, connection)
        sql = spot % sql if computed else spot
    return Compiled(sql, params, computed)


def compiled_where(alias: str, model: AnyModel, where: Where | None) -> tuple[str, Sequence[object]]:
    """Compile a caller's condition, if there is one, over the one table that is updated.

    Raises:
        InvalidExpectation: it joins, or holds a sub-select or raw SQL. There the engine re-checks
            nothing for a row it had to wait for, and both writers would win.
    """
    if where is None:
        return "", ()
    query = Query(model)
    query.get_initial_alias()
    try:
        node = query.build_where(where)
    except FieldError as error:
        raise InvalidExpectation(f"where=: {error} [cas-invalid-expectation]") from error
    if query.count_active_tables() != 1 or _has_subselect(node):
        raise InvalidExpectation(
            f"where= must name plain columns of {model._meta.db_table}: no join, no sub-select, no raw SQL "
            "[cas-invalid-expectation]"
        )
    try:
        sql, params = query.get_compiler(alias).compile(node)
    except EmptyResultSet:
        return NEVER, ()
    except FullResultSet:
        return ALWAYS, ()
    return sql, params


def _has_subselect(node: Any) -> bool:
    if isinstance(node, Query | Subquery | RawSQL):
        return True
    parts = [*getattr(node, "children", ()), getattr(node, "rhs", None)]
    if hasattr(node, "get_source_expressions"):
        parts += node.get_source_expressions()
    return any(_has_subselect(part) for part in parts if part is not None and not isinstance(part, str))
