"""`CasSession`, `AsyncCasSession` and `guard`: a stale flush says which object lost, and to what."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.orm.exc import StaleDataError

from cas_orm import ConflictError, ErrRecordVersionConflict, RecordMissing, Superseded, Verdict
from cas_orm_sqla import AsyncCasSession, CasSession, guard
from tests.sqla.databases import Engines
from tests.sqla.shop import Order

MOVES = {
    "stale": ("UPDATE {} SET record_version = 5 WHERE id = {}", ErrRecordVersionConflict, Verdict.STALE),
    "superseded": (
        "UPDATE {} SET record_version = 5, run_seq = 1 WHERE id = {}",
        Superseded,
        Verdict.SUPERSEDED,
    ),
    "missing": ("DELETE FROM {} WHERE id = {}", RecordMissing, Verdict.MISSING),
}


def _move(db: Engines, sql: str, key: int) -> None:
    table = db.sync.dialect.identifier_preparer.quote("order")
    with db.sync.begin() as connection:
        connection.execute(text(sql.format(table, key)))


def _two(session: Session) -> list[Order]:
    orders = [Order(title="a"), Order(title="b")]
    session.add_all(orders)
    session.commit()
    return orders


@pytest.mark.parametrize(("sql", "error", "verdict"), MOVES.values(), ids=MOVES)
def test_a_stale_flush_names_the_row(
    db: Engines, sql: str, error: type[ConflictError], verdict: Verdict
) -> None:
    """The right one of two, as the judged class and as SQLAlchemy's own."""
    with CasSession(db.sync) as session:
        winner, loser = _two(session)
        key = loser.id
        session.rollback()
        _move(db, sql, key)
        winner.n = loser.n = 1
        with pytest.raises(error) as caught:
            session.commit()
        refused: Any = caught.value
        assert isinstance(refused, StaleDataError)
        assert (refused.verdict, refused.key, refused.model, refused.fenced) == (verdict, key, "Order", False)
        assert dict(refused.expected) == {"record_version": 1, "run_seq": 0}
        assert "sqlalche.me" not in str(refused)
        assert str(pickle.loads(pickle.dumps(refused))) == str(refused)
        session.rollback()
        assert winner.save_if_current(session).record_version == 2
        if verdict is not Verdict.MISSING:
            session.refresh(loser)
            loser.n = 2
        session.commit()


def test_without_a_rival_nothing_is_raised(db: Engines) -> None:
    """The accepted twin."""
    with CasSession(db.sync) as session:
        first, second = _two(session)
        first.n = second.n = 1
        session.commit()
        assert (first.record_version, second.record_version) == (2, 2)


def test_no_free_connection(db: Engines) -> None:
    """A session on a connection of the caller's has no second one: the verdict stays open."""
    with db.sync.connect() as connection, CasSession(connection) as session:
        order = _two(session)[0]
        assert order.n == 0
        session.connection().execute(
            Order.__table__.update().where(Order.__table__.c.id == order.id).values(record_version=7)  # type: ignore[attr-defined]
        )
        order.n = 1
        with pytest.raises(ConflictError) as caught:
            session.flush()
        assert isinstance(caught.value, StaleDataError)
        assert caught.value.verdict is Verdict.UNDIAGNOSED
        session.rollback()


def test_a_stale_merge(db: Engines) -> None:
    """An older detached copy is refused by name; the session stays usable."""
    with CasSession(db.sync) as session:
        order = _two(session)[0]
        assert order.n == 0
        session.expunge(order)
        session.rollback()
        _move(db, MOVES["stale"][0], order.id)
        with pytest.raises(ErrRecordVersionConflict) as caught:
            session.merge(order)
        assert isinstance(caught.value, StaleDataError)
        assert caught.value.actual == {"record_version": 5, "run_seq": 0}
        assert session.is_active
        session.rollback()


def test_an_async_session_translates(db: Engines) -> None:
    """The same in a greenlet."""

    async def run() -> None:
        async with AsyncCasSession(db.asynchronous, expire_on_commit=False) as session:
            order = Order(title="a")
            session.add(order)
            await session.commit()
            _move(db, MOVES["stale"][0], order.id)
            order.n = 1
            with pytest.raises(ErrRecordVersionConflict) as caught:
                await session.commit()
            assert isinstance(caught.value, StaleDataError)
            assert caught.value.key == order.__dict__.get("id", caught.value.key)
            await session.rollback()
            await session.refresh(order)
            assert (await order.asave_if_current(session)).record_version == 6
            await session.commit()

    asyncio.run(run())


def test_guard_makes_a_new_factory(db: Engines) -> None:
    """Of the same kind, with the same options and events; the given one is untouched."""

    class Own(Session):
        """A session class of the user's."""

    plain = sessionmaker(db.sync, class_=Own, expire_on_commit=False, info={"a": 1})
    seen: list[str] = []
    event.listen(plain, "after_commit", lambda session: seen.append(type(session).__name__))
    guarded = guard(plain)
    with plain() as session:
        assert not isinstance(session, CasSession)
    with guarded() as session:
        assert isinstance(session, CasSession)
        assert isinstance(session, Own)
        assert (session.info["a"], session.expire_on_commit, session.get_bind()) == (1, False, db.sync)
        _two(session)
    assert len(seen) == 1

    async def run() -> None:
        asynchronous = async_sessionmaker(db.asynchronous, expire_on_commit=False)
        async with guard(asynchronous)() as session:
            assert isinstance(session, AsyncSession)
            assert isinstance(session.sync_session, CasSession)

    asyncio.run(run())
    with pytest.raises(TypeError):
        guard(Session)  # type: ignore[type-var]
