"""Rollbacks around more than one write: reloads, children, deletes."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from cas_orm import ErrRecordVersionConflict, Expect
from tests.django import tables
from tests.django.bazaar.look import version
from tests.django.bazaar.models import Car
from tests.django.shop.models import Novel, Order


def test_reloaded_inside_a_block_rolled_back(alias: str) -> None:
    """Won, overtaken and reloaded in one block: after its rollback the version is the row's again."""
    order = Order.objects.create()
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        order.save()
        Order.objects.update(n=5)
        order.refresh_from_db()
        raise RuntimeError
    assert Expect.of(order).record_version == 1
    order.save()
    assert version(order, alias) == 2


def test_a_version_of_a_block_rolled_back_is_not_believed(alias: str) -> None:
    """Rivals may reach the same number: the object must not win over what it has not seen."""
    order = Order.objects.create()
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        order.save()
        Order.objects.update(n=5)
        order.refresh_from_db()
        raise RuntimeError
    tables.rival(Order, order.pk, alias, record_version=3, title="theirs")
    with pytest.raises(ErrRecordVersionConflict):
        order.save()
    assert tables.row(Order, order.pk, alias)["title"] == "theirs"


def test_reloaded_inside_a_block_committed(alias: str) -> None:
    """The accepted twin."""
    order = Order.objects.create()
    with transaction.atomic(using=alias):
        order.save()
        Order.objects.update(n=5)
        order.refresh_from_db()
    assert Expect.of(order).record_version == 3
    order.save()


@pytest.mark.parametrize("model", [Novel, Car])
def test_a_child_deleted_in_a_block_rolled_back(alias: str, model: type[Any]) -> None:
    """Rows, keys and version are back, of every table."""
    obj = model.objects.create()
    key = obj.pk
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        obj.delete()
        raise RuntimeError
    obj.save()
    assert (obj.pk, version(obj, alias)) == (key, 2)


@pytest.mark.parametrize("model", [Novel, Car])
def test_a_child_inserted_in_a_block_rolled_back(alias: str, model: type[Any]) -> None:
    """New again, in every table."""
    obj = model()
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        obj.save()
        obj.save()
        raise RuntimeError
    obj.save()
    assert (model.objects.get().pk, obj.record_version) == (obj.pk, 1)


def test_a_deleted_object_saved_again(alias: str) -> None:
    """As in Django it is a new row, with numbers that start again."""
    order = Order.objects.create()
    order.new_generation_if_current()
    order.delete()
    order.save()
    assert (order.record_version, order.run_seq, Order.objects.count()) == (1, 0, 1)
