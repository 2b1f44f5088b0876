"""AC-08: each attempt looks at the present, at every level; a loop inside one snapshot never wins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Barrier
from typing import Any

import pytest
from django.db import connections, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from cas_orm import CannotRetryHere, Outcome, RetryPolicy, TransientConflict, UnknownOutcome, Verdict
from cas_orm_django import aretry_on_conflict, retry_on_conflict, settle
from tests.django import tables
from tests.django.shop.models import Order, Ticket
from tests.races.actors import Actor
from tests.races.on import SERVERS, on
from tests.races.proxy import Proxy

LEVELS = (
    "sqlite",
    "sqlite_deferred",
    "sqlite_wal",
    "postgres",
    "postgres_rr",
    "postgres_serializable",
    "mariadb",
    "mariadb_rr",
    "mariadb_snapshot",
)
AT_ONCE = RetryPolicy(delays=[0], max_retries=9, jitter="none")


def add_ten(door: str, key: int) -> None:
    """Write as the rival does."""
    Order.objects.using(door).filter(pk=key).update(n=F("n") + 10)


def adding(door: str, key: int, in_between: Callable[[int], None]) -> Callable[[], Outcome]:
    """Return the unit of work: load, let the rival in, compute, compare-and-swap."""
    calls: list[int] = []

    def add() -> Outcome:
        calls.append(1)
        order = Order.objects.using(door).get(pk=key)
        in_between(len(calls))
        order.n += 1
        return order.save_if_current()

    return add


def inside(door: str, key: int) -> tuple[type[BaseException] | None, int]:
    """Retry inside an outer transaction that has read the row; return what it raised and what it sent."""
    with transaction.atomic(using=door):
        Order.objects.using(door).get(pk=key)
        with CaptureQueriesContext(connections[door]) as sent:
            try:
                retry_on_conflict(AT_ONCE, using=door)(adding(door, key, lambda attempt: None))()
            except CannotRetryHere as refused:
                return type(refused), len(sent)
    return None, -1


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@on(*LEVELS)
def test_ac08_outside_a_transaction(door: str, pair: list[Actor], asynchronous: bool) -> None:
    """The second attempt wins everywhere; on SQLite the first: it has the lock, and the rival waits."""
    rival, actor = pair
    key = Order.objects.using(door).create(n=1).pk
    sqlite = connections[door].vendor == "sqlite"
    waiting: list[Future[Any]] = []

    def let_the_rival_in(attempt: int) -> None:
        if attempt == 1:
            waiting.append(rival.start(add_ten, door, key))
            if not sqlite:
                waiting[0].result(30)

    work = adding(door, key, let_the_rival_in)
    if asynchronous:

        async def run() -> Outcome:
            try:
                return await aretry_on_conflict(work, policy=AT_ONCE, using=door)
            finally:
                from asgiref.sync import sync_to_async

                await sync_to_async(connections.close_all)()

        outcome = asyncio.run(run())
    else:
        outcome = actor.do(retry_on_conflict(AT_ONCE, using=door)(work))
    waiting[0].result(30)
    assert (outcome.verdict, outcome.provisional) == (Verdict.WON, False)
    assert outcome.attempts == (1 if sqlite else 2)
    row = tables.row(Order, key, door)
    assert (row["n"], row["record_version"]) == (12, 3)


@on(*LEVELS)
def test_ac08_inside_a_transaction(door: str, pair: list[Actor]) -> None:
    """Refused at once and before any SQL, at every level; the connection is usable afterwards."""
    rival, actor = pair
    key = Order.objects.using(door).create(n=1).pk
    assert actor.do(inside, door, key) == (CannotRetryHere, 0)
    rival.do(add_ten, door, key)
    outcome = actor.do(retry_on_conflict(using=door)(adding(door, key, lambda attempt: None)))
    assert (outcome.verdict, outcome.attempts) == (Verdict.WON, 1)
    assert tables.row(Order, key, door)["n"] == 12


@on("postgres", "postgres_rr", "mariadb", "mariadb_rr")
def test_ac08_baseline(door: str, pair: list[Actor]) -> None:
    """Ten attempts inside one transaction win at READ COMMITTED, and never in a snapshot."""
    rival, actor = pair
    key = Order.objects.using(door).create(n=1).pk

    def loop() -> list[bool]:
        won: list[bool] = []
        with transaction.atomic(using=door):
            order = Order.objects.using(door).get(pk=key)
            rival.do(add_ten, door, key)
            while len(won) < 10 and not any(won):
                order.n += 1
                won.append(bool(order.try_save_if_current()))
                if not won[-1]:
                    order.refresh_from_db()
        return won

    if door == "postgres_rr":  # the engine ends the transaction at the first attempt
        assert isinstance(actor.fails(loop), TransientConflict)
    else:
        assert actor.do(loop) == ([False] * 10 if door == "mariadb_rr" else [False, True])


@on(*SERVERS)
def test_a_real_deadlock(door: str, pair: list[Actor]) -> None:
    """Two units of work take two rows in opposite order, in plain statements: both end, each done once."""
    keys = [Order.objects.using(door).create().pk for _ in range(2)]
    met = Barrier(2)

    def crossing(mine: list[int]) -> Callable[[], int]:
        calls: list[int] = []

        def work() -> int:
            calls.append(1)
            add_ten(door, mine[0])
            if len(calls) == 1:
                met.wait(30)
            add_ten(door, mine[1])
            return len(calls)

        return work

    orders = (keys, keys[::-1])
    racing = [
        actor.start(retry_on_conflict(using=door)(crossing(mine)))
        for actor, mine in zip(pair, orders, strict=True)
    ]
    assert sum(r.result(60) for r in racing) > 2, "nobody was the victim of a deadlock"
    assert [tables.row(Order, key, door)["n"] for key in keys] == [20, 20]


@on(*SERVERS)
def test_a_connection_lost_before_the_commit(door: str, pair: list[Actor]) -> None:
    """Nothing can have been stored: the error passes, and the work is not done again behind its back."""
    rival, actor = pair
    key = Order.objects.using(door).create(n=1).pk
    me = actor.identity()
    calls: list[int] = []

    def work() -> None:
        calls.append(1)
        Order.objects.using(door).filter(pk=key).update(n=5)
        rival.do(rival.kill_from_outside, me)
        Order.objects.using(door).get(pk=key)

    refused = actor.fails(retry_on_conflict(AT_ONCE, using=door)(work))
    assert refused is not None
    assert not isinstance(refused, UnknownOutcome)
    assert (calls, tables.row(Order, key, door)["n"]) == ([1], 1)


@pytest.mark.parametrize("model", [Ticket, Order], ids=["with-a-token", "without"])
@on(*SERVERS)
def test_a_connection_lost_at_the_commit(door: str, pair: list[Actor], proxy: Proxy, model: Any) -> None:
    """Stored or not, nobody knows: an unknown outcome, not retried, which a write token settles."""
    key = model.objects.using(door).create().pk
    calls: list[int] = []

    def work() -> None:
        calls.append(1)
        thing = model.objects.using(door).get(pk=key)
        thing.n = 7
        thing.save_if_current()
        proxy.swallow.set()

    unknown = pair[1].fails(retry_on_conflict(AT_ONCE, using=door)(work))
    proxy.swallow.clear()
    assert isinstance(unknown, UnknownOutcome)
    assert unknown.in_transaction
    assert calls == [1]
    stored = tables.row(model, key, door)["n"] == 7
    if model is Ticket:
        assert bool(settle(unknown)) is stored
    else:
        with pytest.raises(UnknownOutcome):
            settle(unknown)
