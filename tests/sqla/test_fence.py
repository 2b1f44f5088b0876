"""A refused object on a bare session: every way to flush it raises the same error, and a refresh heals."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from cas_orm import ConflictError, ErrRecordVersionConflict, Expect, Superseded
from tests.sqla.databases import Engines
from tests.sqla.rivals import bump
from tests.sqla.shop import Doc, Order

#: does a rival write, what the verb believes besides, what it raises; "condition": the version is current
REFUSALS = {
    "version": (True, {}, ErrRecordVersionConflict),
    "condition": (False, {"expect": Expect(state="paid")}, Superseded),
}
refusals = pytest.mark.parametrize(("rival", "options", "error"), REFUSALS.values(), ids=REFUSALS)
expires = pytest.mark.parametrize("expire", [True, False], ids=["expires", "keeps"])


def _stored(db: Engines, **values: Any) -> int:
    with Session(db.sync) as session:
        order = Order(**values)
        session.add(order)
        session.commit()
        return order.id


FLUSHES = {
    "flush": lambda session: session.flush(),
    "commit": lambda session: session.commit(),
    "autoflush": lambda session: session.scalars(select(Doc)).all(),
    "begin_nested": lambda session: session.begin_nested(),
    "close the block": lambda session: session.get(Doc, 1) or session.commit(),
}


@refusals
@pytest.mark.parametrize("flush", FLUSHES)
@expires
def test_no_flush_writes_what_was_refused(
    db: Engines,
    rival: bool,
    options: dict[str, Any],
    error: type[ConflictError],
    flush: str,
    expire: bool,
) -> None:
    """The same typed error, as often as it is tried, and nothing of the transaction is lost."""
    key = _stored(db, title="a", state="new")
    with Session(db.sync, expire_on_commit=expire) as session:
        order = session.get_one(Order, key)
        session.commit()
        if rival:
            bump(db, Order, key)
        order.title = "mine"
        assert not order.try_save_if_current(session, **options)
        for _ in range(2):
            with pytest.raises(error) as caught:
                FLUSHES[flush](session)
            assert caught.value.fenced
            assert session.is_active
            assert order.title == "mine"
        session.commit() if not session.in_transaction() else session.rollback()
        session.refresh(order)
        assert order.title == "a"
        order.title = "healed"
        FLUSHES[flush](session)
        session.commit()
        assert session.get_one(Order, key).title == "healed"


@refusals
@expires
@pytest.mark.parametrize("driver", ["", "asyncpg"], ids=["default", "asyncpg"])
def test_on_an_async_session(
    db: Engines, rival: bool, options: dict[str, Any], error: type[ConflictError], expire: bool, driver: str
) -> None:
    """Attributes are readable without IO, the session goes on: no MissingGreenlet, nothing to roll back."""
    if driver and (db.sync.dialect.name != "postgresql" or find_spec(driver) is None):
        pytest.skip(f"not for {driver}")
    key = _stored(db, title="a", state="new")

    async def run() -> None:
        engine = db.asynchronous
        if driver:
            url = engine.url.set(drivername=f"postgresql+{driver}")
            engine = create_async_engine(url, poolclass=NullPool)
        async with AsyncSession(engine, expire_on_commit=expire) as session:
            order = await session.get_one(Order, key)
            await session.commit()
            if rival:
                bump(db, Order, key)
            order.title = "mine"
            assert not await order.atry_save_if_current(session, **options)
            assert order.title == "mine"
            for flush in (session.flush, session.commit, lambda: session.scalars(select(Doc))):
                with pytest.raises(error) as caught:
                    await flush()
                assert caught.value.fenced
                assert session.is_active
                assert order.title == "mine"
            await session.rollback()
            await session.refresh(order)
            assert (order.title, order.n) == ("a", 0)
            order.title = "healed"
            await session.commit()
            await session.refresh(order)
            assert (order.title, order.record_version) == ("healed", 3 if rival else 2)

    asyncio.run(run())
