"""SQLite in memory, and the servers that CAS_TEST_DATABASES names: engines, tables, and what is left out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import StaticPool

from benchmarks.sqla.models import Base
from cas_orm_sqla import session as listeners

#: name -> the dialect, its sync driver, its async driver, a database that every server has
DRIVERS = {
    "sqlite": ("sqlite", "pysqlite", "aiosqlite", ":memory:"),
    "postgres": ("postgresql", "psycopg", "asyncpg", "postgres"),
    "mariadb": ("mariadb", "pymysql", None, "test"),
}
#: what the library listens to on every session
LISTENERS = {
    "before_flush": listeners._before_flush,
    "after_flush": listeners._after_flush,
    "after_commit": listeners._after_commit,
    "after_transaction_end": listeners._after_transaction_end,
}


def urls() -> dict[str, URL]:
    """Return the databases to measure on, by name."""
    found = {"sqlite": make_url("sqlite://")}
    for text in filter(None, os.environ.get("CAS_TEST_DATABASES", "").split(",")):
        url = make_url(text.strip())
        found["postgres" if url.drivername.startswith("postgres") else "mariadb"] = url
    return found


def _url(name: str, url: URL, *, asynchronous: bool) -> URL:
    dialect, *drivers, database = DRIVERS[name]
    return url.set(drivername=f"{dialect}+{drivers[asynchronous]}", database=database)


def has_async(name: str) -> bool:
    """Tell whether the asynchronous pair is measured here."""
    return DRIVERS[name][2] is not None


@contextmanager
def engine(name: str, url: URL) -> Iterator[Engine]:
    """Yield an engine with fresh tables."""
    pool = {"poolclass": StaticPool} if name == "sqlite" else {}
    made = create_engine(_url(name, url, asynchronous=False), **pool)
    try:
        Base.metadata.drop_all(made)
        Base.metadata.create_all(made)
        yield made
        Base.metadata.drop_all(made)
    finally:
        made.dispose()


def async_engine(name: str, url: URL) -> AsyncEngine:
    """Return an asynchronous engine."""
    pool = {"poolclass": StaticPool} if name == "sqlite" else {}
    return create_async_engine(_url(name, url, asynchronous=True), **pool)


@contextmanager
def without_library() -> Iterator[None]:
    """Take the library's listeners off, so that SQLAlchemy's own side is what it is without the library."""
    for name, listener in LISTENERS.items():
        event.remove(Session, name, listener)
    try:
        yield
    finally:
        for name, listener in LISTENERS.items():
            event.listen(Session, name, listener)
