"""What a database's refusal means: one table of error codes; no driver is imported here.

The codes are those that the servers were seen to send. MariaDB is classed by number, because its
SQLSTATE is the catch-all HY000 for some of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

__all__ = ["Fault", "advice", "classify", "driver_code"]


class Fault(Enum):
    """What the engine did to the statement, and to the transaction around it."""

    #: Certainly not applied. The transaction is rolled back, or can only be rolled back.
    DEAD = "dead"
    #: Certainly not applied. Only the statement was undone; the transaction goes on.
    OPEN = "open"
    #: The connection is lost: applied, not applied, or still waiting in the server.
    UNKNOWN = "unknown"


_POSTGRESQL: Final[Mapping[str, Fault]] = {
    "40001": Fault.DEAD,  # serialization_failure
    "40P01": Fault.DEAD,  # deadlock_detected
    "55P03": Fault.DEAD,  # lock_not_available: the transaction is aborted
    "57014": Fault.DEAD,  # query_canceled: the transaction is aborted
    "57P01": Fault.UNKNOWN,  # admin_shutdown: at a commit it may have been applied
    "57P02": Fault.UNKNOWN,  # crash_shutdown
    "57P05": Fault.UNKNOWN,  # idle_session_timeout
    "25P03": Fault.UNKNOWN,  # idle_in_transaction_session_timeout: the connection is gone
}
_MYSQL: Final[Mapping[int, Fault]] = {
    1213: Fault.DEAD,  # deadlock: the server rolled the whole transaction back
    1020: Fault.DEAD,  # record has changed since last read: rolled back, too
    1205: Fault.OPEN,  # lock wait timeout: the statement only
    1969: Fault.OPEN,  # max_statement_time
    1317: Fault.OPEN,  # query was interrupted
    3572: Fault.OPEN,  # NOWAIT
    1180: Fault.UNKNOWN,  # error during commit
    1047: Fault.UNKNOWN,  # the node has left its cluster
    1053: Fault.UNKNOWN,  # server shutdown in progress
    1927: Fault.UNKNOWN,  # connection was killed
    2006: Fault.UNKNOWN,  # server has gone away
    2013: Fault.UNKNOWN,  # lost connection during query
    2055: Fault.UNKNOWN,  # lost connection
    4031: Fault.UNKNOWN,  # disconnected by the server
}
_SQLITE_BUSY: Final = 5
_SQLITE_BUSY_SNAPSHOT: Final = 517
_SQLITE_LOCKED: Final = 6


_CODE_ATTRIBUTES: Final = {"postgresql": ("sqlstate", "pgcode"), "sqlite": ("sqlite_errorcode",)}


def driver_code(vendor: str, error: BaseException | None) -> str | int | None:
    """Return the code that a driver's own exception carries; None when it has none.

    MySQL drivers put a number first among the arguments. Some have a SQLSTATE too, which is too coarse.
    """
    for name in _CODE_ATTRIBUTES.get(vendor, ()):
        code = getattr(error, name, None)
        if isinstance(code, str | int):
            return code
    first = error.args[0] if error is not None and error.args else None
    return first if vendor in ("mysql", "mariadb") and isinstance(first, int) and first else None


def classify(vendor: str, code: str | int | None) -> Fault | None:
    """Return what a driver's error code means for a conditional write; None when it is not about races.

    Args:
        vendor: ``"postgresql"``, ``"mysql"``, ``"mariadb"`` or ``"sqlite"``.
        code: SQLSTATE for PostgreSQL, the error number for the others. None stands for an operational
            error that carries no code: the driver lost its connection.

    Source: PostgreSQL manual, appendix A; MariaDB error code list; SQLite result codes.
    """
    if vendor == "sqlite":
        return _sqlite(code)
    if code is None:
        return Fault.UNKNOWN
    if vendor == "postgresql":
        text = str(code)
        return Fault.UNKNOWN if text.startswith("08") else _POSTGRESQL.get(text)
    if vendor in ("mysql", "mariadb") and isinstance(code, int):
        return _MYSQL.get(code)
    return None


def advice(vendor: str, code: str | int | None) -> str:
    """Return what helps against this refusal, besides trying again; "" where nothing else does."""
    if vendor == "sqlite" and code == _SQLITE_BUSY_SNAPSHOT:
        return "it has read before somebody else wrote: begin what is to write with BEGIN IMMEDIATE"
    return ""


def _sqlite(code: str | int | None) -> Fault | None:
    if code == _SQLITE_BUSY_SNAPSHOT:
        return Fault.DEAD
    if isinstance(code, int) and code & 0xFF in (_SQLITE_BUSY, _SQLITE_LOCKED):
        return Fault.OPEN
    return None
