"""Column types that mean the same on every database."""

from __future__ import annotations

import datetime
from typing import Any

from sqlalchemy import DateTime, Dialect, String
from sqlalchemy.types import TypeDecorator


class State(TypeDecorator[str]):
    """A short text that tells upper from lower case, also where MariaDB would not (ADR 0017).

    Args:
        length: of the column.
    """

    impl = String
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        """Give the column a binary collation on MySQL and MariaDB."""
        if dialect.name in ("mysql", "mariadb"):
            from sqlalchemy.dialects import mysql  # heavier than all of this package

            length = getattr(self.impl, "length", None)
            return dialect.type_descriptor(mysql.VARCHAR(length, collation="utf8mb4_bin"))
        return dialect.type_descriptor(self.impl)  # type: ignore[arg-type]  # an instance by now


class UtcDateTime(TypeDecorator[datetime.datetime]):
    """A point in time, to the microsecond: aware in Python, in UTC where the column has no time zone.

    A naive datetime is taken for UTC.
    """

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        """Return a type with microseconds; MySQL's own has none by default."""
        if dialect.name in ("mysql", "mariadb"):
            from sqlalchemy.dialects import mysql

            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(DateTime(timezone=True))

    def process_bind_param(self, value: datetime.datetime | None, dialect: Dialect) -> Any:
        """Send UTC; without a time zone where the column has none."""
        if value is None:
            return None
        aware = value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value.astimezone(datetime.UTC)
        return aware if dialect.name == "postgresql" else aware.replace(tzinfo=None)

    def process_result_value(
        self, value: datetime.datetime | None, dialect: Dialect
    ) -> datetime.datetime | None:
        """Return an aware datetime in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value.astimezone(datetime.UTC)
