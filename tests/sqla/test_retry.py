"""SQLAlchemy: a retry makes a session per attempt, owns its transaction, and looks at the present."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event, insert, inspect, select, text
from sqlalchemy.exc import IntegrityError, InvalidRequestError, OperationalError
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker
from sqlalchemy.orm import Session, scoped_session, sessionmaker
from sqlalchemy.orm.exc import StaleDataError

from cas_orm import (
    CannotRetryHere,
    ConflictError,
    ErrRecordVersionConflict,
    Expect,
    MissingExpectation,
    Outcome,
    RecordMissing,
    RetriesExhausted,
    RetryPolicy,
    Superseded,
    TransientConflict,
    UnknownOutcome,
    Verdict,
)
from cas_orm_sqla import CasSession, aretry_on_conflict, guard, retry_on_conflict
from tests.sqla.databases import Engines
from tests.sqla.shop import Base, Customer, Doc, Order

AT_ONCE = RetryPolicy(delays=[0], max_retries=4, jitter="none")
Form = Callable[..., Any]


def plain(db: Engines, fn: Callable[[Session], Any], policy: RetryPolicy = AT_ONCE, **options: Any) -> Any:
    """Retry with a sessionmaker."""
    return retry_on_conflict(sessionmaker(db.sync, **options), fn, policy)


def awaited(db: Engines, fn: Callable[[Session], Any], policy: RetryPolicy = AT_ONCE, **options: Any) -> Any:
    """Retry with an async_sessionmaker; the function runs in the session's greenlet."""

    async def work(session: AsyncSession) -> Any:
        return await session.run_sync(fn)

    return asyncio.run(aretry_on_conflict(async_sessionmaker(db.asynchronous, **options), work, policy))


@pytest.fixture(params=[plain, awaited], ids=lambda form: form.__name__)
def form(request: pytest.FixtureRequest) -> Form:
    """Yield both ways to retry."""
    return request.param  # type: ignore[no-any-return]


def losing(times: int, error: Callable[[], BaseException], log: list[int]) -> Callable[[Session], int]:
    """Return a function that writes a row and fails, so many times, then writes it and returns."""

    def work(session: Session) -> int:
        log.append(len(log) + 1)
        session.add(Customer(name=f"attempt {len(log)}"))
        session.flush()
        if len(log) <= times:
            raise error()
        return len(log)

    return work


def names(db: Engines) -> list[str]:
    """Return what is stored."""
    with db.sync.connect() as connection:
        return sorted(connection.scalars(select(Customer.name)))


def stored(db: Engines, model: type[Any] = Order) -> Any:
    """Return the one row."""
    with Session(db.sync, expire_on_commit=False) as session:
        return session.scalars(select(model)).one()


def new_order(db: Engines, **columns: Any) -> int:
    """Store an order."""
    with Session(db.sync) as session:
        order = Order(**columns)
        session.add(order)
        session.commit()
        return order.id


@contextmanager
def counted(engine: Engine) -> Iterator[list[str]]:
    """Yield the statements that are sent meanwhile."""
    sent: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(engine, "before_cursor_execute", note)


def transient() -> TransientConflict:
    return TransientConflict("dead", transaction="dead")


RETRIED = [
    lambda: ErrRecordVersionConflict("stale"),
    transient,
    lambda: ConflictError("undiagnosed"),
    lambda: StaleDataError("a flush of a plain session"),
]
PASSED_ON = [
    lambda: Superseded("decided"),
    lambda: RecordMissing("gone"),
    lambda: ErrRecordVersionConflict("fenced", fenced=True),
    lambda: MissingExpectation("no version"),
    lambda: UnknownOutcome("lost"),
    lambda: OperationalError("UPDATE", {}, Exception("the connection is lost, and the error has no code")),
    lambda: IntegrityError("INSERT", {}, Exception("duplicate")),
    lambda: ZeroDivisionError("a bug"),
]


@pytest.mark.parametrize("error", RETRIED)
def test_a_lost_attempt_is_undone_and_made_again(db: Engines, form: Form, error: Any) -> None:
    """Two attempts lose; nothing that they wrote is left, the third is committed."""
    log: list[int] = []
    assert form(db, losing(2, error, log)) == 3
    assert log == [1, 2, 3]
    assert names(db) == ["attempt 3"]


@pytest.mark.parametrize("error", PASSED_ON)
def test_what_is_not_retried(db: Engines, form: Form, error: Any) -> None:
    """One attempt, undone; its error passes unchanged."""
    log: list[int] = []
    raised = error()
    with pytest.raises(type(raised)) as passed:
        form(db, losing(9, lambda: raised, log))
    assert passed.value is raised
    assert log == [1]
    assert names(db) == []


def test_giving_up(db: Engines, form: Form) -> None:
    """The error has attempts, waits, the last conflict and its cause; no partial write is left."""
    log: list[int] = []
    policy = RetryPolicy(delays=[0, 0.001], jitter="none", max_retries=3)
    with pytest.raises(RetriesExhausted) as gave_up:
        form(db, losing(99, RETRIED[0], log), policy)
    error = gave_up.value
    assert (error.attempts, error.waited) == (4, pytest.approx(0.002))
    assert isinstance(error.last, ErrRecordVersionConflict)
    assert error.__cause__ is error.last
    assert names(db) == []


def test_a_stale_flush_of_a_plain_session_as_the_last_conflict(db: Engines, form: Form) -> None:
    """`last` is a ConflictError and a StaleDataError, caused by SQLAlchemy's own."""
    with pytest.raises(RetriesExhausted) as gave_up:
        form(db, losing(99, RETRIED[3], []))
    last = gave_up.value.last
    assert isinstance(last, ConflictError)
    assert isinstance(last, StaleDataError)
    assert last.verdict is Verdict.UNDIAGNOSED
    assert type(last.__cause__) is StaleDataError


def test_the_timeout(db: Engines, form: Form) -> None:
    """A wait that would pass the deadline is not begun."""
    policy = RetryPolicy(delays=[0, 60], jitter="none", timeout=30)
    began = time.monotonic()
    with pytest.raises(RetriesExhausted, match="30 seconds are over") as gave_up:
        form(db, losing(99, RETRIED[0], []), policy)
    assert time.monotonic() - began < 20
    assert (gave_up.value.attempts, gave_up.value.waited) == (2, 0)


def rival_once(session: Session, log: list[int]) -> None:
    """Write behind the session's back, in its own transaction, at the first attempt; undone with it."""
    if len(log) == 1:
        session.connection().execute(Order.__table__.update().values(n=10, record_version=2))


def test_a_real_conflict(db: Engines, form: Form) -> None:
    """The second attempt sees the present: attempts are counted, and the win is final."""
    key = new_order(db, n=1)
    seen: list[int] = []

    def add(session: Session) -> Outcome:
        order = session.get_one(Order, key)
        seen.append(order.record_version)
        rival_once(session, seen)
        order.n += 1
        return order.save_if_current(session)

    outcome = form(db, add)
    assert (outcome.verdict, outcome.record_version) == (Verdict.WON, 2)
    assert (outcome.attempts, outcome.provisional, seen) == (2, False, [1, 1])
    assert stored(db).n == 2


@pytest.mark.parametrize("class_", [Session, CasSession])
def test_a_real_stale_flush(db: Engines, class_: type[Session]) -> None:
    """A flush at the commit counts as a conflict, judged or raw."""
    key = new_order(db)
    seen: list[int] = []

    def add(session: Session) -> None:
        order = session.get_one(Order, key)
        seen.append(order.record_version)
        rival_once(session, seen)
        order.n += 1

    plain(db, add, class_=class_)
    assert seen == [1, 1]
    assert (stored(db).n, stored(db).record_version) == (1, 2)


def test_a_flush_that_finds_no_row_is_not_retried(db: Engines) -> None:
    """A session that judges says which it was."""
    key = new_order(db)
    calls: list[int] = []

    def add(session: Session) -> None:
        calls.append(1)
        order = session.get_one(Order, key)
        if db.sync.dialect.name == "sqlite":
            session.connection().execute(Order.__table__.delete())  # a second connection sees it there still
        else:
            with db.sync.begin() as other:
                other.execute(Order.__table__.delete())
        order.n += 1

    retried = db.sync.dialect.name == "sqlite"
    with pytest.raises(RetriesExhausted if retried else RecordMissing):
        retry_on_conflict(guard(sessionmaker(db.sync)), add, AT_ONCE)
    assert len(calls) == (5 if retried else 1)


def test_superseded_for_real(db: Engines, form: Form) -> None:
    """A believed column has changed: one attempt."""
    key = new_order(db, state="done")
    calls: list[int] = []

    def pack(session: Session) -> Outcome:
        calls.append(1)
        order = session.get_one(Order, key)
        return order.update_if_current(session, expect=Expect(state="new"), set={"state": "packed"})

    with pytest.raises(Superseded):
        form(db, pack)
    assert calls == [1]


def test_a_losing_outcome_that_is_returned(db: Engines, form: Form) -> None:
    """try_ hands the decision to the caller: it is returned, not retried, and the rest is committed."""
    key = new_order(db)

    def give_in(session: Session) -> Outcome:
        session.add(Customer(name="kept"))
        order = session.get_one(Order, key)
        return order.try_save_if_current(session, expect=Expect(record_version=99))

    outcome = form(db, give_in)
    assert (outcome.verdict, outcome.attempts) == (Verdict.STALE, 1)
    assert names(db) == ["kept"]


def test_hooks_run_once_and_after_the_commit(db: Engines, form: Form) -> None:
    """on_won sees the committed row, and that of a lost attempt never runs."""
    key = new_order(db)
    told: list[tuple[Verdict, bool, int]] = []
    calls: list[int] = []

    def hook(outcome: Outcome) -> None:
        told.append((outcome.verdict, outcome.provisional, stored(db).n))

    def work(session: Session) -> None:
        calls.append(1)
        order = session.get_one(Order, key)
        order.n = len(calls)
        order.save_if_current(session, on_won=hook)
        if len(calls) == 1:
            raise transient()

    form(db, work)
    assert told == [(Verdict.WON, False, 2)]


def test_a_hook_that_fails_does_not_make_the_work_happen_twice(db: Engines, form: Form) -> None:
    """After the commit even a conflict is only an error of the hook."""
    key = new_order(db)
    for error in (
        ErrRecordVersionConflict("from a hook"),
        OperationalError("from a hook", {}, Exception()),
        StaleDataError("from a hook"),
    ):
        calls: list[int] = []

        def hook(outcome: Outcome, error: Exception = error) -> None:
            raise error

        def work(session: Session, calls: list[int] = calls, hook: Any = hook) -> None:
            calls.append(1)
            session.get_one(Order, key).update_if_current(
                session, expect=Expect(state="new"), set={"n": Order.n + 1}, on_won=hook
            )

        with pytest.raises(type(error), match="from a hook"):
            form(db, work)
        assert calls == [1]
    assert stored(db).n == 3


def test_a_session_that_is_in_a_transaction(db: Engines) -> None:
    """Refused before any SQL, and the outer session goes on, with its objects and its transaction."""
    key = new_order(db)
    log: list[int] = []
    with Session(db.sync) as outer:
        order = outer.get_one(Order, key)
        order.n = 5
        with counted(db.sync) as sent, pytest.raises(CannotRetryHere):
            retry_on_conflict(lambda: outer, losing(0, transient, log), AT_ONCE)
        assert sent == []
        assert order in outer
        outer.commit()
    assert log == []
    assert (stored(db).n, names(db)) == (5, [])


def test_a_scoped_session(db: Engines) -> None:
    """A registry is a factory while its session is free, and none while it is in a transaction."""
    registry = scoped_session(sessionmaker(db.sync))
    assert retry_on_conflict(registry, losing(1, transient, [])) == 2
    registry.add(Customer(name="pending"))
    with pytest.raises(CannotRetryHere):
        retry_on_conflict(registry, losing(0, transient, []))
    registry.commit()
    registry.remove()
    assert names(db) == ["attempt 2", "pending"]


@pytest.mark.parametrize(
    "mode", ["conditional_savepoint", "create_savepoint", "rollback_only", "control_fully"]
)
@pytest.mark.parametrize("mapped", [False, True], ids=["bind", "binds"])
def test_a_session_on_a_connection_in_a_transaction(db: Engines, mode: Any, mapped: bool) -> None:
    """However the session would join it, that transaction is somebody else's."""
    log: list[int] = []
    with db.sync.connect() as connection:
        bind: dict[str, Any] = {"binds": {Base: connection}} if mapped else {"bind": connection}
        factory = sessionmaker(join_transaction_mode=mode, **bind)
        connection.execute(insert(Customer).values(name="outer"))
        with counted(db.sync) as sent, pytest.raises(CannotRetryHere):
            retry_on_conflict(factory, losing(0, transient, log), AT_ONCE)
        assert (sent, log) == ([], [])
        connection.commit()
        assert retry_on_conflict(factory, losing(1, transient, log), AT_ONCE) == 2
    assert names(db) == ["attempt 2", "outer"]


async def test_an_async_session_that_is_in_a_transaction(db: Engines) -> None:
    """The same for AsyncSession, and for an AsyncConnection."""
    log: list[int] = []

    async def work(session: AsyncSession) -> int:
        return await session.run_sync(losing(0, transient, log))

    async with AsyncSession(db.asynchronous) as outer:
        await outer.execute(select(Customer))
        with pytest.raises(CannotRetryHere):
            await aretry_on_conflict(lambda: outer, work)
        await outer.commit()
    async with db.asynchronous.connect() as connection:
        await connection.execute(select(Customer))
        with pytest.raises(CannotRetryHere):
            await aretry_on_conflict(async_sessionmaker(connection), work)
    assert log == []


def test_autocommit_is_refused(db: Engines, form: Form) -> None:
    """There an attempt could not be undone; nothing of the function's is sent."""
    committing = Engines(
        db.sync.execution_options(isolation_level="AUTOCOMMIT"),
        db.asynchronous.execution_options(isolation_level="AUTOCOMMIT"),
    )
    with pytest.raises(CannotRetryHere, match="AUTOCOMMIT"):
        form(committing, losing(0, transient, []))
    assert names(db) == []


def test_every_attempt_has_a_session_of_its_own(db: Engines) -> None:
    """Nothing loaded by a lost attempt is seen by the next one; each session is closed."""
    sessions: list[Session] = []
    held: list[Order] = []
    key = new_order(db)

    def work(session: Session) -> None:
        sessions.append(session)
        assert not session.identity_map.values()
        held.append(session.get_one(Order, key))
        if len(sessions) < 3:
            raise transient()

    plain(db, work)
    assert len({id(s) for s in sessions}) == 3
    assert not any(s.in_transaction() or list(s.identity_map.values()) for s in sessions)
    assert len({id(o) for o in held}) == 3


@pytest.mark.parametrize("keep", [True, False], ids=["keep", "expire"])
def test_what_the_function_returns(db: Engines, form: Form, keep: bool) -> None:
    """Its objects go on in another session with their version; what they have loaded is expired, or kept."""
    key = new_order(db)

    def work(session: Session) -> Order:
        order = session.get_one(Order, key)
        order.n = 4
        order.save_if_current(session)
        return order

    order = form(db, work, expire_on_commit=not keep)
    assert inspect(order).detached
    assert ("n" in inspect(order).unloaded) is not keep
    with Session(db.sync) as session:
        session.add(order)
        assert (order.n, order.record_version) == (4, 2)
        order.n = 5
        assert order.save_if_current(session).record_version == 3
        session.commit()


def test_a_function_that_commits(db: Engines, form: Form) -> None:
    """Committing at the end is harmless; going on after it is refused, so that nothing happens twice."""

    def commits(session: Session) -> str:
        session.add(Customer(name="a"))
        session.commit()
        return "done"

    def goes_on(session: Session) -> None:
        commits(session)
        session.add(Customer(name="b"))
        session.flush()

    assert form(db, commits) == "done"
    with pytest.raises(InvalidRequestError):
        form(db, goes_on)
    assert names(db) == ["a", "a"]


def test_a_conflict_after_the_functions_own_commit(db: Engines, form: Form) -> None:
    """What is stored is not done again."""
    calls: list[int] = []

    def work(session: Session) -> None:
        calls.append(1)
        session.add(Customer(name="a"))
        session.commit()
        raise transient()

    with pytest.raises(TransientConflict):
        form(db, work)
    assert (calls, names(db)) == ([1], ["a"])


def test_savepoints_in_the_function(db: Engines, form: Form) -> None:
    """A released savepoint is not the commit: what fails after it is undone and made again."""
    calls: list[int] = []

    def work(session: Session) -> None:
        calls.append(1)
        with session.begin_nested():
            session.add(Customer(name=f"attempt {len(calls)}"))
        if len(calls) == 1:
            raise transient()

    form(db, work)
    assert names(db) == ["attempt 2"]


def test_waits_are_outside_any_transaction(db: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is kept waiting by a writer who waits: the session is closed and the connection given back."""
    slept: list[float] = []
    sessions: list[Session] = []
    factory = sessionmaker(db.sync)

    def making() -> Session:
        sessions.append(factory())
        return sessions[-1]

    def sleep(seconds: float) -> None:
        assert not sessions[-1].in_transaction()
        assert db.sync.pool.checkedout() == 0  # type: ignore[attr-defined]
        slept.append(seconds)

    monkeypatch.setattr(time, "sleep", sleep)
    retry_on_conflict(making, losing(2, transient, []), RetryPolicy(delays=[0.25, 0.5], jitter="none"))
    assert slept == [0.25, 0.5]


class FromDriver(Exception):
    """Looks like a driver's error to the table of codes."""

    sqlstate = "40P01"
    sqlite_errorcode = 517


def deadlock() -> OperationalError:
    return OperationalError("SELECT", {}, FromDriver(1213, "deadlock"))


def test_an_engine_error_of_any_statement(db: Engines, form: Form) -> None:
    """A deadlock error is retried, whoever's statement it was; `last` keeps it as the cause."""
    assert form(db, losing(1, deadlock, [])) == 2
    with pytest.raises(RetriesExhausted) as gave_up:
        form(db, losing(99, deadlock, []))
    last = gave_up.value.last
    assert isinstance(last, TransientConflict)
    assert last.transaction == "dead"
    assert isinstance(last.__cause__, OperationalError)


def test_an_engine_error_at_the_commit(db: Engines, form: Form) -> None:
    """COMMIT may be refused as well (write skew, a cluster): the attempt is made again, once it is undone."""
    refusals = [deadlock()]

    def refuse(connection: Any) -> None:
        if refusals:
            raise refusals.pop()

    log: list[int] = []
    event.listen(db.sync, "commit", refuse)
    event.listen(db.asynchronous.sync_engine, "commit", refuse)
    try:
        assert form(db, losing(0, transient, log)) == 2
    finally:
        event.remove(db.sync, "commit", refuse)
        event.remove(db.asynchronous.sync_engine, "commit", refuse)
    assert names(db) == ["attempt 2"]


def test_a_savepoint_of_the_callers_survives_on_postgresql(db: Engines, form: Form) -> None:
    """Whoever handles the refusal outside of it goes on there; elsewhere the whole transaction is gone."""
    key = new_order(db)
    calls: list[int] = []
    refusals = [deadlock()]

    def refuse(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("UPDATE") and refusals:
            raise refusals.pop()

    def work(session: Session) -> int:
        calls.append(1)
        session.add(Customer(name="a"))
        order = session.get_one(Order, key)
        session.flush()
        try:
            with session.begin_nested():
                order.save_if_current(session)
        except TransientConflict:
            pass
        return len(calls)

    doors = (db.sync, db.asynchronous.sync_engine)
    for door in doors:
        event.listen(door, "before_cursor_execute", refuse)
    try:
        assert form(db, work) == (1 if db.sync.dialect.name == "postgresql" else 2)
    finally:
        for door in doors:
            event.remove(door, "before_cursor_execute", refuse)
    assert names(db) == ["a"]


def test_a_swallowed_dead_transaction_is_no_success(db: Engines, form: Form) -> None:
    """The library has rolled back: the function's result would claim what is not stored."""
    key = new_order(db)
    calls: list[int] = []
    refusals = [deadlock()]

    def refuse(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("UPDATE") and refusals:
            raise refusals.pop()

    def work(session: Session) -> int:
        calls.append(1)
        session.add(Customer(name="a"))
        order = session.get_one(Order, key)
        session.flush()
        try:
            order.save_if_current(session)
        except TransientConflict:
            pass
        return len(calls)

    doors = (db.sync, db.asynchronous.sync_engine)
    for door in doors:
        event.listen(door, "before_cursor_execute", refuse)
    try:
        assert form(db, work) == 2
    finally:
        for door in doors:
            event.remove(door, "before_cursor_execute", refuse)
    assert names(db) == ["a"]


async def _async(session: Any = None) -> None: ...


class AsyncCall:
    async def __call__(self, session: Any) -> None: ...


def _generator(session: Any) -> Any:
    yield


@pytest.mark.parametrize("fn", [_async, AsyncCall(), functools.partial(_async), _generator, 7, None])
def test_what_cannot_be_retried(fn: Any) -> None:
    """An async def is refused before a session is made."""

    def never() -> Session:
        raise AssertionError

    with pytest.raises(TypeError):
        retry_on_conflict(never, fn)


def test_a_coroutine_as_the_result_is_refused(db: Engines) -> None:
    """The work would be done after the commit: the transaction is undone."""

    def work(session: Session) -> Any:
        session.add(Customer(name="a"))
        session.flush()
        return _async()

    with pytest.raises(TypeError):
        plain(db, work)
    assert names(db) == []


@pytest.mark.parametrize("fn", [lambda session: 7, lambda session: None, 7, None])
async def test_what_cannot_be_awaited(db: Engines, fn: Any) -> None:
    """The asynchronous form needs a function whose result can be awaited; a lambda around one will do."""
    factory = async_sessionmaker(db.asynchronous)
    with pytest.raises(TypeError):
        await aretry_on_conflict(factory, fn)
    assert await aretry_on_conflict(factory, lambda session: _async(session)) is None


async def test_the_wrong_kind_of_factory(db: Engines) -> None:
    """A factory of the other kind, a session instead of a factory, something else."""
    for wrong in (async_sessionmaker(db.asynchronous), Session(db.sync), lambda: None, db.sync, None):
        with pytest.raises(TypeError):
            retry_on_conflict(wrong, lambda session: None)  # type: ignore[arg-type]
    for wrong in (sessionmaker(db.sync), AsyncSession(db.asynchronous), lambda: None, None):
        with pytest.raises(TypeError):
            await aretry_on_conflict(wrong, _async)  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", [3, "full", object()])
async def test_no_policy(db: Engines, policy: Any) -> None:
    """A policy is a RetryPolicy."""
    with pytest.raises(TypeError, match="RetryPolicy"):
        retry_on_conflict(sessionmaker(db.sync), lambda session: None, policy)
    with pytest.raises(TypeError, match="RetryPolicy"):
        await aretry_on_conflict(async_sessionmaker(db.asynchronous), _async, policy)


async def test_a_cancelled_wait_is_an_ordinary_cancelled_error(
    db: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is in flight between two attempts, so there is nothing to settle."""
    log: list[int] = []
    waiting, sleep = asyncio.Event(), asyncio.sleep

    async def noted(seconds: float) -> None:
        if seconds == 600:
            waiting.set()
        await sleep(seconds)

    async def work(session: AsyncSession) -> None:
        await session.run_sync(losing(99, transient, log))

    monkeypatch.setattr(asyncio, "sleep", noted)

    policy = RetryPolicy(delays=[600], jitter="none")
    task = asyncio.create_task(aretry_on_conflict(async_sessionmaker(db.asynchronous), work, policy))
    await asyncio.wait_for(waiting.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as cancelled:
        await task
    assert not hasattr(cancelled.value, "cas_unknown")
    assert log == [1]
    assert names(db) == []


async def test_a_cancelled_attempt_is_undone(db: Engines) -> None:
    """A cancelled await inside the function stays a CancelledError; nothing is stored."""

    async def work(session: AsyncSession) -> None:
        session.add(Customer(name="a"))
        await session.flush()
        await asyncio.sleep(600)

    factory = async_sessionmaker(db.asynchronous)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await aretry_on_conflict(factory, work)
    assert names(db) == []


def test_sqlite_begins_immediate() -> None:
    """The write lock is taken before the first read, whatever the engine's own way of beginning."""
    recipe = create_engine("sqlite://")

    def switch_off(connection: Any, record: Any) -> None:
        connection.isolation_level = None

    event.listen(recipe, "connect", switch_off)
    event.listen(recipe, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    for engine in (create_engine("sqlite://"), recipe):
        Base.metadata.create_all(engine)
        with counted(engine) as sent:
            retry_on_conflict(sessionmaker(engine), lambda session: session.scalars(select(Doc)).all())
        assert sent[-2] == "BEGIN IMMEDIATE"
        assert sent[-1].startswith("SELECT")
        engine.dispose()


def test_the_listeners_are_taken_off(db: Engines) -> None:
    """A session that a registry keeps is as it was: its own transactions begin as ever."""
    registry = scoped_session(sessionmaker(db.sync))
    retry_on_conflict(registry, losing(1, transient, []))
    with counted(db.sync) as sent:
        registry.execute(text("SELECT 1"))
        registry.commit()
    registry.remove()
    assert sent == ["SELECT 1"]


def test_settings_of_other_databases(db: Engines, tmp_path: Any) -> None:
    """A session with two engines: each error is classed by whichever of them it can belong to."""
    other = create_engine(f"sqlite:///{tmp_path}/other.sqlite3")
    Base.metadata.create_all(other)
    factory = sessionmaker(binds={Order: db.sync, Customer: other})
    calls: list[int] = []

    def work(session: Session) -> int:
        calls.append(1)
        session.scalars(select(Order)).all()
        session.scalars(select(Customer)).all()
        if len(calls) == 1:
            raise deadlock()
        return len(calls)

    assert retry_on_conflict(factory, work, AT_ONCE) == 2
    other.dispose()
