"""Deferred fields, ``update_fields``, raw queries: what was loaded may be saved, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import models

from cas_orm import ErrRecordVersionConflict, InvalidExpectation, MissingExpectation
from tests.django import tables
from tests.django.bazaar.look import numbers, statements, version
from tests.django.bazaar.models import Car, Reading, Upload
from tests.django.shop.models import CartLine, Device, Invoice, Novel, Order, Remark

LOADED: list[Callable[[], Any]] = [
    lambda: Order.objects.only("title"),
    lambda: Order.objects.defer("n", "note"),
    lambda: Order.objects.only("title", "customer__name").select_related("customer"),
    lambda: Order.objects.defer("record_version"),
    lambda: Order.objects.defer(None),
    lambda: Order.objects.only(),
    lambda: Order.objects.only("n").only("title"),
    lambda: Order.objects.defer("n").defer("note"),
    lambda: Order.objects.only("title", "n").defer("n"),
    lambda: Order.objects.all().only("pk"),
]


@pytest.mark.parametrize("query", range(len(LOADED)))
def test_the_numbers_are_always_loaded(alias: str, query: int) -> None:
    """Whatever is deferred, the object can be saved, in one statement, and nothing deferred is touched."""
    key = Order.objects.create(title="a", n=1).pk
    order = LOADED[query]().get()
    deferred = order.get_deferred_fields()
    assert not {"record_version", "run_seq"} & deferred
    tables.rival(Order, key, alias, n=7)
    with statements(alias, 1):
        order.save()
    assert order.get_deferred_fields() == deferred
    assert tables.row(Order, key, alias)["n"] == (7 if "n" in deferred else 1)
    assert version(order, alias) == 2


@pytest.mark.parametrize(
    ("model", "name"), [(Novel, "genre"), (Novel, "name"), (Car, "colour"), (Car, "station")]
)
def test_deferred_columns_of_children(alias: str, model: type[Any], name: str) -> None:
    """The version of the parent's table is kept, deferred columns of every table left alone."""
    model.objects.create()
    obj = model.objects.only(name).get()
    deferred = obj.get_deferred_fields()
    setattr(obj, name, "b")
    obj.save()
    parents = model._meta.all_parents
    keys = {key.attname for parent in parents for key in parent._meta.pk_fields}
    keys |= {link.attname for link in model._meta.parents.values() if link is not None}
    assert obj.get_deferred_fields() | keys == deferred | keys
    assert (getattr(model.objects.get(), name), numbers(obj, alias)) == ("b", (2, 0))


def test_deferred_stamps_and_generated_columns(alias: str) -> None:
    """Not loaded, not written; a generated column may be handed back."""
    key = Invoice.objects.create(net=1).pk
    before = tables.row(Invoice, key, alias)
    invoice = Invoice.objects.only("net").get()
    invoice.net = 5
    invoice.save()
    after = tables.row(Invoice, key, alias)
    assert (after["net"], after["gross"], after["updated_at"]) == (5, 5, before["updated_at"])
    assert invoice.gross == 5


def test_a_stranger_left_the_version_out(alias: str) -> None:
    """Refused without a query, by every way of loading that the library does not see."""
    order = Order.objects.create(title="a")
    Remark.objects.create()
    table = Order._meta.db_table
    for loaded in (
        models.QuerySet(Order, using=alias).only("title").get(),
        models.QuerySet(Order, using=alias).defer("record_version").get(),
        Order.objects.raw(f"SELECT id, title FROM {table}")[0],
    ):
        with statements(alias, 0):
            for write in (loaded.save, loaded.save_if_current, loaded.delete):
                with pytest.raises(MissingExpectation):
                    write()
        assert "record_version" in loaded.get_deferred_fields()
    assert numbers(order, alias) == (1, 0)


def test_a_related_object_without_its_version(alias: str) -> None:
    """``only()`` of a stranger's queryset reaches into related objects."""
    from tests.django.shop.models import Cart

    CartLine.objects.create(cart=Cart.objects.create())
    line = CartLine.objects.select_related("cart").only("sku", "cart__name").get()
    with statements(alias, 0), pytest.raises(MissingExpectation):
        line.cart.save()
    line.cart.refresh_from_db()
    line.cart.save()


def test_raw_queries(alias: str) -> None:
    """A raw query that selects the version gives an object that can be saved."""
    Order.objects.create(title="a")
    table = Order._meta.db_table
    Order.objects.raw(f"SELECT * FROM {table}")[0].save()
    order = Order.objects.raw(f"SELECT id, title, record_version FROM {table}")[0]
    order.title = "b"
    order.save()
    assert (tables.row(Order, order.pk, alias)["title"], numbers(order, alias)) == ("b", (3, 0))


def test_without_the_generation(alias: str) -> None:
    """Version alone is enough to save; a hand-over needs the generation."""
    Order.objects.create(title="a")
    order = models.QuerySet(Order, using=alias).only("title", "record_version").get()
    with statements(alias, 0), pytest.raises(MissingExpectation):
        order.new_generation_if_current()
    with statements(alias, 1):
        order.save()


@pytest.mark.parametrize("verb", ["save", "save_if_current"])
@pytest.mark.parametrize("names", [["customer"], ["customer_id"], ("title", "n"), {"title"}])
def test_names_of_columns(alias: str, verb: str, names: Any) -> None:
    """Names and attribute names, in any iterable; the version rises once."""
    order = Order.objects.create()
    getattr(order, verb)(update_fields=names)
    assert numbers(order, alias) == (2, 0)


@pytest.mark.parametrize("verb", ["save", "save_if_current"])
@pytest.mark.parametrize(
    "name", ["pk", "id", "record_version", "run_seq", "nowhere", "remarks", "customer__name"]
)
def test_names_that_are_no_columns(alias: str, verb: str, name: str) -> None:
    """Refused before SQL, the object stays usable."""
    order = Order.objects.create()
    with statements(alias, 0), pytest.raises(ValueError):
        getattr(order, verb)(update_fields=["title", name])
    order.save()
    assert numbers(order, alias) == (2, 0)


def test_a_partial_save_of_a_stale_object(alias: str) -> None:
    """Disjoint edits conflict: whatever is named, the version is compared."""
    order = Order.objects.create()
    other = Order.objects.get()
    order.save(update_fields=["title"])
    with pytest.raises(ErrRecordVersionConflict):
        other.save(update_fields=["n"])


def test_unversioned_columns(alias: str) -> None:
    """Left out of a full save, written by name without a bump, believed by key and generation."""
    device = Device.objects.create()
    other = Device.objects.get()
    device.hits = 5
    device.save()
    assert tables.row(Device, device.pk, alias)["hits"] == 0
    other.hits = 7
    with statements(alias, 1):
        other.save(update_fields=["hits"])
    assert (tables.row(Device, device.pk, alias)["hits"], numbers(device, alias)) == (7, (2, 0))
    with pytest.raises(ErrRecordVersionConflict):
        other.save()
    reading = Reading.objects.create()
    reading.save(update_fields=["seen", "value"])
    assert numbers(reading, alias) == (2, 0)


def test_an_unversioned_column_of_an_older_generation(alias: str) -> None:
    """A zombie's heartbeat is refused."""
    device = Device.objects.create()
    tables.rival(Device, device.pk, alias, run_seq=1)
    with pytest.raises(Exception, match="cas-superseded"):
        device.save(update_fields=["hits"])


def test_a_partial_save_of_nothing(alias: str) -> None:
    """``save(update_fields=[])`` sends nothing even for a fenced object; the verb checks and bumps."""
    upload = Upload.objects.create()
    assert upload.save_if_current(update_fields=[]).record_version == 2
    tables.rival(Upload, upload.pk, alias, record_version=5)
    with pytest.raises(ErrRecordVersionConflict):
        upload.save_if_current(update_fields=[])
    with statements(alias, 0):
        upload.save(update_fields=[])


def test_a_string_is_not_a_list_of_names(alias: str) -> None:
    """A forgotten comma does not save the letters."""
    order = Order.objects.create()
    with statements(alias, 0), pytest.raises((InvalidExpectation, TypeError)):
        order.save_if_current(update_fields="title")
