"""Each driver with two real connections: one wins, one is refused; refusals of the engine keep their names.

The drivers are the usual ones, or those of ``CAS_TEST_SQLA_DRIVERS``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier, Event
from time import monotonic
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import NullPool

from cas_orm import Outcome, TransientConflict, UnknownOutcome, Verdict
from cas_orm_sqla import settle
from tests.sqla.databases import Engines, url
from tests.sqla.shapes import Book
from tests.sqla.shop import Device, Ticket

PATIENCE = 30.0  # seconds
Step = Callable[[Session], Any]

servers = pytest.mark.parametrize("db", ["postgres", "mariadb"], indirect=True)


class Actor:
    """A thread with a session of one driver; its steps run in order."""

    def __init__(self, database: str, colour: str) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._loop = asyncio.new_event_loop() if colour == "async" else None
        asynchronous = self._loop is not None
        options: dict[str, Any] = {"poolclass": NullPool}
        if database == "sqlite":
            options["connect_args"] = {"timeout": 20}
        make: Callable[..., Any] = create_async_engine if asynchronous else create_engine
        engine = make(url(database, asynchronous=asynchronous), **options)
        session: type[Any] = AsyncSession if asynchronous else Session
        self.session = session(engine, expire_on_commit=False)

    def start(self, step: Step) -> Future[Any]:
        """Begin a step; its end is the future's."""
        return self._thread.submit(self._run, step)

    def do(self, step: Step) -> Any:
        """Run a step to its end."""
        return self.start(step).result(PATIENCE)

    def _run(self, step: Step) -> Any:
        if self._loop is None:
            return step(self.session)
        return self._loop.run_until_complete(self.session.run_sync(step))

    def ask(self, sql: str) -> Any:
        """Send plain SQL in the session's transaction; return the first value, if it gives one."""

        def query(session: Session) -> Any:
            result = session.connection().execute(text(sql))
            return result.scalar() if result.returns_rows else None

        return self.do(query)

    def close(self) -> None:
        """End the session and the thread."""

        def end() -> None:
            if self._loop is None:
                self.session.close()
                return
            self._loop.run_until_complete(self.session.close())
            self._loop.close()

        self._thread.submit(end).result(PATIENCE)
        self._thread.shutdown()


def _name(db: Engines) -> str:
    return {"sqlite": "sqlite", "postgresql": "postgres"}.get(db.sync.dialect.name, "mariadb")


@pytest.fixture(params=["sync", "async"])
def pair(db: Engines, request: pytest.FixtureRequest) -> Iterator[list[Actor]]:
    """Yield two actors of the database's sync or async driver."""
    actors = [Actor(_name(db), request.param) for _ in range(2)]
    yield actors
    for actor in actors:
        actor.close()


def _insert(db: Engines, *objects: Any) -> list[int]:
    with Session(db.sync) as session:
        session.add_all(objects)
        session.commit()
        return [obj.id for obj in objects]


def _row(db: Engines, model: type[Any], key: int) -> Any:
    with Session(db.sync) as session:
        return session.get_one(model, key)


def _load(model: type[Any], key: int) -> Step:
    def step(session: Session) -> Any:
        found = session.get_one(model, key)
        session.commit()
        return found

    return step


def _save(obj: Any, name: str, *, pages: int | None = None) -> Step:
    def step(session: Session) -> Outcome:
        obj.name = name
        if pages is not None:
            obj.pages = pages
        outcome: Outcome = obj.try_save_if_current(session)
        return outcome

    return step


def _rollback(session: Session) -> None:
    session.rollback()


def _commit(session: Session) -> None:
    session.commit()


def _identity(actor: Actor, db: Engines) -> int:
    return int(actor.ask("SELECT pg_backend_pid()" if _name(db) == "postgres" else "SELECT connection_id()"))


def _outside(db: Engines, sql: str) -> Any:
    with db.sync.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        result = connection.execute(text(sql))
        return result.one_or_none() if result.returns_rows else None


def _is_blocked(db: Engines, identity: int) -> bool:
    if _name(db) == "postgres":
        sql = f"SELECT 1 FROM pg_stat_activity WHERE pid = {identity} AND wait_event_type = 'Lock'"
        return _outside(db, sql) is not None
    status = _outside(db, "SHOW ENGINE INNODB STATUS")[2]
    return any(f"thread id {identity}," in t and "LOCK WAIT" in t for t in status.split("---TRANSACTION"))


def _blocks(actor: Actor, db: Engines, step: Step) -> Future[Any]:
    """Begin a step, and return when the server says that it waits for a lock."""
    identity = _identity(actor, db)
    waiting = actor.start(step)
    pause, deadline = Event(), monotonic() + PATIENCE
    while not _is_blocked(db, identity):
        assert monotonic() < deadline and not waiting.done(), waiting
        pause.wait(0.002)
    return waiting


def test_one_wins_and_one_is_refused(db: Engines, pair: list[Actor]) -> None:
    """Both have seen version 1 and write at the same moment: nothing is lost, whichever is first."""
    (key,) = _insert(db, Device(name="a"))
    held = [actor.do(_load(Device, key)) for actor in pair]
    together = Barrier(2)

    def race(obj: Any, name: str) -> Step:
        def step(session: Session) -> Outcome:
            together.wait(PATIENCE)
            outcome: Outcome = _save(obj, name)(session)
            session.commit() if outcome else session.rollback()
            return outcome

        return step

    running = [actor.start(race(held[n], f"actor {n}")) for n, actor in enumerate(pair)]
    outcomes = [future.result(PATIENCE) for future in running]
    assert sorted(o.verdict for o in outcomes) == [Verdict.STALE, Verdict.WON]
    winner = 0 if outcomes[0] else 1
    assert (outcomes[1 - winner].actual or {})["record_version"] == 2
    row = _row(db, Device, key)
    assert (row.name, row.record_version) == (f"actor {winner}", 2)


def test_a_lock_that_is_not_granted_in_time(db: Engines, pair: list[Actor]) -> None:
    """Transient, with the truth about the transaction: an open one goes on, a dead one has lost its work."""
    early, late = pair
    key, other = _insert(db, Device(name="a"), Device(name="other"))
    first, second, aside = (
        actor.do(_load(Device, k)) for actor, k in ((early, key), (late, key), (late, other))
    )
    early.do(_save(first, "early"))
    limit = {
        "sqlite": "PRAGMA busy_timeout = 0",
        "postgres": "SET lock_timeout = '50ms'",
        "mariadb": "SET innodb_lock_wait_timeout = 0",
    }[_name(db)]
    late.ask(limit)
    if _name(db) != "sqlite":  # there the first write is what waits
        late.do(_save(aside, "before"))
    error = late.start(_save(second, "late")).exception(PATIENCE)
    assert isinstance(error, TransientConflict)
    assert error.transaction == ("dead" if _name(db) == "postgres" else "open")
    early.do(_rollback)
    if error.transaction == "dead":
        late.do(_rollback)
    assert late.do(_save(second, "late")).record_version == 2
    late.do(_commit)
    assert _row(db, Device, key).name == "late"
    assert _row(db, Device, other).name == ("before" if _name(db) == "mariadb" else "other")


@pytest.mark.parametrize("db", ["postgres"], indirect=True)
def test_in_autocommit_there_is_nothing_to_give_up(db: Engines, pair: list[Actor]) -> None:
    """A write to two tables is refused in its own transaction: what was set stays, the next attempt wins."""
    early, late = pair
    (key,) = _insert(db, Book(name="a"))
    first = early.do(_load(Book, key))
    early.do(_save(first, "early", pages=7))

    def alone(session: Session) -> Any:
        session.connection(execution_options={"isolation_level": "AUTOCOMMIT"})
        return session.get_one(Book, key)

    second = late.do(alone)
    late.ask("SET lock_timeout = '50ms'")
    assert isinstance(late.start(_save(second, "late", pages=8)).exception(PATIENCE), TransientConflict)
    assert (second.name, second.pages) == ("late", 8)
    early.do(_rollback)
    assert late.do(lambda session: second.save_if_current(session)).record_version == 2
    assert (_row(db, Book, key).name, _row(db, Book, key).pages) == ("late", 8)


@servers
@pytest.mark.parametrize("tables", [1, 2])
def test_a_deadlock(db: Engines, pair: list[Actor], tables: int) -> None:
    """One is sacrificed and told so, even if its savepoint is gone with it; the other has both rows."""
    model: type[Any] = Device if tables == 1 else Book
    pages = None if tables == 1 else 7
    keys = _insert(db, model(name="a"), model(name="a"))
    held = [[actor.do(_load(model, key)) for key in keys] for actor in pair]
    for n, actor in enumerate(pair):
        actor.do(_save(held[n][n], f"actor {n}", pages=pages))
    waiting = _blocks(pair[0], db, _save(held[0][1], "actor 0", pages=pages))
    running = [waiting, pair[1].start(_save(held[1][0], "actor 1", pages=pages))]
    errors = [future.exception(PATIENCE) for future in running]
    assert sorted(type(error).__name__ for error in errors) == ["NoneType", "TransientConflict"]
    victim = 0 if errors[0] else 1
    error = errors[victim]
    assert isinstance(error, TransientConflict)
    assert error.transaction == "dead"
    pair[1 - victim].do(_commit)
    rows = [_row(db, model, key) for key in keys]
    assert [(row.name, row.record_version) for row in rows] == [(f"actor {1 - victim}", 2)] * 2
    pair[victim].do(_rollback)
    pair[victim].do(lambda session: session.refresh(held[victim][0]))
    assert pair[victim].do(_save(held[victim][0], "again")).record_version == 3


@servers
@pytest.mark.parametrize("tables", [1, 2])
def test_a_connection_that_is_killed(db: Engines, pair: list[Actor], tables: int) -> None:
    """Nobody knows what became of the write, until it is settled; the session goes on with another one."""
    early, late = pair
    model: type[Any] = Device if tables == 1 else Book
    (key,) = _insert(db, model(name="a"))
    first, second = (actor.do(_load(model, key)) for actor in pair)
    early.do(_save(first, "early", pages=None if tables == 1 else 7))
    identity = _identity(late, db)
    waiting = _blocks(late, db, _save(second, "late", pages=None if tables == 1 else 8))
    kill = "SELECT pg_terminate_backend(%s)" if _name(db) == "postgres" else "KILL %s"
    _outside(db, kill % identity)
    error = waiting.exception(PATIENCE)
    assert isinstance(error, UnknownOutcome)
    assert error.in_transaction
    early.do(_commit)
    late.do(_rollback)
    assert late.ask("SELECT 1") == 1
    assert (_row(db, model, key).name, _row(db, model, key).record_version) == ("early", 2)


@servers
def test_a_killed_write_is_settled(db: Engines, pair: list[Actor]) -> None:
    """By the token in the row: the killed write of a transaction never was."""
    early, late = pair
    (key,) = _insert(db, Ticket(title="a"))
    first, second = (actor.do(_load(Ticket, key)) for actor in pair)

    def titled(obj: Any, title: str) -> Step:
        def step(session: Session) -> Outcome:
            obj.title = title
            outcome: Outcome = obj.save_if_current(session)
            return outcome

        return step

    early.do(titled(first, "early"))
    identity = _identity(late, db)
    waiting = _blocks(late, db, titled(second, "late"))
    kill = "SELECT pg_terminate_backend(%s)" if _name(db) == "postgres" else "KILL %s"
    _outside(db, kill % identity)
    error = waiting.exception(PATIENCE)
    assert isinstance(error, UnknownOutcome)
    early.do(_commit)
    assert settle(sessionmaker(db.sync), error).verdict is Verdict.STALE
    assert _row(db, Ticket, key).title == "early"
