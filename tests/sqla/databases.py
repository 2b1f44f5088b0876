"""Databases of their own for SQLAlchemy, on the servers that the Django tests have found.

Each is created at its first use in a process, with the tables of the shop, and dropped at the end.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
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

#: database -> the dialect, its sync driver, its async driver
DRIVERS = {
    "sqlite": ("sqlite", "pysqlite", "aiosqlite"),
    "postgres": ("postgresql", "psycopg", "psycopg"),
    "mariadb": ("mariadb", "pymysql", "asyncmy"),
}
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
    dialect, *drivers = DRIVERS[database]
    name = f"{dialect}+{drivers[asynchronous]}"
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


def engines(database: str) -> Engines:
    """Return the engines of a database, made with its tables at the first call."""
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
