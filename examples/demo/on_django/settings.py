"""Django's settings, made from a database URL."""

from __future__ import annotations

import warnings
from typing import Any

import django
import environ
import pymysql
from django.conf import settings
from django.db import Error, connection

from examples.demo.story import DemoError

SCHEMES = {
    "django.db.backends.sqlite3": "sqlite",
    "django.db.backends.postgresql": "postgres",
    "django.db.backends.mysql": "mysql",
}
#: Writers wait for each other instead of failing with "database is locked".
SQLITE = {
    "timeout": 20,  # seconds
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL",
}


def connect(url: str) -> None:
    """Set Django up for this database and connect; doing it again changes nothing.

    Raises:
        DemoError: the URL names no database that the demo knows, or nobody answers there.
    """
    if not settings.configured:
        pymysql.install_as_MySQLdb()
        settings.configure(
            DATABASES={"default": database_config(url)},
            INSTALLED_APPS=["cas_orm_django", "examples.demo.on_django"],
            DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
            USE_TZ=True,
        )
        django.setup()
    try:
        connection.ensure_connection()
    except Error as error:
        raise DemoError(f"no connection to {url_shown()}: {error}") from error


def database_config(url: str) -> dict[str, Any]:
    """Return Django's settings for one database.

    Raises:
        DemoError: the URL names no database that the demo knows.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "Engine not recognized": refused below
        config: dict[str, Any] = {**environ.Env.db_url_config(url)}
    scheme = SCHEMES.get(config.get("ENGINE", ""))
    if scheme is None:
        raise DemoError("DATABASE_URL must begin with sqlite://, postgres:// or mysql://")
    if scheme == "sqlite":
        if config["NAME"] == ":memory:":
            raise DemoError("two processes cannot share a database in memory; name a file")
        config["OPTIONS"] = {**SQLITE, **config.get("OPTIONS", {})}
    elif scheme == "mysql" and not config["NAME"]:
        raise DemoError("DATABASE_URL must name a database: mysql://user@host:3306/name")
    return config


def url_shown() -> str:
    """Name the database without user and password, and without asking it."""
    config = connection.settings_dict
    host = f"{config['HOST']}:{config['PORT']}/" if config["HOST"] else ""
    return f"{SCHEMES[config['ENGINE']]} {host}{config['NAME']}"
