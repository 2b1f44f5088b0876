"""A cancelled await stays a ``CancelledError`` and carries the unknown outcome."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.db.models.signals import pre_save

from cas_orm import UnknownOutcome, Verdict
from cas_orm_django import aclaim, claim, settle
from tests.django import tables
from tests.django.shop.models import Chore, Ticket
from tests.races.actors import WHO_AM_I, Actor, ask, is_blocked, wait_until
from tests.races.on import SERVERS, on


@on(*SERVERS)
def test_cancelled_while_waiting(door: str, pair: list[Actor]) -> None:
    """The statement goes on without its caller: settling says what became of it."""
    early, watcher = pair
    key = Ticket.objects.using(door).create().pk
    winner = early.do(Ticket.objects.using(door).get, pk=key)
    early.begin()
    early.do(winner.save_if_current)
    vendor = early.vendor

    async def cancelled() -> None:
        held = await Ticket.objects.using(door).aget(pk=key)
        held.n = 7
        me = await sync_to_async(ask)(door, WHO_AM_I[vendor])
        writing = asyncio.create_task(held.asave_if_current())
        await asyncio.to_thread(wait_until, lambda: bool(watcher.do(is_blocked, door, me)))
        writing.cancel()
        releasing = asyncio.create_task(asyncio.to_thread(early.rollback))
        try:
            await writing
        except asyncio.CancelledError as error:
            unknown = error.cas_unknown  # type: ignore[attr-defined]
        else:
            raise AssertionError("the cancellation was swallowed")
        await releasing
        assert isinstance(unknown, UnknownOutcome)
        outcome = await sync_to_async(settle)(unknown)
        assert outcome.verdict is Verdict.WON
        await sync_to_async(connections.close_all)()

    asyncio.run(cancelled())
    row = tables.row(Ticket, key, door)
    assert (row["n"], row["record_version"]) == (7, 2)


@on(*SERVERS)
def test_cancelled_before_it_began(door: str, pair: list[Actor]) -> None:
    """Whatever the thread had got to by then: settling says what the row says, and it stays so."""
    key = Ticket.objects.using(door).create().pk

    async def cancelled() -> bool:
        held = await Ticket.objects.using(door).aget(pk=key)
        writing = asyncio.create_task(held.asave_if_current())
        await asyncio.sleep(0)
        writing.cancel()
        try:
            await writing
        except asyncio.CancelledError as error:
            unknown = error.cas_unknown  # type: ignore[attr-defined]
        outcome = await sync_to_async(settle)(unknown)
        await sync_to_async(connections.close_all)()
        return bool(outcome)

    applied = asyncio.run(cancelled())
    assert tables.row(Ticket, key, door)["record_version"] == (2 if applied else 1)


@on(*SERVERS)
def test_cancelled_before_it_was_sent(door: str, pair: list[Actor]) -> None:
    """A thread that has not sent its statement yet when the await is cancelled does not send it."""
    key = Ticket.objects.using(door).create().pk
    reached, go = Event(), Event()

    def hold(**_: object) -> None:
        reached.set()
        assert go.wait(30)

    async def cancelled() -> None:
        held = await Ticket.objects.using(door).aget(pk=key)
        writing = asyncio.create_task(held.asave_if_current())
        assert await asyncio.to_thread(reached.wait, 30)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        go.set()
        await sync_to_async(connections.close_all)()  # behind the write, in the same thread

    pre_save.connect(hold, sender=Ticket)
    try:
        asyncio.run(cancelled())
    finally:
        pre_save.disconnect(hold, sender=Ticket)
    assert tables.row(Ticket, key, door)["record_version"] == 1


@on(*SERVERS)
def test_not_cancelled(door: str, pair: list[Actor]) -> None:
    """The accepted twin: an await that is left alone ends with a win."""

    async def run() -> None:
        held = await Ticket.objects.using(door).acreate()
        assert (await held.asave_if_current()).verdict is Verdict.WON
        await sync_to_async(connections.close_all)()

    asyncio.run(run())


@on(*SERVERS)
def test_a_claim_that_was_cancelled_halfway(door: str, pair: list[Actor]) -> None:
    """The thread has started one of two jobs: it starts no other, and takes back the first."""
    keys = [Chore.objects.using(door).create().pk for _ in range(2)]
    reached, go = Event(), Event()

    def hold(execute: Any, sql: str, *rest: Any) -> Any:
        done = execute(sql, *rest)
        if sql.startswith("UPDATE"):
            reached.set()
            assert go.wait(30)
        return done

    async def cancelled() -> None:
        connection = await sync_to_async(connections.__getitem__)(door)
        connection.execute_wrappers.append(hold)
        claiming = asyncio.create_task(aclaim(Chore, 2, using=door))
        assert await asyncio.to_thread(reached.wait, 30)
        claiming.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await claiming
        assert isinstance(caught.value.cas_unknown, UnknownOutcome)  # type: ignore[attr-defined]
        go.set()
        await sync_to_async(connections.close_all)()  # behind the claim, in the same thread

    asyncio.run(cancelled())
    assert {tables.row(Chore, key, door)["state"] for key in keys} == {"new"}
    assert [chore.pk for chore in pair[0].do(claim, Chore, 2)] == keys
