"""Transactions that the library opens itself, and whether the caller has one open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper


def in_transaction(connection: BaseDatabaseWrapper) -> bool:
    """Tell whether the caller's own transaction is open, as ``atomic()`` or with autocommit off."""
    if connection.connection is None:
        connection.ensure_connection()
    return connection.in_atomic_block or not connection.autocommit


@contextmanager
def own_transaction(alias: str) -> Iterator[None]:
    """Open a transaction of the library's own, or a savepoint inside the caller's."""
    with ExitStack() as stack:
        _begin_by_hand(connections[alias])
        with begins_immediate(connections[alias]):
            stack.enter_context(transaction.atomic(using=alias))
        yield


def _begin_by_hand(connection: BaseDatabaseWrapper) -> None:
    """Begin where SQLite's driver has not yet, autocommit off: a savepoint there would commit at its end."""
    if connection.vendor == "sqlite" and in_transaction(connection) and not connection.in_atomic_block:
        driver: Any = connection.connection
        if not driver.in_transaction:
            with connection.cursor() as cursor:
                cursor.execute("BEGIN IMMEDIATE")


@contextmanager
def begins_immediate(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Let SQLite take its write lock at BEGIN, where it can still wait for a rival (ADR 0019)."""
    if connection.vendor != "sqlite":
        yield
        return
    connection.ensure_connection()
    wrapper = vars(connection)
    mode = wrapper.get("transaction_mode")
    wrapper["transaction_mode"] = "IMMEDIATE"
    try:
        yield
    finally:
        wrapper["transaction_mode"] = mode
