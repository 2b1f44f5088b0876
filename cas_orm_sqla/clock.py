"""The database's wall clock at the time of the write, for leases and heartbeats (ADR 0018).

``now()`` stands still in a transaction, and at the start of a statement that has to wait for its row; a lease
that was taken with it can have run out already. The pods' own clocks disagree.
"""

from __future__ import annotations

import datetime
from typing import Any

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from cas_orm import UnsupportedBackend
from cas_orm_sqla.types import UtcDateTime


class DatabaseClock(FunctionElement[datetime.datetime]):
    """What the database's clock says when the row is written."""

    type = UtcDateTime()
    inherit_cache = True
    microseconds = 0


class Ago(DatabaseClock):
    """What the database's clock said that long before the row is looked at.

    Args:
        interval: how far back.
    """

    inherit_cache = False  # the interval is written into the text

    def __init__(self, interval: datetime.timedelta) -> None:
        super().__init__()
        self.microseconds = round(interval.total_seconds() * 1_000_000)


@compiles(DatabaseClock)
def _unknown(element: DatabaseClock, compiler: Any, **_: Any) -> str:
    raise UnsupportedBackend(f"{compiler.dialect.name} has no known wall clock [cas-unsupported]")


@compiles(DatabaseClock, "postgresql")
def _on_postgresql(element: DatabaseClock, compiler: Any, **_: Any) -> str:
    if not element.microseconds:
        return "clock_timestamp()"
    return f"clock_timestamp() - interval '{element.microseconds} microseconds'"


@compiles(DatabaseClock, "mysql")
@compiles(DatabaseClock, "mariadb")
def _on_mysql(element: DatabaseClock, compiler: Any, **_: Any) -> str:
    clock = "CONVERT_TZ(SYSDATE(6), @@session.time_zone, '+00:00')"
    return f"{clock} - INTERVAL {element.microseconds} MICROSECOND" if element.microseconds else clock


@compiles(DatabaseClock, "sqlite")
def _on_sqlite(element: DatabaseClock, compiler: Any, **_: Any) -> str:
    shift = f", '{-element.microseconds / 1_000_000:+f} seconds'" if element.microseconds else ""
    return f"strftime('%Y-%m-%d %H:%M:%f000', 'now'{shift})"
