"""Which columns a belief may name, and their values in the column's own type."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q, Value
from django.db.models.expressions import Expression

from cas_orm import InvalidExpectation
from cas_orm.belief import Belief
from cas_orm.values import ValueSet

if TYPE_CHECKING:
    from cas_orm_django.columns import AnyField, Columns

#: Anything that Django's filter() takes as one positional condition.
Where: TypeAlias = Q | Expression

#: A belief whose fields are Django's.
FieldBelief: TypeAlias = Belief["AnyField"]


#: Django's own field classes, and the type of value that they hand through to the driver as it is.
HANDED_THROUGH: Final[dict[type, type]] = {
    models.CharField: str,
    models.TextField: str,
    models.SlugField: str,
    models.EmailField: str,
    models.URLField: str,
    models.BooleanField: bool,
}


def clean_where(where: Where | None) -> Where | None:
    """Return no condition for an empty ``Q``, which says nothing.

    Raises:
        InvalidExpectation: something else than a ``Q`` or a condition over columns.
    """
    if where is None or (isinstance(where, Q) and not where):
        return None
    if isinstance(where, Value) or not getattr(where, "conditional", False):
        raise InvalidExpectation(
            f"where= takes a Q or a condition, not {type(where).__name__} [cas-invalid-expectation]"
        )
    return where


def condition(columns: Columns, name: str, value: object) -> tuple[str, AnyField, object]:
    """Return name, field and typed value of one believed column.

    Raises:
        InvalidExpectation: unknown, a relation, another table's, or of a type without exact equality.
    """
    field = columns.believable(name)
    if isinstance(value, ValueSet):
        members = [_typed(field, member) for member in value.members]
        return field.attname, field, ValueSet(members, negated=value.negated)
    return field.attname, field, _typed(field, value)


def _typed(field: AnyField, value: object) -> object:
    """Return the value in the column's own Python type, so that SQL and Python compare alike."""
    if value is None or type(value) is HANDED_THROUGH.get(type(field)):
        return value
    if hasattr(value, "resolve_expression") or hasattr(value, "_meta"):
        raise InvalidExpectation(f"{field.name}: a plain value is needed [cas-invalid-expectation]")
    while isinstance(field, models.ForeignKey):
        field = field.target_field
    convert: Callable[[Any], object] = field.to_python
    try:
        typed = convert(value)
    except (ValidationError, ValueError, TypeError) as error:
        raise InvalidExpectation(
            f"{field.name} does not take a {type(value).__name__} like this [cas-invalid-expectation]"
        ) from error
    if isinstance(typed, datetime.datetime) and typed is not value:
        raise InvalidExpectation(
            f"{field.name}: a datetime can be compared only as read from the row [cas-invalid-expectation]"
        )
    return typed
