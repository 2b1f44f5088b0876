"""What the loser gets at each isolation level: zero rows and a verdict, or the engine's refusal."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
from django.db.transaction import TransactionManagementError

from cas_orm import Outcome, TransientConflict, Verdict
from tests.contract.adapters.base import Api
from tests.django import tables
from tests.django.shop.models import Novel, Order
from tests.races.actors import Actor
from tests.races.on import on
from tests.races.stage import Stage

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


async def save_titled(api: Api, order: Any, title: str) -> Outcome:
    """Save as an actor does, without raising for a conflict."""
    order.title = title
    return await api.try_save_if_current(order)


def race(stage: Stage, *, mode: str, waits: bool) -> tuple[Any, Any, Future[Any]]:
    """Let the first win while the late one is where the mode says; return key, late object and result."""
    early, late = stage.pair
    key = stage.insert(stage.models.Order, title="a")
    winner, loser = stage.held(stage.models.Order, key)
    if mode != "autocommit":
        late.begin()
    if mode == "read":
        loser = late.do(late.api.load, stage.models.Order, key)
    early.begin()
    assert early.do(save_titled, early.api, winner, "first")
    if not waits:
        early.commit()
        running = late.start(save_titled, late.api, loser, "late")
    else:
        running = late.blocks(save_titled, late.api, loser, "late")
        early.commit()
    running.exception(30)
    return key, loser, running


@pytest.mark.parametrize("waits", [False, True], ids=["after", "waited"])
@pytest.mark.parametrize("mode", ["autocommit", "blind", "read"])
@on(*SERVER_LEVELS)
def test_the_loser(stage: Stage, sqla_door: str, mode: str, waits: bool) -> None:
    """The winner's row stands; the loser has a truthful verdict or a TransientConflict, never silence."""
    key, loser, result = race(stage, mode=mode, waits=waits)
    late = stage.late
    refused = (mode == "read" and sqla_door in REFUSES_AFTER_A_READ) or (
        mode == "blind" and waits and sqla_door in REFUSES_AFTER_WAITING
    )
    if refused:
        error = result.exception()
        assert isinstance(error, TransientConflict), error or result.result()
        assert (error.transaction, error.code, error.fenced) == ("dead", "cas-transient", False)
        assert error.__cause__ is not None
        assert late.do(late.knows_that_it_is_over)
        late.rollback()
    else:
        outcome = result.result()
        assert outcome.verdict is Verdict.STALE
        assert outcome.actual["record_version"] == 2
        if mode != "autocommit":
            assert not late.do(late.knows_that_it_is_over)
            late.do(late.api.reload, loser)  # a session flushes nothing while it holds a refused change
            other = late.do(late.api.insert, stage.models.Doc, title="goes on")
            late.commit()
            assert stage.row(stage.models.Doc, late.do(late.api.key, other))["title"] == "goes on"
    row = stage.row(stage.models.Order, key)
    assert (row["title"], row["record_version"]) == ("first", 2)
    late.do(late.api.reload, loser)
    assert late.do(save_titled, late.api, loser, "again").record_version == 3


@on("postgres_rr", "postgres_serializable", "mariadb_snapshot")
def test_django_uses_a_dead_transaction_no_more(door: str, pair: list[Actor]) -> None:
    """What comes after the refusal raises until the rollback: the second half is never committed alone."""
    early, late = pair
    key = Order.objects.using(door).create(title="a").pk
    late.begin()
    held = late.do(Order.objects.using(door).get, pk=key)
    early.do(save, early.do(Order.objects.using(door).get, pk=key), "first")
    assert isinstance(late.fails(save, held, "late"), TransientConflict)
    assert isinstance(late.fails(Order.objects.using(door).count), TransactionManagementError)
    late.rollback()


@on(*SERVER_LEVELS, "mariadb_serializable")
def test_after_the_loser_ended_its_transaction_a_reload_heals(stage: Stage) -> None:
    """A reload outside the old transaction sees the truth, and the next save wins."""
    _, order, _ = race(stage, mode="blind", waits=False)
    late = stage.late
    late.rollback()
    late.do(late.api.reload, order)
    assert late.do(save_titled, late.api, order, "second").record_version == 3


@on(*SERVER_LEVELS)
def test_the_winner_rolls_back(stage: Stage) -> None:
    """The one who waited wins when the first one's write never happened."""
    early, late = stage.pair
    key = stage.insert(stage.models.Order, title="a")
    first, second = stage.held(stage.models.Order, key)
    early.begin()
    early.do(save_titled, early.api, first, "first")
    waiting = late.blocks(save_titled, late.api, second, "late")
    early.rollback()
    assert waiting.result(30).verdict is Verdict.WON
    assert early.do(save_titled, early.api, first, "again").verdict is Verdict.STALE
    row = stage.row(stage.models.Order, key)
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
    assert late.do(late.knows_that_it_is_over)
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
