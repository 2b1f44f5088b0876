"""Parameters: a field's value made fit for the driver, as the field itself does it.

Most values need nothing: a str in a CharField goes to the driver as it is, after Django has asked three
methods about it. Where the field is Django's own class, not a subclass, and the value has exactly the
type that these methods hand through, they are not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.operations import BaseDatabaseOperations

from cas_orm_django.columns import AnyField

#: An attribute, the type that needs no preparation (or None), and the preparation.
Binder: TypeAlias = tuple[str, type | None, Callable[[Any, BaseDatabaseWrapper], object]]

_HANDED_THROUGH: Final[dict[type, type]] = {
    models.CharField: str,
    models.TextField: str,
    models.SlugField: str,
    models.EmailField: str,
    models.URLField: str,
    models.BooleanField: bool,
}
_INTEGERS: Final = {
    models.SmallIntegerField,
    models.IntegerField,
    models.BigIntegerField,
    models.PositiveSmallIntegerField,
    models.PositiveIntegerField,
    models.PositiveBigIntegerField,
}


def binders(connection: BaseDatabaseWrapper, fields: Sequence[AnyField]) -> tuple[Binder, ...]:
    """Return how to bind each field's value for this database."""
    return tuple((f.attname, _handed_through(connection, f), f.get_db_prep_save) for f in fields)


def _handed_through(connection: BaseDatabaseWrapper, field: AnyField) -> type | None:
    kind = type(field)
    if kind in _INTEGERS:
        adapts = type(connection.ops).adapt_integerfield_value
        return int if adapts is BaseDatabaseOperations.adapt_integerfield_value else None
    return _HANDED_THROUGH.get(kind)


def bound(connection: BaseDatabaseWrapper, bind: Sequence[Binder], values: Mapping[str, Any]) -> list[object]:
    """Return the parameters of these values, in the order of the binders."""
    return [
        value if type(value := values[name]) is exact else prepare(value, connection)
        for name, exact, prepare in bind
    ]
