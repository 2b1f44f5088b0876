"""Copies and pickles carried out of a transaction that is rolled back."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from django.db import transaction

from cas_orm import ErrRecordVersionConflict
from cas_orm_django.memory import recall
from tests.django.bazaar.look import numbers
from tests.django.shop.models import Novel, Order, Parcel, Ticket

each_way = pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])


@each_way
@pytest.mark.parametrize("model", [Order, Novel, Ticket, Parcel])
def test_a_copy_of_a_win_rolled_back(alias: str, copied: Any, model: type[Any]) -> None:
    """Copy and original are at the old version again; of the two the first wins."""
    obj = model.objects.create()
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        obj.save()
        twin = copied(obj)
        raise RuntimeError
    twin.save()
    assert (twin.record_version, numbers(twin, alias)) == (2, (2, 0))
    with pytest.raises(ErrRecordVersionConflict):
        obj.save()


@each_way
def test_a_copy_does_not_match_a_later_rival(alias: str, copied: Any) -> None:
    """The version that was rolled back is given to a rival: the copy must not take it for its own."""
    order = Order.objects.create(title="mine")
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        order.save()
        twin = copied(order)
        raise RuntimeError
    Order.objects.update(title="theirs")
    with pytest.raises(ErrRecordVersionConflict):
        twin.save()
    assert Order.objects.get().title == "theirs"


@each_way
def test_a_copy_of_an_insert_rolled_back(alias: str, copied: Any) -> None:
    """The copy still has to be inserted."""
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        order = Order.objects.create(title="a")
        twin = copied(order)
        raise RuntimeError
    twin.save()
    assert (Order.objects.count(), numbers(twin, alias)) == (1, (1, 0))


@each_way
def test_a_copy_goes_its_own_way(alias: str, copied: Any) -> None:
    """What the copy writes inside a savepoint is undone for the copy alone."""
    order = Order.objects.create()
    with transaction.atomic(using=alias):
        order.save()
        twin = copied(order)
        with pytest.raises(RuntimeError), transaction.atomic(using=alias):
            twin.save()
            raise RuntimeError
        assert (order.record_version, numbers(order, alias)) == (2, (2, 0))
        order.save()
    with pytest.raises(ErrRecordVersionConflict):
        twin.save()
    assert numbers(order, alias) == (3, 0)


def test_a_pickle_carries_no_marks(alias: str) -> None:
    """A pickle may be read in another process, where nobody knows of the transaction."""
    order = Order.objects.create()
    with transaction.atomic(using=alias):
        order.save()
        remembered = recall(order)
        assert remembered is not None
        assert remembered.marks
        found = recall(twin := pickle.loads(pickle.dumps(order)))
        assert found is None or not found.marks
        kept = recall(order)
        assert kept is not None
        assert kept.marks
    twin.save()
    assert numbers(order, alias) == (3, 0)


def test_a_pickle_of_a_copy(alias: str) -> None:
    """Carried both ways: readable, and without marks."""
    order = Order.objects.create()
    with transaction.atomic(using=alias):
        order.save()
        twin = pickle.loads(pickle.dumps(copy.deepcopy(order)))
    found = recall(twin)
    assert found is None or not found.marks
    twin.save()
    assert numbers(order, alias) == (3, 0)
