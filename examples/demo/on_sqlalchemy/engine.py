"""An engine, made from the same database URL that Django is given."""

from __future__ import annotations

from typing import Any

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from examples.demo.database import PATIENCE_ON_SQLITE, Place, place
from examples.demo.story import DemoError

DRIVERS = {"sqlite": "sqlite", "postgres": "postgresql+psycopg", "mysql": "mysql+pymysql"}


def connect(url: str) -> Engine:
    """Return an engine that has reached its database.

    Raises:
        DemoError: the URL names no database that the demo knows, or nobody answers there.
    """
    where = place(url)
    engine = create_engine(engine_url(where), **engine_options(where))
    if where.scheme == "sqlite":
        event.listen(engine, "connect", _use_wal)
    try:
        engine.connect().close()
    except DBAPIError as error:
        raise DemoError(f"no connection to {where}: {error.orig}") from error
    return engine


def engine_url(where: Place) -> URL:
    """Spell the database as SQLAlchemy does: ``postgres://`` is ``postgresql+psycopg://`` there."""
    config = where.config
    return URL.create(
        DRIVERS[where.scheme],
        username=config["USER"] or None,
        password=config["PASSWORD"] or None,
        host=config["HOST"] or None,
        port=int(config["PORT"]) if config["PORT"] else None,
        database=config["NAME"] or None,
        query={name: str(value) for name, value in config.get("OPTIONS", {}).items()},
    )


def engine_options(where: Place) -> dict[str, Any]:
    """Return what else the engine needs to know."""
    if where.scheme == "sqlite":  # writers wait for each other instead of failing
        return {"connect_args": {"timeout": PATIENCE_ON_SQLITE}}
    return {"isolation_level": "READ COMMITTED"}  # Django's choice as well


def _use_wal(connection: Any, record: object) -> None:
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL"):
        connection.execute(f"PRAGMA {pragma}")
