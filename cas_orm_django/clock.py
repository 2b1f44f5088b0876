"""The database's wall clock at the time of the write, for leases and heartbeats (ADR 0018).

``now()`` stands still in a transaction, and at the start of a statement that has to wait for its row; a lease
that was taken with it can have run out already. The pods' own clocks disagree.
"""

from __future__ import annotations

import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql.compiler import SQLCompiler
from django.utils import timezone


class DatabaseClock(models.Expression):
    """What the database's clock says when the row is written, or that long before.

    Args:
        ago: how far back.
    """

    def __init__(self, ago: datetime.timedelta = datetime.timedelta(0)) -> None:
        super().__init__(output_field=models.DateTimeField())
        self._seconds = ago.total_seconds()

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Any:
        """Spell it in the dialect of the connection."""
        return getattr(self, f"_on_{connection.vendor}")(connection)

    def _on_postgresql(self, connection: BaseDatabaseWrapper) -> tuple[str, list[float]]:
        if not self._seconds:
            return "CLOCK_TIMESTAMP()", []
        return "CLOCK_TIMESTAMP() - MAKE_INTERVAL(secs => %s)", [self._seconds]

    def _on_mysql(self, connection: BaseDatabaseWrapper) -> tuple[str, list[object]]:
        clock = "CONVERT_TZ(SYSDATE(6), @@session.time_zone, %s)"
        if not self._seconds:
            return clock, [_offset(connection)]
        return f"{clock} - INTERVAL %s MICROSECOND", [_offset(connection), round(self._seconds * 1_000_000)]

    def _on_sqlite(self, connection: BaseDatabaseWrapper) -> tuple[str, list[str]]:
        seconds = _utc_offset(connection).total_seconds() - self._seconds
        if not seconds:
            return "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f000', 'now')", []
        return "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f000', 'now', %s)", [f"{seconds:+f} seconds"]


def _utc_offset(connection: BaseDatabaseWrapper) -> datetime.timedelta:
    """Return how far the times in this database are from UTC: not at all, unless the settings say so."""
    zone: datetime.tzinfo | None = connection.timezone if settings.USE_TZ else timezone.get_default_timezone()
    offset = datetime.datetime.now(zone or datetime.UTC).utcoffset()
    return offset or datetime.timedelta(0)


def _offset(connection: BaseDatabaseWrapper) -> str:
    minutes = round(_utc_offset(connection).total_seconds() / 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
