"""What the loser gets on SQLite: with transactions that begin deferred, and that begin IMMEDIATE."""

from __future__ import annotations

from django.db import connections
from django.test.utils import CaptureQueriesContext

from cas_orm import Outcome, TransientConflict, Verdict
from tests.django.shop.models import Novel, Order
from tests.races.actors import Actor
from tests.races.on import on
from tests.races.stage import Stage
from tests.races.test_isolation import race, save, save_titled


@on("sqlite", "sqlite_wal", "sqlite_deferred")
def test_sqlite_in_autocommit(stage: Stage) -> None:
    """The late one waits for the lock and then loses with a verdict."""
    key, _, result = race(stage, mode="autocommit", waits=True)
    assert result.result().verdict is Verdict.STALE
    assert stage.row(stage.models.Order, key)["title"] == "first"


@on("sqlite_deferred")
def test_sqlite_deferred_busy(stage: Stage) -> None:
    """A reader that writes while another writes is refused at once; its transaction is still open."""
    early, late = stage.pair
    key = stage.insert(stage.models.Order, title="a")
    late.begin()
    winner, held = stage.held(stage.models.Order, key)
    early.begin()
    early.do(save_titled, early.api, winner, "first")
    error = late.fails(save_titled, late.api, held, "late")
    assert isinstance(error, TransientConflict)
    assert (error.transaction, error.fenced) == ("open", False)
    assert "IMMEDIATE" not in str(error)
    assert not late.do(late.knows_that_it_is_over)
    late.rollback()
    early.commit()
    assert stage.row(stage.models.Order, key)["title"] == "first"
    late.do(late.api.reload, held)
    assert late.do(save_titled, late.api, held, "second").record_version == 3


@on("sqlite_wal")
def test_sqlite_busy_snapshot(stage: Stage) -> None:
    """A reader whose snapshot is old is refused until it rolls back; then a reload heals."""
    key, order, result = race(stage, mode="read", waits=False)
    error = result.exception()
    assert isinstance(error, TransientConflict)
    assert error.transaction == "dead"
    assert "BEGIN IMMEDIATE" in str(error)
    late = stage.late
    late.rollback()
    late.do(late.api.reload, order)
    assert late.do(save_titled, late.api, order, "second").verdict is Verdict.WON
    assert stage.row(stage.models.Order, key)["title"] == "second"


@on("sqlite")
def test_sqlite_immediate(door: str, pair: list[Actor]) -> None:
    """With ``transaction_mode: IMMEDIATE`` BEGIN itself waits, so the verdict is the truth."""
    early, late = pair
    query = Order.objects.using(door)
    key = query.create(title="a").pk
    held = late.do(query.get, pk=key)
    early.begin()
    early.do(save, early.do(query.get, pk=key), "first")

    def late_transaction() -> Outcome:
        from django.db import transaction

        with transaction.atomic(using=door):
            return save(held, "late")

    waiting = late.start(late_transaction)
    early.commit()
    assert waiting.result(30).verdict is Verdict.STALE


@on("sqlite_deferred", "sqlite_wal")
def test_the_librarys_own_transaction_on_sqlite(door: str, pair: list[Actor]) -> None:
    """A write over several tables begins IMMEDIATE: it waits for the rival and then has a verdict."""
    early, late = pair
    key = Novel.objects.using(door).create(name="a").pk
    held = [a.do(Novel.objects.using(door).get, pk=key) for a in pair]
    early.begin()
    early.do(held[0].save_if_current)
    waiting = late.start(held[1].try_save_if_current)
    early.commit()
    assert waiting.result(30).verdict is Verdict.STALE
    held[0].name = "b"
    with CaptureQueriesContext(connections[door]) as sent:
        held[0].save_if_current()
    assert sent[0]["sql"].upper().startswith("BEGIN IMMEDIATE")
