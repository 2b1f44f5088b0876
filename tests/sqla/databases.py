"""Databases of their own for SQLAlchemy, on the servers that the Django tests have found.

Each is created at its first use in a process, with the tables of the shop, and dropped at the end.
``CAS_TEST_SQLA_DRIVERS`` (comma-separated, such as ``psycopg2,asyncpg,mysqlclient``) puts other drivers in
the place of the usual ones; one that is not installed is skipped by name, and is an error with CI=true.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from sqlalchemy import URL, Engine, create_engine, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from tests.django.databases import ALIASES, SUFFIX
from tests.sqla import forms, sample, shapes
from tests.sqla.shop import Base

DIALECTS = {"sqlite": "sqlite", "postgres": "postgresql", "mariadb": "mariadb"}


@dataclass(frozen=True)
class Driver:
    """One driver: where it is imported from, what it is for, and its name in a URL."""

    module: str
    database: str
    asynchronous: bool
    name: str


#: By the name of its distribution; psycopg has both colours.
KNOWN = {
    "sqlite3": Driver("sqlite3", "sqlite", False, "pysqlite"),
    "aiosqlite": Driver("aiosqlite", "sqlite", True, "aiosqlite"),
    "psycopg": Driver("psycopg", "postgres", False, "psycopg"),
    "psycopg-async": Driver("psycopg", "postgres", True, "psycopg"),
    "psycopg2": Driver("psycopg2", "postgres", False, "psycopg2"),
    "asyncpg": Driver("asyncpg", "postgres", True, "asyncpg"),
    "pymysql": Driver("pymysql", "mariadb", False, "pymysql"),
    "mysqlclient": Driver("MySQLdb", "mariadb", False, "mysqldb"),
    "asyncmy": Driver("asyncmy", "mariadb", True, "asyncmy"),
}
USUAL = ("sqlite3", "aiosqlite", "psycopg", "psycopg-async", "pymysql", "asyncmy")


def _chosen() -> dict[str, tuple[Driver, Driver]]:
    """Return the sync and the async driver of each database."""
    asked = [name.strip() for name in os.environ.get("CAS_TEST_SQLA_DRIVERS", "").split(",") if name.strip()]
    if unknown := set(asked) - set(KNOWN):
        raise ValueError(f"CAS_TEST_SQLA_DRIVERS: {sorted(unknown)} are not among {sorted(KNOWN)}")
    found = {(d.database, d.asynchronous): d for d in (KNOWN[name] for name in [*USUAL, *asked])}
    return {database: (found[database, False], found[database, True]) for database in DIALECTS}


#: database -> its sync driver, its async driver
DRIVERS = _chosen()
NAME = f"test_cas_orm_sqla_{SUFFIX}{os.environ.get('PYTEST_XDIST_WORKER', '')}"


@dataclass(frozen=True)
class Engines:
    """The two doors to one database."""

    sync: Engine
    asynchronous: AsyncEngine

    def empty(self) -> None:
        """Delete every row, children first."""
        with self.sync.begin() as connection:
            for table in reversed(Base.metadata.sorted_tables):
                connection.execute(table.delete())


_OPEN: dict[str, Engines] = {}


def url(database: str, *, asynchronous: bool = False, server: bool = False) -> URL:
    """Return the URL of a database, or of the server that it is on."""
    return url_of(DRIVERS[database][asynchronous], server=server)


def url_of(driver: Driver, *, server: bool = False) -> URL:
    """Return the URL of a driver's database, or of the server that it is on."""
    database = driver.database
    name = f"{DIALECTS[database]}+{driver.name}"
    if database == "sqlite":
        return URL.create(name, database=str(Path(tempfile.gettempdir()) / f"{NAME}.sqlite3"))
    config: dict[str, Any] = settings.DATABASES[ALIASES[database]]
    outside = "postgres" if database == "postgres" else None
    return URL.create(
        name,
        username=config["USER"],
        password=config["PASSWORD"] or None,
        host=config["HOST"],
        port=int(config["PORT"]) if config["PORT"] else None,
        database=outside if server else NAME,
    )


def skip_without(*drivers: Driver) -> None:
    """Skip by name the test of a driver that is not installed; with CI=true it is an error."""
    absent = [driver.module for driver in drivers if find_spec(driver.module) is None]
    if absent and os.environ.get("CI", "").lower() in ("1", "true"):
        raise RuntimeError(f"{absent} are not installed, and CI=true")
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)}")


def engines(database: str) -> Engines:
    """Return the engines of a database, made with its tables at the first call."""
    skip_without(*DRIVERS[database])
    if database not in _OPEN:
        if database != "sqlite":
            _on_server(database, f"CREATE DATABASE {NAME}")
        options: dict[str, Any] = {"connect_args": {"timeout": 20}} if database == "sqlite" else {}
        made = Engines(
            create_engine(url(database), **options),
            create_async_engine(url(database, asynchronous=True), poolclass=NullPool, **options),
        )
        _OPEN[database] = made
        assert {shapes.plain_table.metadata, sample.Sample.metadata, forms.Board.metadata} == {Base.metadata}
        Base.metadata.create_all(made.sync)
    return _OPEN[database]


def _on_server(database: str, sql: str) -> None:
    engine = create_engine(url(database, server=True), isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(text(sql))


@pytest.fixture(scope="session")
def _sqla_databases() -> Iterator[None]:
    """Drop at the end what the tests have made."""
    yield
    for database, made in _OPEN.items():
        made.sync.dispose()
        if database == "sqlite":
            Path(str(made.sync.url.database)).unlink(missing_ok=True)
        else:
            _on_server(database, f"DROP DATABASE {NAME}")
    _OPEN.clear()
