"""Make a database connection fail at the moment that a test names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pymysql
from django.conf import settings
from django.db import OperationalError, connections

from tests.races.proxy import Proxy, proxied

LOST = {
    "postgresql": psycopg.OperationalError("server closed the connection unexpectedly"),
    "mysql": pymysql.OperationalError(2013, "Lost connection to MySQL server during query"),
}


@contextmanager
def answers_lost(alias: str, verb: str = "UPDATE", *, executed: bool = True) -> Iterator[None]:
    """Execute every statement of this kind, or do not, and then lose the connection."""

    def lose(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        lost = sql.startswith(verb)
        result = execute(sql, params, many, context) if executed or not lost else None
        if lost:
            raise OperationalError("lost") from LOST[connections[alias].vendor]
        return result

    with connections[alias].execute_wrapper(lose):
        yield


@contextmanager
def failing(alias: str, word: str) -> Iterator[None]:
    """Let every statement fail that has this word in it, before it is sent."""

    def fail(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if word in sql:
            raise RuntimeError(word)
        return execute(sql, params, many, context)

    with connections[alias].execute_wrapper(fail):
        yield


@contextmanager
def through_a_proxy(alias: str) -> Iterator[Proxy]:
    """Send this thread's connection through a proxy that can swallow the server's answers."""
    connection = connections[alias]
    server = settings.DATABASES[alias]
    port = int(server["PORT"] or {"postgresql": 5432, "mysql": 3306}[connection.vendor])
    with proxied(server["HOST"], port) as between:
        straight = connection.settings_dict
        connection.close()
        connection.settings_dict = {**straight, "PORT": between.port}
        try:
            connection.ensure_connection()
            yield between
        finally:
            connection.close()
            connection.settings_dict = straight
