"""What the session does around the verbs: commits, rollbacks, flushes, refreshes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, select, text, update
from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session
from sqlalchemy.orm import Session, scoped_session, sessionmaker
from sqlalchemy.orm.exc import StaleDataError

from cas_orm import (
    ConflictError,
    ErrRecordVersionConflict,
    Expect,
    InvalidExpectation,
    MissingExpectation,
    Superseded,
    Verdict,
)
from tests.sqla.databases import Engines
from tests.sqla.shop import Doc, Order


def _order(session: Session, **values: Any) -> Order:
    order = Order(**values)
    session.add(order)
    session.commit()
    return order


def _rival(engine: Engine, key: int, **columns: Any) -> None:
    """Write as a stranger does, from another connection."""
    with engine.begin() as connection:
        table = Order.__table__
        new = {"record_version": table.c.record_version + 1, **columns}
        connection.execute(update(table).where(table.c.id == key).values(**new))


@pytest.mark.parametrize("expire", [True, False])
@pytest.mark.parametrize("door", ["verb", "flush"])
def test_an_expired_version_is_not_compared_with_itself(db: Engines, expire: bool, door: str) -> None:
    """What a rival wrote after our commit refuses us, whether the commit expired the object or not."""
    with Session(db.sync, expire_on_commit=expire) as session:
        order = _order(session, title="a")
        key = order.id if not expire else session.scalars(select(Order.id)).one()
        session.commit()
        _rival(db.sync, key, title="theirs")
        order.title = "mine"
        if door == "verb":
            assert order.try_save_if_current(session).verdict is Verdict.STALE
        else:
            with pytest.raises(StaleDataError):
                session.flush()
        session.rollback()
    with Session(db.sync) as session:
        assert session.get_one(Order, key).title == "theirs"


@pytest.mark.parametrize("expire", [True, False])
def test_without_a_rival_the_same_is_accepted(db: Engines, expire: bool) -> None:
    """The accepted twin."""
    with Session(db.sync, expire_on_commit=expire) as session:
        order = _order(session, title="a")
        order.title = "mine"
        assert order.save_if_current(session).record_version == 2
        session.commit()
        order.title = "again"
        session.commit()
        order.title = "and again"
        assert order.save_if_current(session).record_version == 4
        session.commit()


REFUSALS = {
    "stale": ({}, {}, ErrRecordVersionConflict),
    "condition only": ({"state": "paid", "record_version": 1}, {"expect": Expect(state="new")}, Superseded),
}


@pytest.mark.parametrize(("columns", "options", "error"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_leaves_the_session_usable(
    db: Engines, columns: dict[str, Any], options: dict[str, Any], error: type[ConflictError]
) -> None:
    """Attributes stay as set; every kind of flush raises the same error; the rest goes on."""
    with Session(db.sync) as session:
        order, other = _order(session, title="a", state="new"), _order(session, title="b")
        key, other_key = order.id, other.id
        session.commit()
        assert (order.title, other.title) == ("a", "b")
        _rival(db.sync, key, **columns)
        order.title = "mine"
        assert not order.try_save_if_current(session, **options)
        assert (order.title, order.record_version) == ("mine", 1)
        for use in (session.flush, session.commit, lambda: session.scalars(select(Doc)).all()):
            with pytest.raises(error) as caught:
                use()
            assert caught.value.fenced
        assert session.is_active
        with session.no_autoflush:
            assert other.save_if_current(session).verdict is Verdict.WON
        session.refresh(order, with_for_update=True)  # MariaDB's snapshot is older than the rival's write
        assert order.title == "a"
        order.title = "healed"
        assert order.save_if_current(session)
        session.commit()
        assert (session.get_one(Order, other_key).record_version, order.title) == (2, "healed")


def test_a_refusal_on_an_async_session(db: Engines) -> None:
    """The same in a greenlet: no MissingGreenlet, no PendingRollbackError."""

    async def run() -> None:
        async with AsyncSession(db.asynchronous, expire_on_commit=False) as session:
            order = Order(title="a")
            session.add(order)
            await session.commit()
            _rival(db.sync, order.id)
            order.title = "mine"
            assert not await order.atry_save_if_current(session)
            assert (order.title, order.record_version, order.n) == ("mine", 1, 0)
            for use in (session.flush, session.commit):
                with pytest.raises(ErrRecordVersionConflict):
                    await use()
            await session.refresh(order)
            order.title = "healed"
            assert (await order.asave_if_current(session)).record_version == 3
            assert (order.title, order.n) == ("healed", 0)
            await session.commit()

    asyncio.run(run())


def test_the_wrong_kind_of_session(db: Engines) -> None:
    """A TypeError, from both sides."""

    async def run(order: Order) -> None:
        async with AsyncSession(db.asynchronous) as session:
            with pytest.raises(TypeError, match="Session is needed"):
                order.save_if_current(session)  # type: ignore[arg-type]

    with Session(db.sync) as session:
        order = _order(session)
        with pytest.raises(TypeError, match="AsyncSession"):
            asyncio.run(order.asave_if_current(session))  # type: ignore[arg-type]
    asyncio.run(run(order))


def test_scoped_sessions(db: Engines) -> None:
    """Both kinds are unwrapped."""
    scoped = scoped_session(sessionmaker(db.sync))
    order = Order()
    scoped.add(order)
    scoped.commit()
    assert order.save_if_current(scoped).record_version == 2  # type: ignore[arg-type]
    scoped.commit()
    scoped.remove()

    async def run() -> None:
        registry = async_scoped_session(lambda: AsyncSession(db.asynchronous), asyncio.current_task)
        found = (await registry.scalars(select(Order))).one()
        assert (await found.asave_if_current(registry)).record_version == 3  # type: ignore[arg-type]
        await registry.commit()
        await registry.remove()

    asyncio.run(run())


def test_objects_without_a_row(db: Engines) -> None:
    """Transient and pending objects have nothing to compare; a detached one has, a deleted one is missing."""
    with Session(db.sync) as session:
        order = Order()
        with pytest.raises(MissingExpectation):
            order.save_if_current(session)
        session.add(order)
        with session.no_autoflush, pytest.raises(MissingExpectation):
            order.save_if_current(session)
        session.commit()
        assert order.n == 0
        session.expunge(order)
        order.n = 1
        assert order.save_if_current(session).record_version == 2
        assert order.n == 1
        session.add(order)
        session.commit()
        order.delete_if_current(session)
        assert order.try_save_if_current(session).verdict is Verdict.MISSING
        session.commit()


def test_another_sessions_object_is_refused(db: Engines) -> None:
    """Its changes belong to the other transaction."""
    with Session(db.sync) as session, Session(db.sync) as other:
        order = _order(session)
        with pytest.raises(InvalidExpectation, match="another session"):
            order.save_if_current(other)


@pytest.mark.parametrize("name", ["record_version", "run_seq"])
def test_assigning_a_number_is_refused(db: Engines, name: str) -> None:
    """A client's payload cannot set the version; neither the verb nor the flush takes it."""
    with Session(db.sync) as session:
        order = _order(session)
        assert order.n == 0
        setattr(order, name, 7)
        with pytest.raises(InvalidExpectation):
            order.try_save_if_current(session)
        with pytest.raises(InvalidExpectation):
            session.flush()
        session.refresh(order)
        assert order.save_if_current(session)


def test_a_rolled_back_flush_puts_the_version_back(db: Engines) -> None:
    """Whole transaction and savepoint alike."""
    with Session(db.sync) as session:
        order = _order(session)
        order.n = 1
        session.flush()
        session.rollback()
        assert order.save_if_current(session).expected["record_version"] == 1
        session.commit()
        if db.sync.dialect.name == "sqlite":
            session.execute(text("BEGIN"))
        with session.begin_nested() as savepoint:
            order.n = 2
            session.flush()
            savepoint.rollback()
        assert order.save_if_current(session).expected["record_version"] == 2
        session.commit()


def test_a_closed_session_has_rolled_back(db: Engines) -> None:
    """The object that outlives it believes what was committed."""
    with Session(db.sync) as session:
        order = _order(session)
        assert order.n == 0
        order.save_if_current(session)
    with Session(db.sync) as session:
        assert order.save_if_current(session).expected["record_version"] == 1
        session.rollback()


def test_a_rolled_back_delete_is_undone_in_memory(db: Engines) -> None:
    """The object is in its session again, and a new transaction may begin."""
    with Session(db.sync) as session:
        order = _order(session)
        assert order.delete_if_current(session).provisional
        session.rollback()
        assert order in session
        assert not session.in_transaction()
        with session.begin():
            assert order.save_if_current(session).record_version == 2


@pytest.mark.parametrize("where", ["engine", "option"])
def test_in_autocommit_a_win_is_final(db: Engines, where: str) -> None:
    """Told at once, not provisional, and kept by a rollback of the session."""
    if where == "engine":
        options: dict[str, Any] = {"isolation_level": "AUTOCOMMIT"}
        engine = create_engine(db.sync.url, **options)
    else:
        engine = db.sync.execution_options(isolation_level="AUTOCOMMIT")
    told: list[int | None] = []
    with Session(engine) as session:
        order = _order(session)
        outcome = order.save_if_current(session, on_won=lambda o: told.append(o.record_version))
        assert (outcome.provisional, told) == (False, [2])
        order.n = 5
        session.flush()
        session.rollback()
        assert order.save_if_current(session).expected["record_version"] == 3
    if where == "engine":
        engine.dispose()


def test_a_save_flushes_nothing_else(db: Engines) -> None:
    """Other dirty objects, and new ones, wait for their own flush."""
    with Session(db.sync) as session:
        order, other = _order(session), _order(session)
        assert (order.n, other.n) == (0, 0)
        order.n = other.n = 1
        session.add(Order())
        order.save_if_current(session)
        assert other in session.dirty
        assert len(session.new) == 1
        session.commit()
        assert (order.record_version, other.record_version) == (2, 2)
