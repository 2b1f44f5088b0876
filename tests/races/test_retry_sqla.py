"""AC-08 through sessions: sync and async, at every level; and what a COMMIT without an answer is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event, select, update
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import NullPool

from cas_orm import CannotRetryHere, Outcome, RetryPolicy, TransientConflict, UnknownOutcome, Verdict
from cas_orm_sqla import aretry_on_conflict, retry_on_conflict, settle
from tests.races import actors_sqla
from tests.races.actors_sqla import door_engines
from tests.races.on import SERVERS, on
from tests.races.proxy import Proxy
from tests.sqla.databases import Engines
from tests.sqla.shop import Order, Ticket

DOORS = (
    "sqlite",
    "sqlite_wal",
    "postgres",
    "postgres_rr",
    "postgres_serializable",
    "mariadb",
    "mariadb_rr",
    "mariadb_snapshot",
)
AT_ONCE = RetryPolicy(delays=[0], max_retries=9, jitter="none")
Work = Callable[[Session], Any]
Retry = Callable[[Engines, Work], Any]


def retried(doors: Engines, work: Work) -> Any:
    """Retry with a sessionmaker."""
    return retry_on_conflict(sessionmaker(doors.sync), work, AT_ONCE)


def aretried(doors: Engines, work: Work) -> Any:
    """Retry with an async_sessionmaker, while the loop stays free for others."""

    async def awork(session: AsyncSession) -> Any:
        return await session.run_sync(work)

    return asyncio.run(aretry_on_conflict(async_sessionmaker(doors.asynchronous), awork, AT_ONCE))


@pytest.fixture(params=[retried, aretried], ids=["sync", "async"])
def retry(request: pytest.FixtureRequest) -> Retry:
    """Yield both ways to retry."""
    return request.param  # type: ignore[no-any-return]


def at_its_level(door: str) -> Engines:
    """Return the engines behind a door, at its isolation level."""
    made, level = door_engines(door), actors_sqla.LEVELS[door]
    return Engines(
        made.sync.execution_options(isolation_level=level),
        made.asynchronous.execution_options(isolation_level=level),
    )


def new(doors: Engines, model: type[Any] = Order) -> int:
    """Store a row."""
    with Session(doors.sync) as session:
        row = model(n=1)
        session.add(row)
        session.commit()
        return int(row.id)


def stored(doors: Engines, model: type[Any] = Order) -> tuple[int, int]:
    """Return the value and the version that are stored."""
    with Session(doors.sync) as session:
        return tuple(session.execute(select(model.n, model.record_version)).one())  # type: ignore[return-value]


def add_ten(engine: Engine) -> None:
    """Write as the rival does."""
    table = Order.__table__
    with engine.begin() as connection:
        connection.execute(update(table).values(n=table.c.n + 10, record_version=table.c.record_version + 1))


def adding(key: int, in_between: Callable[[int], None]) -> Callable[[Session], Outcome]:
    """Return the unit of work: load, let the rival in, compute, compare-and-swap."""
    calls: list[int] = []

    def add(session: Session) -> Outcome:
        calls.append(1)
        order = session.get_one(Order, key)
        in_between(len(calls))
        order.n += 1
        return order.save_if_current(session)

    return add


@on(*DOORS)
def test_ac08_outside_a_transaction(door: str, sqla_door: str, retry: Retry) -> None:
    """The second attempt wins everywhere; on SQLite the first: it has the lock, and the rival waits."""
    doors = at_its_level(sqla_door)
    sqlite = doors.sync.dialect.name == "sqlite"
    key = new(doors)
    waiting: list[Future[Any]] = []
    with ThreadPoolExecutor(1) as rival:

        def let_the_rival_in(attempt: int) -> None:
            if attempt == 1:
                waiting.append(rival.submit(add_ten, doors.sync))
                if not sqlite:
                    waiting[0].result(30)

        outcome = retry(doors, adding(key, let_the_rival_in))
        waiting[0].result(30)
    assert (outcome.verdict, outcome.provisional) == (Verdict.WON, False)
    assert outcome.attempts == (1 if sqlite else 2)
    assert stored(doors) == (12, 3)


@on(*DOORS)
def test_ac08_inside_a_transaction(door: str, sqla_door: str) -> None:
    """Refused at once and before any SQL, at every level; the session is usable afterwards."""
    doors = at_its_level(sqla_door)
    key = new(doors)
    sent: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    with Session(doors.sync) as outer:
        order = outer.get_one(Order, key)
        event.listen(doors.sync, "before_cursor_execute", note)
        try:
            with pytest.raises(CannotRetryHere):
                retry_on_conflict(lambda: outer, adding(key, lambda attempt: None), AT_ONCE)
        finally:
            event.remove(doors.sync, "before_cursor_execute", note)
        assert sent == []
        assert order in outer
        outer.rollback()
        add_ten(doors.sync)
        assert retried(doors, adding(key, lambda attempt: None)).attempts == 1
        assert outer.get_one(Order, key).n == 12


@on(*DOORS)
def test_ac08_inside_an_async_transaction(door: str, sqla_door: str) -> None:
    """The same for an AsyncSession."""
    doors = at_its_level(sqla_door)
    key = new(doors)

    async def awork(session: AsyncSession) -> Any:
        return await session.run_sync(adding(key, lambda attempt: None))

    async def main() -> None:
        async with AsyncSession(doors.asynchronous) as outer:
            await outer.get_one(Order, key)
            with pytest.raises(CannotRetryHere):
                await aretry_on_conflict(lambda: outer, awork, AT_ONCE)
            await outer.rollback()
            assert (await outer.get_one(Order, key)).n == 1

    asyncio.run(main())


@on("postgres", "postgres_rr", "mariadb", "mariadb_rr")
def test_ac08_baseline(door: str, sqla_door: str) -> None:
    """Ten attempts inside one transaction never win in a snapshot; the same code wins at READ COMMITTED."""
    doors = at_its_level(sqla_door)
    key = new(doors)

    def loop() -> list[bool]:
        won: list[bool] = []
        with Session(doors.sync) as session:
            order = session.get_one(Order, key)
            add_ten(doors.sync)
            while len(won) < 10 and not any(won):
                order.n += 1
                won.append(bool(order.try_save_if_current(session)))
                if not won[-1]:
                    session.refresh(order)
            session.rollback()
        return won

    if door == "postgres_rr":  # the engine ends the transaction at the first attempt
        with pytest.raises(TransientConflict):
            loop()
    else:
        assert loop() == ([False] * 10 if door == "mariadb_rr" else [False, True])


@pytest.mark.parametrize("model", [Ticket, Order], ids=["with-a-token", "without"])
@on(*SERVERS)
def test_a_connection_lost_at_the_commit(
    door: str, sqla_door: str, between: Proxy, retry: Retry, model: type[Any]
) -> None:
    """Stored or not, nobody knows: an unknown outcome, not retried, which a write token settles."""
    doors = door_engines(sqla_door)
    key = new(doors, model)
    detour = Engines(
        create_engine(doors.sync.url.set(host="127.0.0.1", port=between.port), poolclass=NullPool),
        create_async_engine(
            doors.asynchronous.url.set(host="127.0.0.1", port=between.port), poolclass=NullPool
        ),
    )
    calls: list[int] = []

    def work(session: Session) -> None:
        calls.append(1)
        thing = session.get_one(model, key)
        thing.n = 7
        thing.save_if_current(session)
        between.swallow.set()

    with pytest.raises(UnknownOutcome) as lost:
        retry(detour, work)
    between.swallow.clear()
    unknown = lost.value
    assert (unknown.in_transaction, calls) == (True, [1])
    factory = sessionmaker(doors.sync)
    if model is Ticket:
        assert bool(settle(factory, unknown)) is (stored(doors, model)[0] == 7)
    else:
        with pytest.raises(UnknownOutcome):
            settle(factory, unknown)
