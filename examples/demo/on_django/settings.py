"""Django's settings, made from a database URL."""

from __future__ import annotations

from typing import Any

import django
import pymysql
from django.conf import settings
from django.db import Error, connection

from examples.demo.database import PATIENCE_ON_SQLITE, Place, place
from examples.demo.story import DemoError

#: Writers wait for each other instead of failing with "database is locked".
SQLITE = {
    "timeout": PATIENCE_ON_SQLITE,
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL",
}


def connect(url: str) -> None:
    """Set Django up for this database and connect; doing it again changes nothing.

    Raises:
        DemoError: the URL names no database that the demo knows, or nobody answers there.
    """
    where = place(url)
    if not settings.configured:
        pymysql.install_as_MySQLdb()
        settings.configure(
            DATABASES={"default": database_config(where)},
            INSTALLED_APPS=["cas_orm_django", "examples.demo.on_django"],
            DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
            USE_TZ=True,
        )
        django.setup()
    try:
        connection.ensure_connection()
    except Error as error:
        raise DemoError(f"no connection to {where}: {error}") from error


def database_config(where: Place) -> dict[str, Any]:
    """Return Django's settings for one database."""
    if where.scheme != "sqlite":
        return where.config
    return {**where.config, "OPTIONS": {**SQLITE, **where.config.get("OPTIONS", {})}}
