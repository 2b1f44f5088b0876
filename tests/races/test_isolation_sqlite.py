"""What the loser gets on SQLite: with transactions that begin deferred, and that begin IMMEDIATE."""

from __future__ import annotations

from django.db import connections
from django.test.utils import CaptureQueriesContext

from cas_orm import Outcome, TransientConflict, Verdict
from tests.django import tables
from tests.django.shop.models import Novel, Order
from tests.races.actors import Actor
from tests.races.on import on
from tests.races.test_isolation import race, save


@on("sqlite", "sqlite_wal", "sqlite_deferred")
def test_sqlite_in_autocommit(door: str, pair: list[Actor]) -> None:
    """The late one waits for the lock and then loses with a verdict."""
    order, result = race(door, pair, mode="autocommit", waits=True)
    assert result.result().verdict is Verdict.STALE
    assert tables.row(Order, order.pk, door)["title"] == "first"


@on("sqlite_deferred")
def test_sqlite_deferred_busy(door: str, pair: list[Actor]) -> None:
    """A reader that writes while another writes is refused at once; its transaction is still open."""
    early, late = pair
    query = Order.objects.using(door)
    key = query.create(title="a").pk
    late.begin()
    held = late.do(query.get, pk=key)
    early.begin()
    early.do(save, early.do(query.get, pk=key), "first")
    error = late.fails(save, held, "late")
    assert isinstance(error, TransientConflict)
    assert error.transaction == "open"
    late.rollback()
    early.commit()
    assert tables.row(Order, key, door)["title"] == "first"


@on("sqlite_wal")
def test_sqlite_busy_snapshot(door: str, pair: list[Actor]) -> None:
    """A reader whose snapshot is old is refused until it rolls back; then a reload heals."""
    order, result = race(door, pair, mode="read", waits=False)
    error = result.exception()
    assert isinstance(error, TransientConflict)
    assert error.transaction in ("open", "dead")
    late = pair[1]
    late.rollback()
    late.do(order.refresh_from_db)
    assert late.do(save, order, "second").verdict is Verdict.WON
    assert tables.row(Order, order.pk, door)["title"] == "second"


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
