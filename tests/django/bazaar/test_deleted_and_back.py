"""Deleted and inserted again in one transaction, which is rolled back, committed, or half of each."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from django.db.models.signals import post_save

from cas_orm import ErrRecordVersionConflict
from tests.django.bazaar.look import numbers, receiving
from tests.django.shop.models import Cart, Novel, Order, Parcel, Ticket

each_model = pytest.mark.parametrize("model", [Order, Ticket, Cart, Parcel, Novel])


def again(obj: Any) -> None:
    """Insert the object that was deleted as a new row."""
    if isinstance(obj, Novel):
        obj.pk = obj.id = obj.item_ptr_id = None
    obj.save()


@each_model
def test_rolled_back(alias: str, model: type[Any]) -> None:
    """The object is the old row's again: the next save is its UPDATE, not a second row."""
    obj = model.objects.create()
    obj.save()
    key = obj.pk
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        obj.delete()
        again(obj)
        assert (obj.record_version, model.objects.count()) == (1, 1)
        raise RuntimeError
    obj.save()
    assert (obj.pk, model.objects.count(), numbers(obj, alias)) == (key, 1, (3, 0))


@each_model
def test_committed(alias: str, model: type[Any]) -> None:
    """The accepted twin: a new row at version 1, which can be saved."""
    obj = model.objects.create()
    obj.save()
    with transaction.atomic(using=alias):
        obj.delete()
        again(obj)
    assert (model.objects.count(), numbers(obj, alias)) == (1, (1, 0))
    obj.save()
    assert numbers(obj, alias) == (2, 0)


def test_saved_before_as_well(alias: str) -> None:
    """Three writes in one block, all of them undone; a rival between makes the object stale."""
    order = Order.objects.create(title="mine")
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        order.save()
        order.delete_if_current()
        order.save()
        order.save()
        raise RuntimeError
    Order.objects.update(title="theirs")
    with pytest.raises(ErrRecordVersionConflict):
        order.save()
    assert (Order.objects.get().title, numbers(order, alias)) == ("theirs", (2, 0))


def test_inserted_again_in_a_savepoint(alias: str) -> None:
    """Only the second half is undone: the object still has to be inserted."""
    order = Order.objects.create()
    with transaction.atomic(using=alias):
        order.delete()
        with pytest.raises(RuntimeError), transaction.atomic(using=alias):
            order.save()
            raise RuntimeError
        order.save()
    assert (Order.objects.count(), numbers(order, alias)) == (1, (1, 0))


def test_a_receiver_saves_the_new_row(alias: str) -> None:
    """A ``post_save`` that saves once more is part of what is undone."""
    order = Order.objects.create()
    order.save()

    def once_more(instance: Order, created: bool, **_: Any) -> None:
        if created:
            instance.save()

    with receiving(post_save, Order, once_more):
        with pytest.raises(RuntimeError), transaction.atomic(using=alias):
            order.delete()
            order.save()
            assert order.record_version == 2
            raise RuntimeError
        order.save()
    assert (Order.objects.count(), numbers(order, alias)) == (1, (3, 0))


@pytest.mark.parametrize("savepoint", [False, True])
@pytest.mark.parametrize("committed", [False, True])
def test_a_receiver_saves_the_first_row(alias: str, savepoint: bool, committed: bool) -> None:
    """The receiver's save comes after the INSERT and is undone with it, in a savepoint of its own or not."""

    def once_more(instance: Order, created: bool, **_: Any) -> None:
        if created and savepoint:
            with transaction.atomic(using=alias):
                instance.save()
        elif created:
            instance.save()

    order = Order()
    with receiving(post_save, Order, once_more):
        try:
            with transaction.atomic(using=alias):
                order.save()
                if not committed:
                    raise RuntimeError
        except RuntimeError:
            assert Order.objects.count() == 0
        order.save()
    assert (Order.objects.count(), numbers(order, alias)) == (1, (3 if committed else 2, 0))
