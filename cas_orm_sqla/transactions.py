"""Transactions that the library opens itself around several statements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from cas_orm_sqla.capabilities import commits_itself


@contextmanager
def own_transaction(connection: Connection) -> Iterator[None]:
    """Open a savepoint in the session's transaction; in AUTOCOMMIT a transaction of the library's own."""
    if commits_itself(connection):
        yield from _own(connection)
        return
    _begin_on_sqlite(connection)
    savepoint = connection.begin_nested()
    done = False
    try:
        yield
        done = True
    finally:
        if savepoint.is_active:
            savepoint.commit() if done else savepoint.rollback()


def _own(connection: Connection) -> Iterator[None]:
    sqlite = connection.dialect.name == "sqlite"
    connection.exec_driver_sql("BEGIN IMMEDIATE" if sqlite else "BEGIN")
    done = False
    try:
        yield
        done = True
    finally:
        if not done and not connection.closed and not connection.invalidated:
            with suppress(DBAPIError):  # the error that led here is the one to hear of
                connection.exec_driver_sql("ROLLBACK")
    connection.exec_driver_sql("COMMIT")


def _begin_on_sqlite(connection: Connection) -> None:
    """Begin where the driver has not yet: a savepoint outside a transaction would commit at its release."""
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        if not driver.in_transaction:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
