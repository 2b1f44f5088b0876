"""``refresh_from_db`` in all its forms, and deferred loading: what renews the belief and what must not."""

from __future__ import annotations

import pytest
from asgiref.sync import async_to_sync
from django.db import models

from cas_orm import ErrRecordVersionConflict, MissingExpectation
from tests.django import tables
from tests.django.bazaar.look import statements, version
from tests.django.shop.models import Customer, Device, Novel, Order


def refused(order: Order, alias: str) -> None:
    """Let a rival win, and the object lose."""
    tables.rival(Order, order.pk, alias, record_version=order.record_version + 1, title="theirs")
    assert not order.try_save_if_current()


def test_a_reload_heals(alias: str) -> None:
    """One statement; after it the next save wins."""
    order = Order.objects.create()
    refused(order, alias)
    with statements(alias, 1):
        order.refresh_from_db()
    assert order.title == "theirs"
    order.save()


@pytest.mark.parametrize("fields", [["title"], ["n", "state"], ["customer"], ["run_seq"]])
def test_a_partial_reload_does_not_heal(alias: str, fields: list[str]) -> None:
    """Without the version among the fields the other attributes are as old as before."""
    order = Order.objects.create()
    refused(order, alias)
    order.refresh_from_db(fields=fields)
    with statements(alias, 0), pytest.raises(ErrRecordVersionConflict) as caught:
        order.save()
    assert caught.value.fenced


@pytest.mark.parametrize("fields", [["title"], ["n", "state"], ["customer"]])
def test_a_partial_reload_does_not_renew_the_belief(alias: str, fields: list[str]) -> None:
    """The object would overwrite what it has not seen."""
    order = Order.objects.create(note="mine")
    tables.rival(Order, order.pk, alias, record_version=2, note="theirs")
    order.refresh_from_db(fields=fields)
    with pytest.raises(ErrRecordVersionConflict):
        order.save()
    assert tables.row(Order, order.pk, alias)["note"] == "theirs"


def test_a_partial_reload_that_names_the_version_heals(alias: str) -> None:
    """Whoever names it takes over the responsibility."""
    order = Order.objects.create()
    refused(order, alias)
    order.refresh_from_db(fields=["record_version", "title"])
    assert (order.record_version, order.title) == (2, "theirs")
    order.save()


def test_reading_a_deferred_column_does_not_renew_the_belief(alias: str) -> None:
    """Loading ``n`` on access must not make an old ``title`` look current."""
    key = Order.objects.create(title="a", n=1).pk
    order = Order.objects.only("title").get()
    tables.rival(Order, key, alias, title="theirs", n=5, record_version=2)
    assert order.n == 5
    order.title = "mine"
    with pytest.raises(ErrRecordVersionConflict):
        order.save()
    assert tables.row(Order, key, alias)["title"] == "theirs"


def test_reading_a_deferred_column_of_an_unchanged_row(alias: str) -> None:
    """The accepted twin: nobody has written meanwhile."""
    Order.objects.create(title="a", n=1)
    order = Order.objects.defer("n").get()
    assert order.n == 1
    order.save()


def test_from_queryset(alias: str) -> None:
    """A queryset of the caller's, bumping or plain, that loads the version heals."""
    order = Order.objects.create()
    for rows in (
        Order.objects.all(),
        models.QuerySet(Order, using=alias),
        Order.objects.select_related("customer"),
    ):
        refused(order, alias)
        order.refresh_from_db(from_queryset=rows)
        order.save()


def test_from_queryset_without_the_version(alias: str) -> None:
    """A plain queryset that defers the version heals nothing."""
    order = Order.objects.create()
    refused(order, alias)
    order.refresh_from_db(from_queryset=models.QuerySet(Order, using=alias).only("title"))
    with pytest.raises(ErrRecordVersionConflict):
        order.save()
    tables.rival(Order, order.pk, alias, record_version=5)
    order.refresh_from_db(from_queryset=models.QuerySet(Order, using=alias).defer("title"))
    order.save()


def test_using(alias: str) -> None:
    """An explicit alias."""
    order = Order.objects.create()
    refused(order, alias)
    order.refresh_from_db(using=alias)
    order.save()


def test_arefresh_from_db(alias: str) -> None:
    """The async twin heals."""
    order = Order.objects.create()
    refused(order, alias)
    async_to_sync(order.arefresh_from_db)()
    order.save()


def test_a_reload_of_a_vanished_row(alias: str) -> None:
    """DoesNotExist, and the object stays refused."""
    order = Order.objects.create()
    refused(order, alias)
    tables.remove(Order, order.pk, alias)
    with pytest.raises(Order.DoesNotExist):
        order.refresh_from_db()
    with pytest.raises(ErrRecordVersionConflict):
        order.save()


def test_a_reload_of_a_child(alias: str) -> None:
    """The parent's version comes with the child's reload."""
    novel = Novel.objects.create()
    Novel.objects.update(genre="theirs")
    assert not novel.try_save_if_current()
    novel.refresh_from_db()
    assert (novel.genre, novel.record_version) == ("theirs", 2)
    novel.save()


def test_a_reload_clears_related_objects(alias: str) -> None:
    """As Django's own does."""
    order = Order.objects.create(customer=Customer.objects.create(name="a"))
    Customer.objects.update(name="b")
    order.refresh_from_db()
    assert order.customer.name == "b"


def test_an_unknown_version_is_healed_by_a_reload(alias: str) -> None:
    """A verb that did not compare the version lost track of it; the reload finds it again."""
    device = Device.objects.create()
    tables.rival(Device, device.pk, alias, record_version=5)
    device.save(update_fields=["hits"])
    with pytest.raises(ErrRecordVersionConflict):
        device.save()
    device.refresh_from_db()
    device.save()
    assert version(device, alias) == 6


def test_deferred_version_read_by_hand(alias: str) -> None:
    """A stranger's queryset left the version out: refused until it is read."""
    Order.objects.create(title="a")
    order = models.QuerySet(Order, using=alias).only("title").get()
    with statements(alias, 0), pytest.raises(MissingExpectation):
        order.save()
    order.refresh_from_db()
    order.save()
