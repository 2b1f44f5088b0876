"""A Django project of two models, alike but for the guard, on SQLite in memory and on a server."""

from __future__ import annotations

import os

import django
import environ
from django.conf import settings


def start() -> dict[str, str]:
    """Configure Django; return the databases to measure on, alias by name."""
    databases = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
    for url in filter(None, os.environ.get("CAS_TEST_DATABASES", "").split(",")):
        config = environ.Env.db_url_config(url.strip())
        name = "postgres" if "postgres" in config["ENGINE"] else "mariadb"
        databases[name] = config | {"NAME": _database(config)}
    if any("mysql" in str(config["ENGINE"]) for config in databases.values()):
        import pymysql

        pymysql.install_as_MySQLdb()
    settings.configure(
        DATABASES=databases,
        INSTALLED_APPS=["cas_orm_django", "benchmarks"],
        USE_TZ=True,
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    )
    django.setup()
    return {"sqlite": "default"} | {name: name for name in databases if name != "default"}


def _database(config: dict[str, object]) -> str:
    """Measure in a database that every server has; the tables are dropped afterwards."""
    return "postgres" if "postgres" in str(config["ENGINE"]) else "test"
