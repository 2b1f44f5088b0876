"""Reads from a replica, writes to the primary: two databases with rows that lag behind each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections, models
from django.test.utils import CaptureQueriesContext

from cas_orm import ErrRecordVersionConflict, Expect, InvalidExpectation, RecordMissing, Verdict
from cas_orm_django import update_if_current
from tests.django import tables
from tests.django.bazaar.look import version
from tests.django.router import routed
from tests.django.shop.models import Doc, Order

PRIMARY, REPLICA = "default", "sqlite_wal"


@pytest.fixture
def lagging(_open: None) -> Iterator[Order]:
    """Return an order read from the replica, whose row there is as old as the primary's is new."""
    with routed(PRIMARY, reads=REPLICA):
        order = models.QuerySet(Order, using=PRIMARY).create(title="a", n=1)
        models.QuerySet(Order, using=REPLICA).bulk_create([Order(pk=order.pk, title="a", n=1)])
        yield Order.objects.get()
    for alias in (PRIMARY, REPLICA):
        tables.empty(alias)


def move(order: Any) -> None:
    """Let a rival write the primary; the replica lags."""
    tables.rival(Order, order.pk, PRIMARY, record_version=2, title="theirs", n=9)


def test_written_to_the_primary(lagging: Order) -> None:
    """Nothing is sent to the replica."""
    assert lagging._state.db == REPLICA
    with CaptureQueriesContext(connections[REPLICA]) as replica:
        lagging.save()
        lagging.save_if_current()
        lagging.update_if_current(expect=Expect(record_version=3), set={"n": 4})
        lagging.new_generation_if_current()
        assert (
            update_if_current(Order, lagging.pk, expect=Expect(run_seq=1), set={"n": 5}).record_version == 6
        )
    assert len(replica) == 0
    assert tables.row(Order, lagging.pk, PRIMARY)["n"] == 5
    assert tables.row(Order, lagging.pk, REPLICA)["n"] == 1


def test_a_lagging_read_is_refused(lagging: Order) -> None:
    """And judged by what the primary has."""
    move(lagging)
    with CaptureQueriesContext(connections[REPLICA]) as replica:
        outcome = lagging.try_save_if_current()
    assert (outcome.verdict, outcome.actual["record_version"], len(replica)) == (Verdict.STALE, 2, 0)


def test_a_reload_reads_the_primary(lagging: Order) -> None:
    """Otherwise the next save would be refused again."""
    move(lagging)
    assert not lagging.try_save_if_current()
    lagging.refresh_from_db()
    assert (lagging.title, lagging.record_version) == ("theirs", 2)
    lagging.save()
    assert version(lagging, PRIMARY) == 3


def test_a_reload_from_the_replica_by_name(lagging: Order) -> None:
    """Who asks for the replica gets it, and is refused again."""
    move(lagging)
    assert not lagging.try_save_if_current()
    lagging.refresh_from_db(using=REPLICA)
    assert lagging.record_version == 1
    with pytest.raises(ErrRecordVersionConflict):
        lagging.save()


def test_a_reload_through_a_queryset_reads_the_primary(lagging: Order) -> None:
    """A queryset that names no database does not send the reload to the replica."""
    move(lagging)
    assert not lagging.try_save_if_current()
    lagging.refresh_from_db(from_queryset=Order.objects.all())
    assert lagging.record_version == 2
    lagging.save()


def test_update_or_create_reads_the_primary(lagging: Order) -> None:
    """Django's own path locks and reads where it writes."""
    move(lagging)
    order, created = Order.objects.update_or_create(pk=lagging.pk, defaults={"note": "b"})
    assert (created, order.record_version, order.n) == (False, 3, 9)


def test_a_delete_goes_to_the_primary(lagging: Order) -> None:
    """Guarded there; the replica's row is the replication's business."""
    key = lagging.pk
    move(lagging)
    with pytest.raises(ErrRecordVersionConflict):
        lagging.delete()
    lagging.refresh_from_db()
    lagging.delete()
    assert tables.row(Order, key, PRIMARY) is None
    assert tables.row(Order, key, REPLICA) is not None


def test_a_row_that_only_the_replica_still_has(lagging: Order) -> None:
    """RecordMissing, not an INSERT into the primary."""
    tables.remove(Order, lagging.pk, PRIMARY)
    with pytest.raises(RecordMissing):
        lagging.save()
    assert tables.row(Order, lagging.pk, PRIMARY) is None


def test_another_alias_is_refused(lagging: Order) -> None:
    """Every way of naming an alias that the router would not choose; the router's own is accepted."""
    for write in (
        lambda: lagging.save(using=REPLICA),
        lambda: lagging.save_if_current(using=REPLICA),
        lambda: lagging.delete(using=REPLICA),
        lambda: lagging.update_if_current(expect=Expect(run_seq=0), set={"n": 1}, using=REPLICA),
        lambda: lagging.new_generation_if_current(using=REPLICA),
    ):
        with pytest.raises(InvalidExpectation):
            write()
    lagging.save(using=PRIMARY)
    assert (version(lagging, PRIMARY), version(lagging, REPLICA)) == (2, 1)


def test_a_deferred_field_of_a_replica_object(lagging: Order) -> None:
    """Saved with deferred fields, although it came from elsewhere: only what was loaded is written."""
    order = Order.objects.only("title").get()
    tables.rival(Order, order.pk, PRIMARY, n=9)
    order.title = "b"
    order.save()
    row = tables.row(Order, order.pk, PRIMARY)
    assert (row["title"], row["n"], row["record_version"]) == ("b", 9, 2)


@pytest.mark.usefixtures("_open")
def test_a_copy_into_another_database() -> None:
    """Without a router: ``using`` elsewhere is refused for a loaded object, accepted for a new one."""
    doc = Doc(title="a")
    doc.save(using=REPLICA)
    with pytest.raises(InvalidExpectation):
        doc.save(using=PRIMARY)
    doc.save()
    assert (doc.record_version, version(doc, REPLICA)) == (2, 2)
    doc.pk = None
    doc._state.adding = True
    doc.save(using=PRIMARY)
    assert (doc._state.db, version(doc, PRIMARY)) == (PRIMARY, 1)
    for alias in (PRIMARY, REPLICA):
        tables.empty(alias)
