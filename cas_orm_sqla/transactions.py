"""Transactions that the library opens itself around several statements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from cas_orm_sqla.capabilities import IN_OWN, commits_itself


@contextmanager
def own_transaction(connection: Connection) -> Iterator[None]:
    """Open a savepoint in the session's transaction; in AUTOCOMMIT a transaction of the library's own."""
    if IN_OWN.get() is not connection and commits_itself(connection):
        yield from _own(connection)
    else:
        yield from _savepoint(connection)


def _own(connection: Connection) -> Iterator[None]:
    sqlite = connection.dialect.name == "sqlite"
    connection.exec_driver_sql("BEGIN IMMEDIATE" if sqlite else "BEGIN")
    entered = IN_OWN.set(connection)
    done = False
    try:
        yield
        connection.exec_driver_sql("COMMIT")
        done = True
    finally:
        IN_OWN.reset(entered)
        if not done and not connection.closed and not connection.invalidated:
            with suppress(DBAPIError):  # the error that led here is the one to hear of
                connection.exec_driver_sql("ROLLBACK")


def _savepoint(connection: Connection) -> Iterator[None]:
    _begin_on_sqlite(connection)
    savepoint = connection.begin_nested()
    done = False
    try:
        yield
        done = True
    finally:
        if savepoint.is_active and done:
            savepoint.commit()
        elif savepoint.is_active:
            with suppress(DBAPIError):  # a deadlock on MariaDB has taken the savepoint with it
                savepoint.rollback()


def _begin_on_sqlite(connection: Connection) -> None:
    """Begin where nobody has yet: a savepoint outside a transaction would commit at its release.

    Where somebody has, with or without IMMEDIATE, that transaction is the one to be in.
    """
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        if not driver.in_transaction:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
