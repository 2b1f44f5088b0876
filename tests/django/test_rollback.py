"""Truthful versions on the less travelled ways: failing hooks, bulk writes, commits that fail."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from django.db import IntegrityError, connections, transaction
from django.db.models.signals import post_save, pre_save

from cas_orm import Outcome
from tests.django import tables
from tests.django.shop.models import Cart, CartLine, Doc, Novel, Order


class Undo(Exception):
    """Rolls a transaction back."""


def roll_back(alias: str, *writes: Any) -> None:
    """Run writes in a transaction that is rolled back."""
    with suppress(Undo), transaction.atomic(using=alias):
        for write in writes:
            write()
        raise Undo


@pytest.mark.parametrize("first", [True, False])
def test_somebody_elses_failing_hook(alias: str, first: bool) -> None:
    """A hook that fails after the commit takes nothing back: the write is in the row."""
    order = Order.objects.create()

    def fail() -> None:
        raise ZeroDivisionError

    with suppress(ZeroDivisionError), transaction.atomic(using=alias):
        if first:
            transaction.on_commit(fail, using=alias)
        order.save_if_current()
        if not first:
            transaction.on_commit(fail, using=alias)
    assert tables.row(Order, order.pk, alias)["record_version"] == 2
    assert order.save_if_current().record_version == 3


@pytest.mark.parametrize("in_transaction", [False, True])
def test_a_failing_on_won(alias: str, in_transaction: bool) -> None:
    """The win stands, and the object is in step, whatever the hook does."""
    order = Order.objects.create()

    def fail(outcome: Outcome) -> None:
        raise ZeroDivisionError

    try:
        if in_transaction:
            with transaction.atomic(using=alias):
                order.save_if_current(on_won=fail)
        else:
            order.save_if_current(on_won=fail)
    except ZeroDivisionError:
        pass
    assert order.save_if_current().record_version == 3


def test_an_on_won_that_writes_the_same_object(alias: str) -> None:
    """When the hook runs the object is in step."""
    order = Order.objects.create()
    order.save_if_current(on_won=lambda outcome: order.save())
    assert tables.row(Order, order.pk, alias)["record_version"] == order.record_version == 3


def _fail(**_: Any) -> None:
    raise ZeroDivisionError


def test_a_failing_post_save(alias: str) -> None:
    """In autocommit the row is written, so the object is in step; in a transaction both go back."""
    order = Order.objects.create()
    post_save.connect(_fail, sender=Order)
    try:
        with pytest.raises(ZeroDivisionError):
            order.save_if_current()
        assert tables.row(Order, order.pk, alias)["record_version"] == 2
        with pytest.raises(ZeroDivisionError), transaction.atomic(using=alias):
            order.save_if_current()
    finally:
        post_save.disconnect(_fail, sender=Order)
    assert order.save_if_current().record_version == 3


def test_a_failing_post_save_over_several_tables(alias: str) -> None:
    """Whatever the library's own transaction does, object and row agree afterwards."""
    novel = Novel.objects.create(name="a")
    post_save.connect(_fail, sender=Novel)
    try:
        with pytest.raises(ZeroDivisionError):
            novel.save_if_current()
    finally:
        post_save.disconnect(_fail, sender=Novel)
    assert novel.save_if_current()


def test_a_failing_pre_save(alias: str) -> None:
    """Nothing was sent, nothing moved."""
    order = Order.objects.create()
    pre_save.connect(_fail, sender=Order)
    try:
        with pytest.raises(ZeroDivisionError):
            order.save_if_current()
    finally:
        pre_save.disconnect(_fail, sender=Order)
    assert order.save_if_current().record_version == 2


def test_a_commit_that_fails(alias: str) -> None:
    """A deferred constraint refuses the whole transaction: not won, and the object knows."""
    order = Order.objects.create()
    told: list[Outcome] = []
    order.customer_id = 999_999
    with pytest.raises(IntegrityError), transaction.atomic(using=alias):
        order.save_if_current(on_won=told.append)
    connections[alias].close()
    assert told == []
    order.customer_id = None
    assert order.save_if_current().record_version == 2


def test_an_integrity_error_in_autocommit(alias: str) -> None:
    """The statement was refused: the object is as before."""
    order = Order.objects.create()
    order.customer_id = 999_999
    with pytest.raises(IntegrityError):
        order.save_if_current()
    order.customer_id = None
    assert order.save_if_current().record_version == 2


def test_bulk_create_rolled_back(alias: str) -> None:
    """The objects have to be inserted again."""
    orders = [Order(title=str(n)) for n in range(2)]
    roll_back(alias, lambda: Order.objects.bulk_create(orders))
    for order in orders:
        order.save()
    assert Order.objects.count() == 2
    assert {o.record_version for o in Order.objects.all()} == {1}


def test_bulk_update_rolled_back(alias: str) -> None:
    """The objects' versions go back with the rows."""
    orders = [Order.objects.create() for _ in range(2)]
    roll_back(alias, lambda: Order.objects.bulk_update(orders, ["n"]))
    for order in orders:
        assert order.save_if_current().record_version == 2


def test_get_or_create_rolled_back(alias: str) -> None:
    """An object that ``get_or_create`` made has to be inserted again."""
    made: list[Order] = []
    roll_back(alias, lambda: made.append(Order.objects.get_or_create(title="a")[0]))
    made[0].save()
    assert Order.objects.get().record_version == 1


def test_a_reload_inside_the_transaction(alias: str) -> None:
    """Reloaded after its own write and then rolled back, the object still finds its row."""
    order = Order.objects.create()
    roll_back(alias, order.save_if_current, order.refresh_from_db)
    assert order.save_if_current().record_version == 2


def test_plain_save_and_delete_rolled_back(alias: str) -> None:
    """Django's own methods leave the same marks."""
    doc = Doc.objects.create()
    key = doc.pk
    roll_back(alias, doc.save, doc.save)
    doc.save()
    assert tables.row(Doc, key, alias)["record_version"] == 2
    roll_back(alias, doc.delete)
    doc.refresh_from_db() if doc.pk else None
    doc.save()
    assert (doc.pk, tables.row(Doc, key, alias)["record_version"], Doc.objects.count()) == (key, 3, 1)


def test_a_cascading_delete_rolled_back(alias: str) -> None:
    """The bump that guards the cascade goes back as well."""
    cart = Cart.objects.create()
    CartLine.objects.create(cart=cart)
    roll_back(alias, cart.delete)
    assert cart.save_if_current().record_version == 2


def test_a_deleted_object_saved_again(alias: str) -> None:
    """As in Django: it is a new row, and it starts at version 1."""
    doc = Doc.objects.create(title="a")
    doc.save()
    doc.delete()
    doc.save()
    assert (tables.row(Doc, doc.pk, alias)["record_version"], doc.record_version) == (1, 1)
    doc.save()


def test_a_child_table_rolled_back(alias: str) -> None:
    """Inheritance inside the caller's transaction."""
    novel = Novel.objects.create(name="a")
    roll_back(alias, novel.save_if_current, novel.save)
    assert novel.save_if_current().record_version == 2


def test_own_transactions_are_not_provisional(alias: str) -> None:
    """Where the library opened the transaction itself, the win is final when the verb returns."""
    told: list[Outcome] = []
    novel = Novel.objects.create()
    assert novel.save_if_current(on_won=told.append).provisional is False
    cart = Cart.objects.create()
    assert cart.delete_if_current(on_won=told.append).provisional is False
    assert [o.provisional for o in told] == [False, False]


def test_autocommit_off(alias: str) -> None:
    """Without ``atomic`` and without autocommit a win is provisional."""
    order = Order.objects.create()
    connection = connections[alias]
    connection.set_autocommit(False)
    try:
        assert order.save_if_current().provisional is True
        connection.commit()
    finally:
        connection.set_autocommit(True)
    assert tables.row(Order, order.pk, alias)["record_version"] == 2
