"""Copies and pickles: the fence travels, open transactions do not; clones start again."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from cas_orm import ErrRecordVersionConflict
from tests.django import tables
from tests.django.bazaar.look import numbers, statements
from tests.django.bazaar.models import Car
from tests.django.shop.models import Device, Novel, Order, Parcel, Ticket


def pickled(obj: Any) -> Any:
    """Return the object out of a pickle."""
    return pickle.loads(pickle.dumps(obj))


COPIES: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, pickled]
each_way = pytest.mark.parametrize("copied", COPIES, ids=lambda way: way.__name__)


@each_way
@pytest.mark.parametrize("model", [Order, Novel, Car, Ticket, Parcel])
def test_a_copy_can_be_saved(alias: str, copied: Any, model: type[Any]) -> None:
    """The version travels; of copy and original the first wins."""
    obj = model.objects.create()
    twin = copied(obj)
    twin.save()
    with pytest.raises(ErrRecordVersionConflict):
        obj.save()
    assert numbers(obj, alias) == (2, 0)


@each_way
def test_a_copy_is_fenced(alias: str, copied: Any) -> None:
    """Refused without SQL, as the original; each is healed by its own reload."""
    order = Order.objects.create()
    tables.rival(Order, order.pk, alias, record_version=2)
    assert not order.try_save_if_current()
    twin = copied(order)
    with statements(alias, 0), pytest.raises(ErrRecordVersionConflict) as caught:
        twin.save()
    assert caught.value.fenced
    twin.refresh_from_db()
    twin.save()
    with statements(alias, 0), pytest.raises(ErrRecordVersionConflict):
        order.save()


@each_way
def test_assigning_the_version_to_a_fenced_copy(alias: str, copied: Any) -> None:
    """No way round: neither assignment nor copy lifts the fence."""
    order = Order.objects.create()
    tables.rival(Order, order.pk, alias, record_version=2)
    assert not order.try_save_if_current()
    twin = copied(order)
    twin.record_version = 2
    with pytest.raises(ErrRecordVersionConflict):
        twin.save()
    assert numbers(order, alias) == (2, 0)


@each_way
def test_an_unknown_version_travels(alias: str, copied: Any) -> None:
    """A copy has lost track as well."""
    device = Device.objects.create()
    tables.rival(Device, device.pk, alias, record_version=5)
    device.save(update_fields=["hits"])
    twin = copied(device)
    with statements(alias, 0), pytest.raises(ErrRecordVersionConflict):
        twin.save()
    twin.refresh_from_db()
    twin.save()


@each_way
def test_a_copy_from_an_open_transaction(alias: str, copied: Any) -> None:
    """After the commit both are current."""
    order = Order.objects.create()
    with transaction.atomic(using=alias):
        order.save()
        twin = copied(order)
    twin.save()
    assert numbers(order, alias) == (3, 0)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_from_a_transaction_rolled_back(alias: str, copied: Any) -> None:
    """The copy knows as well that the win was rolled back, and is refused where a rival has been since."""
    order = Order.objects.create()
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        order.save()
        twin = copied(order)
        raise RuntimeError
    Order.objects.update(n=5)
    assert not twin.try_save_if_current()
    assert numbers(order, alias) == (2, 0)


@each_way
def test_copying_does_not_disturb_the_original(alias: str, copied: Any) -> None:
    """The original still knows that its win was rolled back."""
    order = Order.objects.create()
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        order.save()
        copied(order)
        raise RuntimeError
    order.save()
    assert numbers(order, alias) == (2, 0)


@each_way
@pytest.mark.parametrize("fenced", [False, True])
def test_a_clone(alias: str, copied: Any, fenced: bool) -> None:
    """``pk=None``: a new row at version 1 and generation 0, even from a refused object."""
    order = Order.objects.create(title="a")
    order.save()
    order.new_generation_if_current()
    if fenced:
        tables.rival(Order, order.pk, alias, record_version=9)
        assert not order.try_save_if_current()
    clone = copied(order)
    clone.pk = None
    clone.save()
    assert (clone.record_version, clone.run_seq, numbers(clone, alias)) == (1, 0, (1, 0))
    clone.save()
    assert (numbers(clone, alias), Order.objects.count()) == ((2, 0), 2)


def test_a_clone_of_three_tables(alias: str) -> None:
    """Django's recipe for inherited models, every key to None; forgetting one overwrites no parent."""
    from django.db import IntegrityError

    novel = Novel.objects.create(name="a", genre="x")
    novel.new_generation_if_current()
    novel.pk = novel.id = None
    novel._state.adding = True
    with pytest.raises(IntegrityError):
        novel.save()
    novel.pk = novel.id = novel.item_ptr_id = None
    novel.save()
    assert sorted(n.record_version for n in Novel.objects.all()) == [1, 2]
    assert sorted(n.run_seq for n in Novel.objects.all()) == [0, 1]


def test_a_clone_with_a_new_token(alias: str) -> None:
    """A clone's write token is its own."""
    ticket = Ticket.objects.create()
    clone = copy.copy(ticket)
    clone.pk = None
    clone.save()
    assert clone.write_token != ticket.write_token


def test_force_insert_of_a_loaded_object(alias: str) -> None:
    """Under a new key it starts again; under its own it fails and stays as it was."""
    from django.db import IntegrityError

    parcel = Parcel.objects.create(label="a")
    parcel.save()
    with pytest.raises(IntegrityError):
        parcel.save(force_insert=True)
    assert parcel.record_version == 2
    parcel.save()
    key = parcel.pk
    parcel.pk = Parcel().pk
    parcel.save(force_insert=True)
    assert (numbers(parcel, alias), numbers(Parcel(pk=key), alias)) == ((1, 0), (3, 0))
