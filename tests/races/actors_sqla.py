"""Actors with a session of their own, and the doors of SQLAlchemy: an engine for each isolation level."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from tests.contract.adapters.sqla import SqlaApi
from tests.races.actors import Actor
from tests.sqla.databases import Engines, engines, url
from tests.sqla.shop import Base

#: door -> the isolation level of its transactions
LEVELS: Final = {
    "sqlite": "SERIALIZABLE",
    "sqlite_deferred": "SERIALIZABLE",
    "sqlite_wal": "SERIALIZABLE",
    "postgres": "READ COMMITTED",
    "postgres_rr": "REPEATABLE READ",
    "postgres_serializable": "SERIALIZABLE",
    "mariadb": "READ COMMITTED",
    "mariadb_rr": "REPEATABLE READ",
    "mariadb_serializable": "SERIALIZABLE",
    "mariadb_snapshot": "REPEATABLE READ",
}
#: Where the async driver of the races is another one than that of the contract suite.
ASYNC_DRIVERS: Final = {"postgres": "postgresql+asyncpg"}
_OPEN: dict[str, Engines] = {}


def door_url(door: str, *, asynchronous: bool = False, port: int | None = None) -> URL:
    """Return the URL behind a door; with a port, that of a proxy on the way."""
    database = door.partition("_")[0]
    made = url(database, asynchronous=asynchronous)
    if asynchronous:
        made = made.set(drivername=ASYNC_DRIVERS.get(database, made.drivername))
    if door == "sqlite_wal":
        made = made.set(database=f"{made.database}.wal")
    return made if port is None else made.set(port=port)


def open_door(door: str, port: int | None = None) -> Engines:
    """Return two new engines, without a pool.

    An actor has an event loop, and sometimes settings of a connection, that no other may get hold of.
    """
    engines(door.partition("_")[0])  # so that the database is there
    arguments: dict[str, Any] = {"timeout": 20} if door.startswith("sqlite") else {}
    if door == "mariadb_snapshot":
        arguments["init_command"] = "SET SESSION innodb_snapshot_isolation=ON"
    quick = {"ssl_disabled": True} if door.startswith("mariadb") else {}  # no certificates to read
    sync = create_engine(door_url(door, port=port), connect_args=arguments | quick, poolclass=NullPool)
    asynchronous = create_async_engine(
        door_url(door, asynchronous=True, port=port), connect_args=arguments, poolclass=NullPool
    )
    if door == "sqlite_wal":
        for engine in (sync, asynchronous.sync_engine):
            event.listen(engine, "connect", _write_ahead)
        Base.metadata.create_all(sync)
    return Engines(sync, asynchronous)


def _write_ahead(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.close()


def door_engines(door: str) -> Engines:
    """Return the engines behind a door, made at the first call."""
    if door not in _OPEN:
        _OPEN[door] = open_door(door)
    return _OPEN[door]


def shut_doors() -> None:
    """Remove the files that only the races have made."""
    for made in _OPEN.values():
        path = str(made.sync.url.database)
        if path.endswith(".wal"):
            for suffix in ("", "-wal", "-shm"):
                Path(path + suffix).unlink(missing_ok=True)
    _OPEN.clear()


class SqlaSeat(SqlaApi):
    """The api over one session that stays open from step to step."""

    def __init__(self, door: str, colour: str, made: Engines | None = None) -> None:
        super().__init__(door.partition("_")[0], door, colour=colour)
        self.engines = made or door_engines(door)
        self.level = LEVELS[door]
        if door in ("sqlite_deferred", "sqlite_wal"):
            self.begins_with = "BEGIN DEFERRED"

    @property
    def engine(self) -> Engine:
        """Return the engine of this colour, the sync side of it."""
        return self.engines.sync if self.colour == "sync" else self.engines.asynchronous.sync_engine

    async def open(self) -> None:
        """Open the session, in AUTOCOMMIT outside of transactions."""
        if self.colour == "sync":
            engine = self.engines.sync.execution_options(isolation_level="AUTOCOMMIT")
            self.session = Session(engine)
        else:
            autocommit = self.engines.asynchronous.execution_options(isolation_level="AUTOCOMMIT")
            self.session = AsyncSession(autocommit, expire_on_commit=False)

    async def close(self) -> None:
        """Close the session."""
        if self.colour == "sync":
            self.session.close()
        else:
            await self.session.close()


class SqlaActor(Actor):
    """An actor with a ``Session``, or with an ``AsyncSession`` and an event loop of its own."""

    api: SqlaSeat

    def __init__(
        self, door: str, alias: str, colour: str, made: Engines | None = None, **session: Any
    ) -> None:
        super().__init__(SqlaSeat(door, colour, made, **session), alias)
        self._runner = asyncio.Runner() if colour == "async" else None
        self.do(self.api.open)

    @property
    def session(self) -> Any:
        """Return the session, for steps of this actor only."""
        return self.api.session

    def _drive(self, step: Coroutine[Any, Any, Any]) -> Any:
        return super()._drive(step) if self._runner is None else self._runner.run(step)

    async def _ask(self, sql: str, *params: Any) -> Any:
        def execute(session: Session) -> Any:
            found = session.connection().exec_driver_sql(sql, params or None)
            return found.scalar() if found.returns_rows else None

        return await self.api.hop(execute)

    async def knows_that_it_is_over(self) -> bool:
        """Tell whether the session has left the transaction, or does nothing more in it."""

        def over(session: Session) -> bool:
            if not session.in_transaction():
                return True
            try:
                session.connection().exec_driver_sql("SELECT 1")
            except SQLAlchemyError:
                return True
            return False

        return bool(await self.api.hop(over))

    def _transaction(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        opened = self.api.transaction()
        return opened.__aenter__, opened.__aexit__

    def _close(self) -> None:
        self._drive(self.api.close())
        if self._runner is not None:
            self._runner.close()
