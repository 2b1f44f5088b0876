"""What the loser gets at each isolation level: zero rows and a verdict, or the engine's refusal."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
from django.db import connections
from django.db.transaction import TransactionManagementError

from cas_orm import Outcome, TransientConflict, Verdict
from tests.django import tables
from tests.django.shop.models import Novel, Order
from tests.races.actors import Actor
from tests.races.on import on

SERVER_LEVELS = (
    "postgres",
    "postgres_rr",
    "postgres_serializable",
    "mariadb",
    "mariadb_rr",
    "mariadb_snapshot",
)
#: Where a loser who had read the row in its transaction is refused by the engine.
REFUSES_AFTER_A_READ = {"postgres_rr", "postgres_serializable", "mariadb_snapshot"}
#: Where even a loser who had not read is, if it had to wait.
REFUSES_AFTER_WAITING = {"postgres_rr", "postgres_serializable"}


def save(order: Order, title: str) -> Outcome:
    """Save as an actor does, without raising for a conflict."""
    order.title = title
    return order.try_save_if_current()


def needs_rollback(alias: str) -> bool:
    """Tell whether Django knows that the transaction is dead."""
    return bool(connections[alias].needs_rollback)


def race(door: str, pair: list[Actor], *, mode: str, waits: bool) -> tuple[Order, Future[Any]]:
    """Let the first win while the late one is where the mode says; return the late object and result."""
    early, late = pair
    query = Order.objects.using(door)
    key = query.create(title="a").pk
    winner, loser = early.do(query.get, pk=key), late.do(query.get, pk=key)
    if mode != "autocommit":
        late.begin()
    if mode == "read":
        loser = late.do(query.get, pk=key)
    early.begin()
    assert early.do(save, winner, "first")
    if not waits:
        early.commit()
        running = late.start(save, loser, "late")
    else:
        running = late.blocks(save, loser, "late")
        early.commit()
    running.exception(30)
    return loser, running


@pytest.mark.parametrize("waits", [False, True], ids=["after", "waited"])
@pytest.mark.parametrize("mode", ["autocommit", "blind", "read"])
@on(*SERVER_LEVELS)
def test_the_loser(door: str, pair: list[Actor], mode: str, waits: bool) -> None:
    """The winner's row stands; the loser has a truthful verdict or a TransientConflict, never silence."""
    order, result = race(door, pair, mode=mode, waits=waits)
    late = pair[1]
    refused = (mode == "read" and door in REFUSES_AFTER_A_READ) or (
        mode == "blind" and waits and door in REFUSES_AFTER_WAITING
    )
    if refused:
        error = result.exception()
        assert isinstance(error, TransientConflict), error or result.result()
        assert (error.transaction, error.code) == ("dead", "cas-transient")
        assert error.__cause__ is not None
        assert late.do(needs_rollback, door)
        assert isinstance(late.fails(Order.objects.using(door).count), TransactionManagementError)
        late.rollback()
    else:
        outcome = result.result()
        assert outcome.verdict is Verdict.STALE
        assert outcome.actual["record_version"] == 2
        if mode != "autocommit":
            assert not late.do(needs_rollback, door)
            late.do(Order.objects.using(door).create, title="goes on")
            late.commit()
    row = tables.row(Order, order.pk, door)
    assert (row["title"], row["record_version"]) == ("first", 2)


@on(*SERVER_LEVELS, "mariadb_serializable")
def test_after_the_loser_ended_its_transaction_a_reload_heals(door: str, pair: list[Actor]) -> None:
    """A reload outside the old transaction sees the truth, and the next save wins."""
    order, _ = race(door, pair, mode="blind", waits=False)
    late = pair[1]
    late.rollback()
    late.do(order.refresh_from_db)
    assert late.do(save, order, "second").record_version == 3


@on(*SERVER_LEVELS)
def test_the_winner_rolls_back(door: str, pair: list[Actor]) -> None:
    """The one who waited wins when the first one's write never happened."""
    early, late = pair
    query = Order.objects.using(door)
    key = query.create(title="a").pk
    first, second = early.do(query.get, pk=key), late.do(query.get, pk=key)
    early.begin()
    early.do(save, first, "first")
    waiting = late.blocks(save, second, "late")
    early.rollback()
    assert waiting.result(30).verdict is Verdict.WON
    assert early.do(save, first, "again").verdict is Verdict.STALE
    row = tables.row(Order, key, door)
    assert (row["title"], row["record_version"]) == ("late", 2)


@on("mariadb_serializable")
def test_two_readers_of_a_serializable_mariadb(door: str, pair: list[Actor]) -> None:
    """Both hold a shared lock: one is told to start over at once, the other wins."""
    early, late = pair
    query = Order.objects.using(door)
    key = query.create(title="a").pk
    held = []
    for actor in pair:
        actor.begin()
        held.append(actor.do(query.get, pk=key))
    waiting = early.blocks(save, held[0], "first")
    error = late.fails(save, held[1], "late")
    assert isinstance(error, TransientConflict)
    assert error.transaction == "dead"
    assert late.do(needs_rollback, door)
    assert waiting.result(30).verdict is Verdict.WON
    early.commit()
    assert tables.row(Order, key, door)["title"] == "first"


@on("postgres_rr")
def test_a_version_learnt_elsewhere_under_an_old_snapshot(door: str, pair: list[Actor]) -> None:
    """PostgreSQL refuses with zero rows and keeps refusing: never a win, never a lie about the row."""
    early, late = pair
    query = Order.objects.using(door)
    key = query.create(title="a").pk
    winner = early.do(query.get, pk=key)
    late.begin()
    held = late.do(query.get, pk=key)
    early.do(save, winner, "first")
    held.record_version = 2
    running = late.start(save, held, "late")
    if isinstance(error := running.exception(30), TransientConflict):
        assert error.transaction == "dead"
    else:
        outcome = running.result()
        assert not outcome
        assert outcome.verdict is Verdict.UNDIAGNOSED
    late.rollback()
    assert tables.row(Order, key, door)["title"] == "first"


@on("postgres", "mariadb", "mariadb_rr", "sqlite")
def test_children_race_for_the_root(door: str, pair: list[Actor]) -> None:
    """Two writers of one object in three tables: one wins whole, the other leaves no table behind."""
    early, late = pair
    key = Novel.objects.using(door).create(name="a", pages=1, genre="x").pk
    held = [a.do(Novel.objects.using(door).get, pk=key) for a in pair]

    def write(novel: Novel, mark: str) -> Outcome:
        novel.name, novel.genre, novel.pages = mark, mark, len(mark)
        return novel.try_save_if_current()

    early.begin()
    early.do(write, held[0], "early")
    waiting = late.blocks(write, held[1], "later on")
    early.commit()
    assert waiting.result(30).verdict is Verdict.STALE
    found = Novel.objects.using(door).get(pk=key)
    assert (found.name, found.genre, found.pages, found.record_version) == ("early", "early", 5, 2)
