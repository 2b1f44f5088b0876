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

from cas_orm_django.belief import HANDED_THROUGH
from cas_orm_django.columns import AnyField
from cas_orm_django.statement import Compiled

#: An attribute, the type that needs no preparation (or None), and the preparation.
Binder: TypeAlias = tuple[str, type | None, Callable[[Any, BaseDatabaseWrapper], object]]

_NOTHING: Final[Mapping[str, Compiled]] = {}
_INTEGERS: Final = {
    models.SmallIntegerField,
    models.IntegerField,
    models.BigIntegerField,
    models.PositiveSmallIntegerField,
    models.PositiveIntegerField,
    models.PositiveBigIntegerField,
    models.SmallAutoField,
    models.AutoField,
    models.BigAutoField,
}


def binders(connection: BaseDatabaseWrapper, fields: Sequence[AnyField]) -> tuple[Binder, ...]:
    """Return how to bind each field's value for this database."""
    return tuple((f.attname, _handed_through(connection, f), f.get_db_prep_save) for f in fields)


def _handed_through(connection: BaseDatabaseWrapper, field: AnyField) -> type | None:
    kind = type(field)
    if kind in _INTEGERS:
        adapts = type(connection.ops).adapt_integerfield_value
        return int if adapts is BaseDatabaseOperations.adapt_integerfield_value else None
    return HANDED_THROUGH.get(kind)


def key_binders(connection: BaseDatabaseWrapper, keys: Sequence[AnyField]) -> tuple[Binder, ...]:
    """Return how to bind each key column's value for this database."""
    return tuple((f.attname, _handed_through(connection, f), f.get_db_prep_value) for f in keys)


def is_expression(value: object) -> bool:
    """Tell whether Django has to compile a value, instead of binding it."""
    return hasattr(value, "resolve_expression")


def bound(
    connection: BaseDatabaseWrapper,
    bind: Sequence[Binder],
    values: Mapping[str, Any],
    compiled: Mapping[str, Compiled] = _NOTHING,
) -> list[object] | None:
    """Return the parameters of these values, in the order of the binders.

    None when one of them is an expression that is not among the compiled.
    """
    params: list[object] = []
    for name, exact, prepare in bind:
        value = values[name]
        if type(value) is exact:
            params.append(value)
        elif name in compiled:
            params += compiled[name].params
        elif hasattr(value, "resolve_expression"):
            return None
        else:
            params.append(prepare(value, connection))
    return params
