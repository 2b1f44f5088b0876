"""The WHERE of a conditional write: the key, and the belief in plain columns of the one table."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import and_, bindparam, or_
from sqlalchemy.sql import ColumnElement

from cas_orm.belief import comparison
from cas_orm_sqla.belief import AttributeBelief
from cas_orm_sqla.columns import Columns, Part

KEY: Final = "cas_key_"
BELIEF: Final = "cas_believed_"


def matches(columns: Columns, part: Part, belief: AttributeBelief | None) -> ColumnElement[bool]:
    """Return the condition on one table's row; the belief stands in that of the version's own table."""
    keys = [
        a.column == bindparam(name, type_=a.column.type, required=True)
        for name, a in zip(key_params(part), part.keys, strict=True)
    ]
    if belief is None:
        return and_(*keys)
    conditions: list[ColumnElement[bool]] = [*keys, *columns.discriminated]
    if belief.version is not None:
        conditions.append(columns.version.column == bindparam(f"{BELIEF}version", required=True))
    if belief.generation is not None and columns.generation is not None:
        conditions.append(columns.generation.column == bindparam(f"{BELIEF}generation", required=True))
    position = 0
    for _, attribute, value in belief.columns:
        operator, count = comparison(value)
        params = [
            bindparam(f"{BELIEF}{position + i}", type_=attribute.column.type, required=True)
            for i in range(count)
        ]
        position += count
        conditions.append(_condition(attribute.column, operator, params))
    if belief.budget is not None:
        conditions.append(belief.budget[1].column < bindparam(f"{BELIEF}budget", required=True))
    if belief.where is not None:
        conditions.append(belief.where)
    return and_(*conditions)


def _condition(column: Any, operator: str, params: list[Any]) -> ColumnElement[bool]:
    """Spell one comparison with two-valued logic: ``not in or null`` keeps the rows that are NULL."""
    if operator == "=":
        return column == params[0]  # type: ignore[no-any-return]  # a column's comparison
    name, _, null = operator.partition(" or ")
    if name == "null":
        return column.is_(None)  # type: ignore[no-any-return]
    if not params:
        return column.is_(None) if null else column.is_not(None)  # type: ignore[no-any-return]
    listed = column.in_(params) if name == "in" else column.not_in(params)
    return or_(listed, column.is_(None)) if null else listed


def key_params(part: Part) -> tuple[str, ...]:
    """Name the parameters of a table's primary key, in its order."""
    return tuple(f"{KEY}{i}" for i in range(len(part.keys)))


def belief_params(belief: AttributeBelief) -> dict[str, object]:
    """Return the values to bind to the belief's conditions."""
    params: dict[str, object] = {}
    if belief.version is not None:
        params[f"{BELIEF}version"] = belief.version
    if belief.generation is not None:
        params[f"{BELIEF}generation"] = belief.generation
    if belief.columns:
        for position, (_, value) in enumerate(belief.bound()):
            params[f"{BELIEF}{position}"] = value
    if belief.budget is not None:
        params[f"{BELIEF}budget"] = belief.budget[2]
    return params
