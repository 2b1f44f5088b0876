"""Deferred fields, pickles, copies: the version travels with the data, or the write is refused."""

from __future__ import annotations

import copy
import pickle

import pytest
from django.db import connections, transaction
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext

from cas_orm import ErrRecordVersionConflict, Expect, MissingExpectation, Verdict
from tests.django import tables
from tests.django.shop.models import Order


def test_only_and_defer_keep_version_and_generation(alias: str) -> None:
    """The library's queryset always loads both."""
    Order.objects.create(title="a", n=1)
    for query in (
        Order.objects.only("title"),
        Order.objects.defer("record_version", "run_seq", "n"),
        Order.objects.only("n").only("title"),
        Order.objects.only("title").defer("title"),
    ):
        order = query.get()
        assert not {"record_version", "run_seq"} & order.get_deferred_fields()
        order.save_if_current()


def test_a_save_writes_only_what_was_loaded(alias: str) -> None:
    """Deferred columns are left alone and stay deferred."""
    key = Order.objects.create(title="a", n=1).pk
    order = Order.objects.only("title").get()
    tables.rival(Order, key, alias, n=50)
    order.title = "b"
    with CaptureQueriesContext(connections[alias]) as sent:
        order.save_if_current()
    assert len(sent) == 1
    assert (tables.row(Order, key, alias)["title"], tables.row(Order, key, alias)["n"]) == ("b", 50)
    assert "n" in order.get_deferred_fields()


def test_a_deferred_version_writes_nothing(alias: str) -> None:
    """Loaded without its version by a stranger's queryset, the object never queries for it."""
    Order.objects.create(title="a")
    order = QuerySet(Order, using=alias).only("title").get()
    with CaptureQueriesContext(connections[alias]) as sent:
        for write in (order.save, order.delete, order.save_if_current, order.delete_if_current):
            with pytest.raises(MissingExpectation):
                write()
        with pytest.raises(MissingExpectation):
            order.new_generation_if_current()
        with pytest.raises(MissingExpectation):
            Expect.of(order)
    assert len(sent) == 0
    order.refresh_from_db()
    order.save_if_current()


def test_pickle_carries_the_version(alias: str) -> None:
    """An object out of a cache is a legitimate stale writer: refused; a current one is accepted."""
    order = Order.objects.create()
    frozen = pickle.dumps(order)
    assert pickle.loads(frozen).save_if_current().record_version == 2
    assert pickle.loads(frozen).try_save_if_current().verdict is Verdict.STALE


def test_pickle_inside_a_transaction(alias: str) -> None:
    """The rollback marker stays out of the pickle."""
    order = Order.objects.create()
    with transaction.atomic(using=alias):
        order.save_if_current()
        thawed = pickle.loads(pickle.dumps(order))
        assert thawed.record_version == 2
    thawed.save_if_current()


def test_a_fenced_object_pickled(alias: str) -> None:
    """Through a pickle a refused object stays behind the row: it is refused again, fenced or not."""
    order = Order.objects.create()
    tables.rival(Order, order.pk, alias, record_version=2)
    order.try_save_if_current()
    with pytest.raises(ErrRecordVersionConflict):
        pickle.loads(pickle.dumps(order)).save_if_current()


def test_a_copy_is_a_writer_of_its_own(alias: str) -> None:
    """Copy and original race like two actors."""
    order = Order.objects.create()
    twin = copy.copy(order)
    assert order.save_if_current()
    assert twin.try_save_if_current().verdict is Verdict.STALE


def test_a_clone_starts_again(alias: str) -> None:
    """``pk=None`` inserts a row at version 1, generation as the model starts."""
    order = Order.objects.create(title="a")
    order.save_if_current()
    order.new_generation_if_current()
    source = order.pk
    order.pk = None
    order._state.adding = True
    order.save()
    assert order.pk != source
    row = tables.row(Order, order.pk, alias)
    assert (row["title"], row["record_version"], order.record_version) == ("a", 1, 1)
    order.save_if_current()


def test_a_copy_cloned(alias: str) -> None:
    """A copy with ``pk=None`` alone, as Django's documentation spells it without ``_state``, inserts too."""
    order = Order.objects.create(title="a")
    order.save_if_current()
    clone = copy.copy(order)
    clone.pk, clone._state = None, type(order._state)()
    clone.save()
    assert (tables.row(Order, clone.pk, alias)["record_version"], Order.objects.count()) == (1, 2)
    order.save_if_current()


def test_a_copy_of_a_refused_object_is_no_way_round(alias: str) -> None:
    """The copy holds the same old version."""
    order = Order.objects.create()
    tables.rival(Order, order.pk, alias, record_version=2)
    order.try_save_if_current()
    assert not _wins(copy.copy(order))


def _wins(order: Order) -> bool:
    try:
        return bool(order.save_if_current())
    except ErrRecordVersionConflict:
        return False
