"""An object whose version ran ahead of its other attributes is in doubt: no full write until a reload."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import models

from cas_orm import ErrRecordVersionConflict, Expect, MissingExpectation
from tests.django import tables
from tests.django.bazaar.look import numbers, statements, version
from tests.django.shop.models import Cart, Customer, Journal, Order, Remark

PARTIAL: list[Callable[[Order], Any]] = [
    lambda order: order.save_if_current(expect=Expect(record_version=2), update_fields=["n"]),
    lambda order: order.save_if_current(expect=Expect(record_version=2), update_fields=[]),
    lambda order: order.update_if_current(expect=Expect(record_version=2), set={"n": 3}),
    lambda order: order.new_generation_if_current(expect=Expect(record_version=2)),
]


def doubtful(alias: str) -> Order:
    """Return an object that wrote one column under a version newer than the one it has seen."""
    order = Order.objects.create(title="mine")
    tables.rival(Order, order.pk, alias, record_version=2, title="theirs")
    PARTIAL[0](order)
    return order


def in_doubt(obj: Any, alias: str) -> None:
    """Assert that the object is refused without a statement, until it is reloaded."""
    for write in (obj.save, obj.save_if_current, obj.delete):
        with statements(alias, 0), pytest.raises(ErrRecordVersionConflict) as caught:
            write()
        assert caught.value.fenced
    obj.refresh_from_db()
    obj.save()


@pytest.mark.parametrize("write", range(len(PARTIAL)))
def test_a_partial_write_under_a_newer_version(alias: str, write: int) -> None:
    """It wins, but the attributes that it did not write are older: the next save would undo the rival's."""
    order = Order.objects.create(title="mine")
    tables.rival(Order, order.pk, alias, record_version=2, title="theirs")
    assert PARTIAL[write](order).record_version == 3
    in_doubt(order, alias)
    assert tables.row(Order, order.pk, alias)["title"] == "theirs"


@pytest.mark.parametrize("write", range(len(PARTIAL)))
def test_a_partial_write_under_the_seen_version(alias: str, write: int) -> None:
    """The accepted twin: the version was named, and is the one that was seen."""
    order = Order.objects.create(title="mine")
    order.save()
    assert PARTIAL[write](order).record_version == 3
    order.save()
    assert version(order, alias) == 4


def test_a_whole_write_under_a_newer_version(alias: str) -> None:
    """Everything that the object has is in the row afterwards: in step."""
    order = Order.objects.create(title="mine")
    tables.rival(Order, order.pk, alias, record_version=2, title="theirs")
    order.save_if_current(expect=Expect(record_version=2))
    order.save()
    assert (tables.row(Order, order.pk, alias)["title"], version(order, alias)) == ("mine", 4)


def test_a_whole_write_of_what_is_loaded(alias: str) -> None:
    """What is deferred was never seen: the loaded columns are the whole object."""
    key = Order.objects.create(title="mine").pk
    order = Order.objects.only("title").get()
    tables.rival(Order, key, alias, record_version=2, n=7)
    order.save_if_current(expect=Expect(record_version=2))
    order.save()
    assert (tables.row(Order, key, alias)["n"], version(order, alias)) == (7, 4)


STRANGERS: list[Callable[[str], Any]] = [
    lambda alias: models.QuerySet(Order, using=alias).only("title").get(),
    lambda alias: models.QuerySet(Order, using=alias).defer("record_version").get(),
    lambda alias: Order.objects.raw(f"SELECT id, title FROM {Order._meta.db_table}", using=alias)[0],
]


@pytest.mark.parametrize("load", range(len(STRANGERS)))
def test_a_version_that_was_loaded_later(alias: str, load: int) -> None:
    """A glance at ``order.record_version`` does not make the title any newer."""
    key = Order.objects.create(title="mine").pk
    order = STRANGERS[load](alias)
    tables.rival(Order, key, alias, record_version=2, title="theirs")
    assert order.record_version == 2
    in_doubt(order, alias)
    assert tables.row(Order, key, alias)["title"] == "theirs"


@pytest.mark.parametrize("load", range(len(STRANGERS)))
def test_a_whole_reload_of_what_a_stranger_loaded(alias: str, load: int) -> None:
    """The accepted twin."""
    Order.objects.create(title="a")
    order = STRANGERS[load](alias)
    order.refresh_from_db()
    order.save()
    assert numbers(order, alias) == (2, 0)


def test_another_deferred_column_loaded_later(alias: str) -> None:
    """The library's own ``only()`` loads the version at once: a later glance elsewhere is no doubt."""
    Order.objects.create(title="a", n=1)
    order = Order.objects.only("title").get()
    assert order.n == 1
    order.save()
    assert numbers(order, alias) == (2, 0)


def test_only_reaches_into_related_objects(alias: str) -> None:
    """The related object keeps its numbers as well, and can be saved."""
    Remark.objects.create(cart=Cart.objects.create(name="a"))
    for query in (
        Remark.objects.only("text", "cart__name"),
        Remark.objects.only("cart__name").defer("text"),
        Remark.objects.defer("cart__record_version", "cart__run_seq"),
    ):
        remark = query.select_related("cart").get()
        with statements(alias, 0):
            assert not {"record_version", "run_seq"} & remark.cart.get_deferred_fields()
        remark.cart.save()
        remark.save()


def test_expect_of_a_doubtful_object(alias: str) -> None:
    """There is no version to believe; columns that are named can be believed, after a reload everything."""
    order = doubtful(alias)
    with statements(alias, 0), pytest.raises(MissingExpectation):
        Expect.of(order)
    with pytest.raises(MissingExpectation):
        Expect.of(order, "record_version", "state")
    assert Expect.of(order, "n") == Expect(n=0)
    order.refresh_from_db()
    assert Expect.of(order) == Expect(record_version=3, run_seq=0)


def test_a_reload_from_a_queryset_that_leaves_the_version_out(alias: str) -> None:
    """The fence stays: the version was not read, whatever ``fields`` says."""
    order = Order.objects.create(title="mine")
    tables.rival(Order, order.pk, alias, record_version=2, title="theirs")
    assert not order.try_save_if_current()
    order.refresh_from_db(from_queryset=models.QuerySet(Order, using=alias).only("title"))
    with statements(alias, 0), pytest.raises(ErrRecordVersionConflict) as caught:
        order.save()
    assert caught.value.fenced
    order.refresh_from_db(from_queryset=models.QuerySet(Order, using=alias))
    order.save()
    assert numbers(order, alias) == (3, 0)


def test_a_current_object_reloaded_without_its_version(alias: str) -> None:
    """The belief is neither renewed nor lost."""
    order = Order.objects.create(note="mine")
    order.refresh_from_db(from_queryset=models.QuerySet(Order, using=alias).only("title"))
    order.save()
    tables.rival(Order, order.pk, alias, record_version=3, note="theirs")
    order.refresh_from_db(from_queryset=models.QuerySet(Order, using=alias).only("title"))
    with pytest.raises(ErrRecordVersionConflict):
        order.save()
    assert tables.row(Order, order.pk, alias)["note"] == "theirs"


def test_a_whole_write_through_the_users_own_save(alias: str) -> None:
    """In step as well."""
    key = Journal.objects.create(title="mine").pk
    journal = Journal.objects.get()
    tables.rival(Journal, key, alias, record_version=2)
    journal.save_if_current(expect=Expect(record_version=2))
    journal.save()
    assert version(journal, alias) == 4


def test_a_whole_write_of_what_is_loaded_through_save(alias: str) -> None:
    """An object with a related one takes the way through ``save()``: in step all the same."""
    key = Order.objects.create(customer=Customer.objects.create(name="a")).pk
    order = Order.objects.only("title", "customer__name").select_related("customer").get()
    tables.rival(Order, key, alias, record_version=2)
    order.save_if_current(expect=Expect(record_version=2))
    order.save()
    assert version(order, alias) == 4
