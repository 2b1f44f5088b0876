"""An await of a job's verb that is cancelled stays cancelled, and carries what settles it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker

from cas_orm import Outcome, UnknownOutcome, Verdict
from cas_orm_django import asettle as settle_on_django
from cas_orm_sqla import asettle as settle_on_sqlalchemy
from tests.django.shop.models import Chore
from tests.races.actors import WHO_AM_I, Actor, DjangoActor, ask, is_blocked, wait_until
from tests.races.actors_sqla import SqlaActor, SqlaSeat
from tests.races.on import SERVERS, on
from tests.sqla import shop


async def cancelled(
    waiting: asyncio.Task[Outcome], blocked: Callable[[], bool], release: Callable[[], None]
) -> UnknownOutcome:
    """Cancel a verb that waits for a lock, release the lock, and return what the cancellation carries."""
    await asyncio.to_thread(wait_until, blocked)
    waiting.cancel()
    releasing = asyncio.create_task(asyncio.to_thread(release))
    with pytest.raises(asyncio.CancelledError) as caught:
        await waiting
    await releasing
    unknown = caught.value.cas_unknown  # type: ignore[attr-defined]
    assert isinstance(unknown, UnknownOutcome)
    return unknown


@on(*SERVERS)
def test_a_start_on_django(door: str, pair: list[DjangoActor]) -> None:
    """The thread goes on without its caller: the start is won, once."""
    early, watcher = pair
    key = Chore.objects.using(door).create().pk
    early.begin()
    early.ask(f"UPDATE {Chore._meta.db_table} SET name = 'held' WHERE id = {key}")

    async def run() -> None:
        chore = await Chore.objects.using(door).aget(pk=key)
        me = await sync_to_async(ask)(door, WHO_AM_I[watcher.vendor])
        starting = asyncio.create_task(chore.astart_if_current(owner="w0"))
        unknown = await cancelled(
            starting, lambda: bool(watcher.do(is_blocked, door, me)), lambda: Actor.rollback(early)
        )
        outcome = await settle_on_django(unknown)
        assert (outcome.verdict, outcome.run_seq, outcome.record_version) == (Verdict.WON, 1, 2)
        await sync_to_async(connections.close_all)()

    asyncio.run(run())
    chore = Chore.objects.using(door).get(pk=key)
    assert (chore.state, chore.owner, chore.attempts, chore.run_seq) == ("busy", "w0", 1, 1)


@on(*SERVERS)
def test_a_start_on_sqlalchemy(door: str, sqla_door: str, pair: list[DjangoActor]) -> None:
    """Whatever the driver has done with the statement: after settling the start is won, once."""
    watcher, early = pair[1], SqlaActor(sqla_door, door, "sync")
    seat = SqlaSeat(sqla_door, "async")
    factory = async_sessionmaker(seat.engines.asynchronous)

    async def run() -> None:
        autocommit = seat.engines.asynchronous.execution_options(isolation_level="AUTOCOMMIT")
        async with AsyncSession(autocommit, expire_on_commit=False) as session:
            chore = shop.Chore()
            session.add(chore)
            await session.commit()
            me = (await (await session.connection()).exec_driver_sql(WHO_AM_I[watcher.vendor])).scalar()
            early.begin()
            early.ask(f"UPDATE chore SET name = 'held' WHERE id = {chore.id}")
            starting = asyncio.create_task(chore.astart_if_current(session, owner="w0"))
            unknown = await cancelled(
                starting, lambda: bool(watcher.do(is_blocked, door, me)), lambda: Actor.rollback(early)
            )
        outcome = await settle_on_sqlalchemy(factory, unknown)
        assert (outcome.verdict, outcome.run_seq, outcome.record_version) == (Verdict.WON, 1, 2)
        async with factory() as session:
            found = await session.get_one(shop.Chore, chore.id)
            assert (found.state, found.owner, found.attempts, found.run_seq) == ("busy", "w0", 1, 1)

    try:
        asyncio.run(run())
    finally:
        early.leave()
