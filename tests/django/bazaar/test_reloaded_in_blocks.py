"""A reload inside a block that is rolled back: what was read stays, unless the block had written it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core import serializers
from django.db import transaction

from cas_orm import ErrRecordVersionConflict, Expect
from cas_orm_django import update_if_current
from tests.django import tables
from tests.django.bazaar.look import numbers
from tests.django.shop.models import Doc, Novel, Order


@pytest.mark.parametrize("model", [Order, Novel])
@pytest.mark.parametrize("fields", [None, ["record_version", "run_seq"]])
def test_without_writes_before(alias: str, model: type[Any], fields: list[str] | None) -> None:
    """The rollback undoes nothing: the object knows the newest version."""
    obj = model.objects.create()
    model.objects.get().new_generation_if_current()
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        obj.refresh_from_db(fields=fields)
        raise RuntimeError
    assert (obj.record_version, obj.run_seq) == (2, 1)
    obj.save()
    assert numbers(obj, alias) == (3, 1)


def test_a_refused_object_is_healed_by_it(alias: str) -> None:
    """The usual loop: refused, reloaded in a block of its own, which is rolled back for another reason."""
    order = Order.objects.create()
    Order.objects.update(n=1)
    assert not order.try_save_if_current()
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        order.refresh_from_db()
        raise RuntimeError
    order.save()
    assert numbers(order, alias) == (3, 0)


WRITES: list[Callable[[Order], Any]] = [
    lambda order: order.save(),
    lambda order: order.update_if_current(expect=Expect(run_seq=0), set={"n": 1}),
    lambda order: update_if_current(Order, order.pk, expect=Expect(run_seq=0), set={"n": 1}),
    lambda order: Order.objects.update(n=1),
    lambda order: Order.objects.bulk_update([order], ["n"]),
]


@pytest.mark.parametrize("write", range(len(WRITES)))
def test_with_writes_before(alias: str, write: int) -> None:
    """What was read is undone with the block: the version that comes back is never taken for a rival's."""
    order = Order.objects.create(title="mine")
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        WRITES[write](Order.objects.get())
        order.refresh_from_db()
        assert order.record_version == 2
        raise RuntimeError
    Order.objects.update(title="theirs")
    assert numbers(order, alias) == (2, 0)
    with pytest.raises(ErrRecordVersionConflict):
        order.save()
    assert tables.row(Order, order.pk, alias)["title"] == "theirs"


@pytest.mark.parametrize("write", range(len(WRITES)))
def test_with_writes_before_and_no_rival(alias: str, write: int) -> None:
    """The accepted twin: at the old version again, the next save wins; and so it does after a commit."""
    order = Order.objects.create()
    for error in (RuntimeError, None):
        try:
            with transaction.atomic(using=alias):
                WRITES[write](Order.objects.get())
                order.refresh_from_db()
                if error is not None:
                    raise error
        except RuntimeError:
            pass
        order.save()
    assert numbers(order, alias) == (4, 0)


def test_writes_in_a_savepoint_that_was_rolled_back(alias: str) -> None:
    """The savepoint's writes are gone before the reload: it read what stays."""
    order = Order.objects.create()
    Order.objects.update(n=1)
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        with pytest.raises(RuntimeError), transaction.atomic(using=alias):
            Order.objects.update(n=2)
            raise RuntimeError
        order.refresh_from_db()
        raise RuntimeError
    order.save()
    assert numbers(order, alias) == (3, 0)


def test_a_fixture_loaded_before(alias: str) -> None:
    """A fixture raises the version as any write does: undone, it is never taken for a rival's."""
    doc = Doc.objects.create(title="mine")
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        for found in serializers.deserialize("json", serializers.serialize("json", [doc]), using=alias):
            found.save(using=alias)
        doc.refresh_from_db()
        assert doc.record_version == 2
        raise RuntimeError
    Doc.objects.update(title="theirs")
    with pytest.raises(ErrRecordVersionConflict):
        doc.save()
    assert Doc.objects.get().title == "theirs"
