"""Can this driver count, and if not, why. And what a connection's isolation level means for a write."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from cas_orm import UnsupportedBackend


def check_can_count(connection: Connection) -> None:
    """Refuse a driver whose row counts cannot be trusted.

    Raises:
        UnsupportedBackend: neither RETURNING nor a sane row count; the message names the driver.
    """
    dialect = connection.dialect
    if not dialect.supports_sane_rowcount and not dialect.update_returning:
        raise UnsupportedBackend(
            f"{dialect.name}+{dialect.driver} cannot tell how many rows an UPDATE matched, so no write "
            "can be judged [cas-unsupported]"
        )


def isolation_of(connection: Connection) -> str:
    """Return the isolation level in force, without a query: the connection's, the engine's, the server's."""
    level = (
        connection.get_execution_options().get("isolation_level")
        or getattr(connection.dialect, "_on_connect_isolation_level", None)  # create_engine(isolation_level=)
        or connection.default_isolation_level
    )
    return str(level or "").upper().replace("_", " ")


def commits_itself(connection: Connection) -> bool:
    """Tell whether every statement commits at once, so that a win is final on return."""
    return isolation_of(connection) == "AUTOCOMMIT" or _driver_commits(connection)


def _driver_commits(connection: Connection) -> bool:
    """Ask the driver: its own option may have put it in autocommit behind SQLAlchemy's back.

    SQLite is not asked: its drivers look the same when somebody else sends the BEGIN.
    """
    dialect: Any = connection.dialect
    detect = getattr(dialect, "detect_autocommit_setting", None)  # SQLAlchemy 2.0.43
    if detect is None or dialect.name == "sqlite":
        return False
    try:
        return bool(detect(connection.connection.dbapi_connection))
    except NotImplementedError:
        return False
