"""Transactions by hand, with autocommit off: nobody tells the library how they end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import transaction

from cas_orm import ErrRecordVersionConflict
from tests.django.bazaar.look import numbers, statements
from tests.django.shop.models import Novel, Order


@contextmanager
def by_hand(alias: str) -> Iterator[None]:
    """Turn autocommit off for a while; the body ends its transactions itself."""
    transaction.set_autocommit(False, using=alias)
    try:
        yield
    except BaseException:
        transaction.rollback(using=alias)
        raise
    finally:
        transaction.set_autocommit(True, using=alias)


def test_rolled_back(alias: str) -> None:
    """The version is unknown: refused without a statement until a reload."""
    rolled_back(alias, Order)


@pytest.mark.parametrize("database", ["postgres", "mariadb"])
def test_several_tables_rolled_back(alias: str) -> None:
    """The library's own savepoint is part of the transaction."""
    rolled_back(alias, Novel)


@pytest.mark.parametrize("database", ["sqlite"])
def test_several_tables_rolled_back_on_sqlite(alias: str) -> None:
    """So it should be here."""
    rolled_back(alias, Novel)


def rolled_back(alias: str, model: type[Order] | type[Novel]) -> None:
    """Save by hand and roll back."""
    obj = model.objects.create()
    with by_hand(alias):
        obj.save()
        transaction.rollback(using=alias)
    with statements(alias, 0), pytest.raises(ErrRecordVersionConflict) as caught:
        obj.save()
    assert caught.value.fenced
    obj.refresh_from_db()
    obj.save()
    assert numbers(obj, alias) == (2, 0)


def test_rolled_back_and_written_by_a_rival(alias: str) -> None:
    """The version that was rolled back is given to a rival: never taken for the object's own."""
    order = Order.objects.create(title="mine")
    with by_hand(alias):
        order.save()
        transaction.rollback(using=alias)
    Order.objects.update(title="theirs")
    with pytest.raises(ErrRecordVersionConflict):
        order.save()
    assert Order.objects.get().title == "theirs"


def test_rolled_back_and_used_while_still_off(alias: str) -> None:
    """Also the next transaction by hand."""
    order = Order.objects.create()
    with by_hand(alias):
        order.save()
        transaction.rollback(using=alias)
        with pytest.raises(ErrRecordVersionConflict):
            order.save()
        order.refresh_from_db()
        order.save()
        transaction.commit(using=alias)
    assert numbers(order, alias) == (2, 0)


def test_committed(alias: str) -> None:
    """The accepted twin, with autocommit on again."""
    order = Order.objects.create()
    with by_hand(alias):
        order.save()
        order.save()
        transaction.commit(using=alias)
    order.save()
    assert (order.record_version, numbers(order, alias)) == (4, (4, 0))


def test_committed_and_used_while_still_off(alias: str) -> None:
    """Several transactions by hand, one after another."""
    order = Order.objects.create()
    with by_hand(alias):
        for _ in range(3):
            order.save()
            transaction.commit(using=alias)
    order.save()
    assert (order.record_version, numbers(order, alias)) == (5, (5, 0))


def test_a_block_inside(alias: str) -> None:
    """A block in a transaction by hand is a savepoint: undone, the object is as before it."""
    order = Order.objects.create()
    with by_hand(alias):
        with pytest.raises(RuntimeError), transaction.atomic(using=alias):
            order.save()
            raise RuntimeError
        order.save()
        transaction.commit(using=alias)
    assert (order.record_version, numbers(order, alias)) == (2, (2, 0))


def test_an_insert_rolled_back(alias: str) -> None:
    """Nobody knows whether the row is there: refused."""
    with by_hand(alias):
        order = Order.objects.create()
        transaction.rollback(using=alias)
    with pytest.raises(ErrRecordVersionConflict):
        order.save()
    assert Order.objects.count() == 0


def test_a_delete_rolled_back(alias: str) -> None:
    """Nobody knows whether the row is there: a save must not insert a second one."""
    order = Order.objects.create()
    with by_hand(alias):
        order.delete()
        transaction.rollback(using=alias)
    with pytest.raises(ErrRecordVersionConflict):
        order.save()
    assert Order.objects.count() == 1


def test_an_insert_in_a_block_committed_by_hand(alias: str) -> None:
    """Committed, and then something else is rolled back: no save may insert a second row."""
    with by_hand(alias):
        with transaction.atomic(using=alias):
            order = Order.objects.create()
        transaction.commit(using=alias)
        transaction.rollback(using=alias)
    try:
        order.save()
    except ErrRecordVersionConflict:
        order.refresh_from_db()
        order.save()
    assert (Order.objects.count(), numbers(order, alias)) == (1, (2, 0))
