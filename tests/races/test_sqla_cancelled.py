"""SQLAlchemy: a cancelled await stays a ``CancelledError`` and carries the unknown outcome."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine

from cas_orm import Expect, UnknownOutcome, Verdict
from cas_orm_sqla import asettle, aupdate_if_current
from tests.races.actors import WHO_AM_I, DjangoActor, actors, is_blocked, wait_until
from tests.races.actors_sqla import door_url
from tests.races.on import SERVERS, on
from tests.races.stage import Stage
from tests.sqla.shop import Ticket

#: How an await comes to be cancelled: its task, a time limit, a sibling of its group.
Cancel = Callable[["Victim"], Awaitable[BaseException | None]]
pytestmark = pytest.mark.parametrize("sqla", ["sync"], indirect=True)  # the rival; the victim is async


@dataclass
class Victim:
    """One session whose write waits for the rival's lock when it is cancelled."""

    engine: AsyncEngine
    session: AsyncSession
    key: Any
    waits: Callable[[], Awaitable[None]]

    async def write(self) -> None:
        """Save a change of the ticket; keep the error as it was raised."""
        ticket = await self.session.get_one(Ticket, self.key)
        ticket.n = 7
        await ticket.asave_if_current(self.session)


async def ending(task: asyncio.Task[None]) -> BaseException | None:
    """Return what a task raised; ``gather`` would make a new CancelledError."""
    try:
        await task
    except asyncio.CancelledError as error:
        return error
    return None


async def by_task(victim: Victim) -> BaseException | None:
    """Cancel the task once the server says that its statement waits."""
    writing = asyncio.create_task(victim.write())
    await victim.waits()
    writing.cancel()
    return await ending(writing)


async def by_time_limit(victim: Victim) -> BaseException | None:
    """Let a time limit, moved up to now once the statement waits, cancel the await."""
    seen: list[BaseException] = []

    async def write(limit: asyncio.Timeout) -> None:
        try:
            await victim.write()
        except asyncio.CancelledError as error:
            seen.append(error)
            raise

    async def expire(limit: asyncio.Timeout) -> None:
        await victim.waits()
        limit.reschedule(asyncio.get_running_loop().time())

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as limit:
            expiring = asyncio.create_task(expire(limit))
            await write(limit)
    await expiring
    return seen[0]


async def by_sibling(victim: Victim) -> BaseException | None:
    """Let another task of the group fail once the statement waits."""
    seen: list[BaseException] = []

    async def write() -> None:
        try:
            await victim.write()
        except asyncio.CancelledError as error:
            seen.append(error)
            raise

    async def fail() -> None:
        await victim.waits()
        raise LookupError

    with pytest.raises(ExceptionGroup):
        async with asyncio.TaskGroup() as group:
            group.create_task(write())
            group.create_task(fail())
    return seen[0]


WAYS = {"task": by_task, "time-limit": by_time_limit, "sibling": by_sibling}


@pytest.fixture
def watcher(door: str) -> Iterator[DjangoActor]:
    """Yield somebody who asks the server, on a connection of his own, while the loop waits."""
    with actors(DjangoActor(door)) as (one,):
        yield one


@asynccontextmanager
async def victim_of(watcher: DjangoActor, door: str, key: Any, autocommit: bool) -> AsyncIterator[Victim]:
    """Yield a session on a pool of one connection, which has to be whole at the end."""
    engine = create_async_engine(door_url(door, asynchronous=True), pool_size=1, max_overflow=0)
    bind = engine.execution_options(isolation_level="AUTOCOMMIT") if autocommit else engine
    async with AsyncSession(bind, expire_on_commit=False) as session:
        me = (await (await session.connection()).exec_driver_sql(WHO_AM_I[watcher.vendor])).scalar()

        async def waits() -> None:
            blocked = watcher.alias, me
            await asyncio.to_thread(wait_until, lambda: bool(watcher.do(is_blocked, *blocked)))

        yield Victim(engine, session, key, waits)
        await session.rollback()
        assert (await session.get_one(Ticket, key)).id == key
        await session.rollback()
    assert engine.sync_engine.pool.checkedout() == 0  # type: ignore[attr-defined]  # a QueuePool
    await engine.dispose()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("mode", ["autocommit", "transaction"])
@on(*SERVERS)
def test_cancelled_while_waiting(
    sqla: Stage, watcher: DjangoActor, sqla_door: str, mode: str, way: Cancel
) -> None:
    """The await ends as cancelled, with what settles it; session and pool go on after a rollback."""
    key = sqla.insert(Ticket)
    early = sqla.early
    held = early.do(early.api.load, Ticket, key)
    early.begin()
    early.do(early.api.save_if_current, held)

    async def run() -> None:
        async with victim_of(watcher, sqla_door, key, mode == "autocommit") as victim:
            error = await way(victim)
            assert type(error) is asyncio.CancelledError
            unknown = error.cas_unknown  # type: ignore[attr-defined]
            assert isinstance(unknown, UnknownOutcome)
            assert (unknown.key, unknown.in_transaction) == (key, mode == "transaction")
            await victim.session.rollback()
            await asyncio.to_thread(early.rollback)
            outcome = await asettle(async_sessionmaker(victim.engine), error)
            assert (outcome.verdict is Verdict.WON) is (mode == "autocommit")

    asyncio.run(run())
    row = sqla.row(Ticket, key)
    assert (row["n"], row["record_version"]) == ((7, 2) if mode == "autocommit" else (0, 1))


@on(*SERVERS)
def test_cancelled_and_the_rival_commits(sqla: Stage, watcher: DjangoActor, sqla_door: str) -> None:
    """The rival wins the row: settling tells the loss with its verdict."""
    key = sqla.insert(Ticket)
    early = sqla.early
    held = early.do(early.api.load, Ticket, key)
    early.begin()
    early.do(early.api.save_if_current, held)

    async def run() -> None:
        async with victim_of(watcher, sqla_door, key, autocommit=True) as victim:
            error = await by_task(victim)
            assert error is not None
            await victim.session.rollback()
            await asyncio.to_thread(early.commit)
            outcome = await asettle(async_sessionmaker(victim.engine), error)
            assert (outcome.verdict, outcome.actual["record_version"]) == (Verdict.STALE, 2)  # type: ignore[index]

    asyncio.run(run())
    assert sqla.row(Ticket, key)["n"] == 0


@on(*SERVERS)
def test_cancelled_before_it_was_sent(sqla: Stage, watcher: DjangoActor, sqla_door: str) -> None:
    """The task waits for a connection of the pool when it is cancelled: nothing is ever sent."""
    key = sqla.insert(Ticket)

    async def run() -> None:
        async with victim_of(watcher, sqla_door, key, autocommit=True) as victim:
            sent: list[str] = []
            event.listen(
                victim.engine.sync_engine, "before_cursor_execute", lambda *args: sent.append(str(args[2]))
            )
            asked = asyncio.Event()

            async def write() -> None:
                async with AsyncSession(victim.engine) as other:
                    asked.set()
                    belief, values = Expect(record_version=1), {"n": 7}
                    await aupdate_if_current(other, Ticket, key, expect=belief, set=values)

            writing = asyncio.create_task(write())
            await asked.wait()
            await asyncio.sleep(0)  # now it waits for the one connection, which the victim's session holds
            writing.cancel()
            error = await ending(writing)
            assert type(error) is asyncio.CancelledError
            assert isinstance(error.cas_unknown, UnknownOutcome)  # type: ignore[attr-defined]
            assert not [sql for sql in sent if sql.startswith("UPDATE")]

    asyncio.run(run())
    assert sqla.row(Ticket, key)["record_version"] == 1


@on(*SERVERS)
def test_not_cancelled(sqla: Stage, watcher: DjangoActor, sqla_door: str) -> None:
    """The accepted twin: left alone until the rival is gone, the same await ends with a win."""
    key = sqla.insert(Ticket)
    early = sqla.early
    held = early.do(early.api.load, Ticket, key)
    early.begin()
    early.do(early.api.save_if_current, held)

    async def run() -> None:
        async with victim_of(watcher, sqla_door, key, autocommit=True) as victim:
            writing = asyncio.create_task(victim.write())
            await victim.waits()
            await asyncio.to_thread(early.rollback)
            await writing

    asyncio.run(run())
    assert sqla.row(Ticket, key)["n"] == 7
