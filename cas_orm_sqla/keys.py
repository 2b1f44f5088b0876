"""The primary key that a caller names."""

from __future__ import annotations

from typing import Any

from cas_orm import InvalidExpectation
from cas_orm_sqla.columns import Columns
from cas_orm_sqla.kinds import is_expression, typed


def identity_of(columns: Columns, key: object) -> tuple[Any, ...]:
    """Return the key as a tuple; a value of the wrong type must not be coerced by the database.

    Raises:
        InvalidExpectation: too many values or too few, or one that its column does not take.
    """
    parts = tuple(key) if isinstance(key, tuple | list) else (key,)
    expected = columns.mapper.primary_key
    if len(parts) != len(expected):
        names = ", ".join(columns.mapper.get_property_by_column(c).key for c in expected)
        raise InvalidExpectation(f"{columns.label}: the key is ({names}) [cas-invalid-expectation]")
    return tuple(_key_part(columns, column, part) for column, part in zip(expected, parts, strict=True))


def _key_part(columns: Columns, column: Any, part: object) -> object:
    if part is None or is_expression(part):
        raise InvalidExpectation(f"{columns.label}: not a primary key [cas-invalid-expectation]")
    try:
        return typed(column.type, part)
    except ValueError as error:
        name = columns.mapper.get_property_by_column(column).key
        raise InvalidExpectation(f"{columns.label}.{name} {error} [cas-invalid-expectation]") from error
