"""Primary keys as they are given: in the type of their columns, and what they mean to each table."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from cas_orm import InvalidExpectation
from cas_orm_django.columns import AnyModel, Columns
from cas_orm_django.script import Keys


def clean_key(columns: Columns, key: object) -> Any:
    """Return the key in the type of its column; ``'1abc'`` must not become 1 in the database.

    Raises:
        InvalidExpectation: the key does not fit.
    """
    fields = columns.model._meta.pk_fields
    parts = list(key) if isinstance(key, tuple | list) else [key]
    if len(parts) != len(fields) or None in parts:
        raise InvalidExpectation(f"{columns.label}: not a primary key [cas-invalid-expectation]")
    if any(isinstance(part, bool | float) for part in parts):
        raise InvalidExpectation(f"{columns.label}: not a primary key [cas-invalid-expectation]")
    try:
        cleaned = [_to_python(field, part) for field, part in zip(fields, parts, strict=True)]
    except (ValidationError, ValueError, TypeError) as error:
        raise InvalidExpectation(f"{columns.label}: not a primary key [cas-invalid-expectation]") from error
    return cleaned[0] if len(cleaned) == 1 else tuple(cleaned)


def _to_python(field: Any, value: object) -> object:
    while field.is_relation:
        field = field.target_field
    return field.to_python(value)


def keys_by_key(columns: Columns, alias: str, key: Any) -> Keys:
    """Return the key values of every table, by attribute name.

    Along a chain of parents the key is the same; a second parent's is read from its link, which never
    changes.
    """
    concrete: AnyModel = columns.model._meta.concrete_model  # type: ignore[assignment]  # concrete here
    keys: dict[str, Any] = {}
    for table in columns.tables:
        names = [field.attname for field in table.keys]
        path = [] if table.model is concrete else concrete._meta.get_path_to_parent(table.model)
        if all(step.join_field.primary_key for step in path):
            values: Any = key if isinstance(key, tuple) else (key,)
        else:
            rows: QuerySet[Any] = QuerySet(concrete, using=alias).filter(pk=key)
            values = rows.values_list(*names).first() or [None] * len(names)
        keys |= zip(names, values, strict=True)
    return keys
