"""Column types in a belief: which of them have exact equality in SQL, and which Python values they take."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from sqlalchemy import types
from sqlalchemy.sql.elements import ClauseElement
from sqlalchemy.types import TypeDecorator, TypeEngine

Kind: TypeAlias = TypeEngine[Any]

#: Python types by column type. Databases coerce what does not fit: MariaDB finds 'running' equal to 0.
TAKES: Final[tuple[tuple[tuple[type[Kind], ...], tuple[type, ...]], ...]] = (
    ((types.Boolean,), (bool,)),
    ((types.Integer,), (int,)),
    ((types.Numeric,), (int, decimal.Decimal)),
    ((types.String,), (str,)),
    ((types.LargeBinary, types.BINARY, types.VARBINARY), (bytes,)),
    ((types.DateTime,), (datetime.datetime,)),
    ((types.Date,), (datetime.date,)),
    ((types.Time,), (datetime.time,)),
    ((types.Interval,), (datetime.timedelta,)),
)
#: Subclasses that are something else than their bases.
NOT_TAKEN: Final = {int: bool, datetime.date: datetime.datetime}


#: Python types that are no SQL, told at a glance.
PLAIN: Final = frozenset(
    {str, int, bool, float, bytes, decimal.Decimal, datetime.datetime, uuid.UUID, dict, list, type(None)}
)


def is_expression(value: object) -> bool:
    """Tell whether a value is SQL, so that only the database knows the result."""
    if type(value) in PLAIN:
        return False
    return isinstance(value, ClauseElement) or hasattr(value, "__clause_element__")


def compares_exactly(kind: Kind) -> bool:
    """Tell whether two equal values of this type are equal in SQL, on every database it has a variant for."""
    return not any(_is_inexact(bare) for bare in _bare(kind))


def _bare(kind: Kind) -> Iterator[Kind]:
    """Yield the type itself and its variants, without what decorates them."""
    for variant in (kind, *getattr(kind, "_variant_mapping", {}).values()):
        yield variant
        while isinstance(variant, TypeDecorator):
            variant = variant.impl_instance
            yield variant


def _is_inexact(kind: Kind) -> bool:
    if isinstance(kind, types.JSON | types.ARRAY | types.PickleType | types.Float):
        return True
    return isinstance(kind, types.Numeric) and not kind.asdecimal


def typed(kind: Kind, value: object) -> object:
    """Return the value as the column's own Python type.

    Raises:
        ValueError: the type does not take it; the message says what it takes.
    """
    if value is None:
        return None
    if isinstance(kind, types.Enum):
        return _member(kind, value)
    if isinstance(value, enum.Enum) and isinstance(value, str | int) and _takes(kind):
        value = value.value  # as every driver would, and some would not
    if isinstance(kind, types.Integer) and isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("takes numbers of 64 bits")
    expected = _takes(kind)
    if expected and type(value) not in expected and not _fits(value, expected):
        raise ValueError(f"takes {' or '.join(t.__name__ for t in expected)}, not {type(value).__name__}")
    return value


def _fits(value: object, expected: tuple[type, ...]) -> bool:
    wrong = tuple(NOT_TAKEN[t] for t in expected if t in NOT_TAKEN)
    return isinstance(value, expected) and not isinstance(value, wrong)


def _takes(kind: Kind) -> tuple[type, ...]:
    """Return the Python types that a column type takes; none are known of types of the user's own."""
    if isinstance(kind, types.Uuid):
        return (uuid.UUID,) if kind.as_uuid else (str,)
    if isinstance(kind, TypeDecorator) and not isinstance(kind, types.Interval):
        return () if _changes_values(kind) else _takes(kind.impl_instance)
    return next((python for sql, python in TAKES if isinstance(kind, sql)), ())


def _changes_values(kind: TypeDecorator[Any]) -> bool:
    """Tell whether a decorated type has a say in what is sent; one that only chooses its column has none."""
    doors = ("process_bind_param", "bind_processor", "bind_expression")
    return any(getattr(type(kind), door) is not getattr(TypeDecorator, door) for door in doors)


def taken_as_is(kind: Kind) -> frozenset[type]:
    """Return the Python types of which a column type takes every value as it is, unseen."""
    looked_at = isinstance(kind, types.Enum | types.Integer)  # a member may be meant; a number may be too big
    return frozenset((*(() if looked_at else _takes(kind)), type(None)))


def _member(kind: types.Enum, value: object) -> object:
    """Return the member of the enumeration: SQLAlchemy takes names too, but reads members back."""
    if kind.enum_class is None:
        members: list[object] = list(kind.enums)
    else:
        members = list(kind.enum_class)
    if isinstance(value, str | enum.Enum):
        for member in members:
            if member == value:
                return member
    name = "its strings" if kind.enum_class is None else f"members of {kind.enum_class.__name__}"
    raise ValueError(f"takes {name} only")
