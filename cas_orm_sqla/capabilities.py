"""What a dialect and its driver can do, as far as a conditional write depends on it.

One question per method. What cannot change while an engine lives is asked at its first write and kept; what
is asked at every write is a lookup of a few attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from operator import attrgetter, methodcaller
from typing import Any, Final

from sqlalchemy import Connection, Dialect
from sqlalchemy.exc import InvalidRequestError

from cas_orm import UnsupportedBackend

#: CLIENT.FOUND_ROWS of the MySQL protocol: rows are counted when they match, not when they change.
_FOUND_ROWS: Final = 2
#: The connection that is in a transaction of the library's own, which ends before the verb returns.
IN_OWN: Final[ContextVar[Connection | None]] = ContextVar("cas_orm_sqla_in_own", default=None)

Reader = Callable[[Any], Any]
#: Dialects kept; reached only by code that makes engines without end.
MOST_DIALECTS: Final = 256
_KNOWN: Final[dict[Dialect, Capabilities]] = {}


class Capabilities:
    """The answers of one dialect and driver.

    Attributes:
        name: the dialect and the driver, as in a URL.
        refusal: why its counts cannot be trusted; "" when they can.
        autocommit: asks a DBAPI connection whether it is in autocommit; None when it cannot be asked.
        pipeline: asks a DBAPI connection whether it is in pipeline mode; None when it has none.
    """

    __slots__ = ("autocommit", "name", "pipeline", "refusal")

    def __init__(self, connection: Connection) -> None:
        dialect, driver = connection.dialect, connection.connection.driver_connection
        self.name = f"{dialect.name}+{dialect.driver}"
        self.refusal = self.why_not_counted(dialect) or self.why_not_matched(dialect, driver)
        self.autocommit = self.autocommit_reader(dialect, connection.connection.dbapi_connection)
        self.pipeline = self.pipeline_reader(connection.connection.dbapi_connection)

    @staticmethod
    def why_not_counted(dialect: Dialect) -> str:
        """Judge the dialect. RETURNING is no way out: a DELETE and most updates are judged by their count."""
        if dialect.supports_sane_rowcount:
            return ""
        return (
            "cannot tell how many rows an UPDATE matched (supports_sane_rowcount is False), so no write can "
            "be judged; use a dialect and driver that can, such as postgresql+psycopg"
        )

    @staticmethod
    def why_not_matched(dialect: Dialect, driver: Any) -> str:
        """Judge the flag that makes MySQL count what matched. SQLAlchemy sets it; connect_args undo it."""
        flags = getattr(driver, "client_flag", getattr(driver, "_client_flag", None))  # asyncmy's has a "_"
        if dialect.name not in ("mysql", "mariadb") or not isinstance(flags, int) or flags & _FOUND_ROWS:
            return ""
        return (
            "counts the rows that changed, not those that matched: client_flag in connect_args has replaced "
            "CLIENT.FOUND_ROWS, so a write that changes nothing would look refused; leave client_flag out, "
            "or add CLIENT.FOUND_ROWS to it"
        )

    @staticmethod
    def autocommit_reader(dialect: Dialect, connection: Any) -> Reader | None:
        """Find out how to ask this driver, whose own options may have put it in autocommit."""
        if dialect.name == "sqlite":
            return _sqlite_autocommits if hasattr(connection, "in_transaction") else _behind_shell
        if isinstance(getattr(connection, "autocommit", None), bool):
            return attrgetter("autocommit")
        if hasattr(connection, "get_autocommit"):
            return methodcaller("get_autocommit")
        driver = getattr(
            connection, "driver_connection", None
        )  # behind the async shell of an older SQLAlchemy
        return _asked_behind_shell if hasattr(driver, "get_autocommit") else None

    @staticmethod
    def pipeline_reader(connection: Any) -> Reader | None:
        """Find out how to ask psycopg, whose pipeline counts rows that it may roll back afterwards."""
        for path in ("pgconn", "driver_connection.pgconn"):  # itself, and behind SQLAlchemy's async shell
            reader = attrgetter(f"{path}.pipeline_status")
            try:
                reader(connection)
            except AttributeError:
                continue
            return reader
        return None


def capabilities_of(connection: Connection) -> Capabilities:
    """Return what this connection's engine can do."""
    known = _KNOWN.get(connection.dialect)
    if known is None:
        if len(_KNOWN) >= MOST_DIALECTS:
            _KNOWN.clear()
        known = _KNOWN[connection.dialect] = Capabilities(connection)
    return known


def check_can_count(connection: Connection) -> None:
    """Refuse, before any SQL, a connection whose row counts cannot be trusted.

    Raises:
        UnsupportedBackend: says which dialect and driver, what is missing, and what to use instead.
    """
    known = capabilities_of(connection)
    why = known.refusal
    if known.pipeline is not None and known.pipeline(connection.connection.dbapi_connection):
        why = (
            "is in pipeline mode, where a count comes only after later statements were sent, and its row may "
            "be rolled back with theirs; write outside of the pipeline() block"
        )
    if why:
        raise UnsupportedBackend(f"{known.name} {why} [cas-unsupported]")


def commits_itself(connection: Connection) -> bool:
    """Tell whether a statement sent now commits at once, so that a win is final on return.

    Inside a transaction of the library's own it is: that one ends before the verb returns.
    """
    if IN_OWN.get() is connection:
        return True
    reads = capabilities_of(connection).autocommit
    try:
        if reads is not None:
            return bool(reads(connection.connection.dbapi_connection))
    except InvalidRequestError:  # lost or closed: there is no driver left to ask
        pass
    return isolation_of(connection) == "AUTOCOMMIT"


def isolation_of(connection: Connection) -> str:
    """Return the isolation level in force, without a query: the connection's, the engine's, the server's."""
    level = (
        connection.get_execution_options().get("isolation_level")
        or getattr(connection.dialect, "_on_connect_isolation_level", None)  # create_engine(isolation_level=)
        or connection.default_isolation_level
    )
    return str(level or "").upper().replace("_", " ")


def _sqlite_autocommits(driver: Any) -> bool:
    """Ask SQLite, then its driver: somebody may send the BEGIN that the driver was told not to send."""
    return not driver.in_transaction and (
        driver.isolation_level is None or getattr(driver, "autocommit", None) is True  # Python 3.12
    )


def _behind_shell(shell: Any) -> bool:
    return _sqlite_autocommits(shell.driver_connection)


def _asked_behind_shell(shell: Any) -> bool:
    return bool(shell.driver_connection.get_autocommit())


#: The first versions with SKIP LOCKED.
_SKIPS: Final = {"mariadb": (10, 6), "mysql": (8, 0, 1)}


def skips_locked(connection: Connection) -> bool:
    """Tell whether a locking read can pass over the rows that others have locked."""
    dialect: Any = connection.dialect
    if dialect.name not in ("mysql", "mariadb"):
        return bool(dialect.name == "postgresql")
    least = _SKIPS["mariadb" if dialect.is_mariadb else "mysql"]
    return tuple(dialect.server_version_info or ()) >= least
