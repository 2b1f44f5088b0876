"""SQLite is busy before the library's own transaction has begun: the engine's refusal, as anywhere else."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connections

from cas_orm import Expect, TransientConflict
from cas_orm_django import delete_if_current, update_if_current
from tests.django.shop.models import Cart, CartLine, Novel, Order, Remark

on_sqlite = pytest.mark.parametrize("database", ["sqlite"])

WRITES: list[Callable[[Any, Any], Any]] = [
    lambda novel, cart: novel.save(),
    lambda novel, cart: novel.save_if_current(),
    lambda novel, cart: novel.try_save_if_current(),
    lambda novel, cart: novel.update_if_current(expect=Expect(run_seq=0), set={"genre": "b", "name": "b"}),
    lambda novel, cart: novel.delete(),
    lambda novel, cart: cart.delete(),
    lambda novel, cart: cart.delete_if_current(),
    lambda novel, cart: delete_if_current(Cart, cart.pk, expect=Expect(run_seq=0)),
]


@contextmanager
def busy(alias: str) -> Iterator[None]:
    """Let somebody else hold the write lock, and do not wait for it."""
    connection = connections[alias]
    connection.ensure_connection()
    rival = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    try:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 20")
        rival.execute("BEGIN IMMEDIATE")
        yield
    finally:
        rival.close()
        connection.close()


@on_sqlite
@pytest.mark.parametrize("write", range(len(WRITES)))
def test_busy_at_begin(alias: str, write: int) -> None:
    """Several statements in one transaction: refused at its BEGIN, nothing written, and won afterwards."""
    novel, cart = Novel.objects.create(name="a"), Cart.objects.create()
    CartLine.objects.create(cart=cart)
    Remark.objects.create(cart=cart)
    with busy(alias), pytest.raises(TransientConflict) as caught:
        WRITES[write](novel, cart)
    assert (caught.value.code, caught.value.transaction) == ("cas-transient", "open")
    assert caught.value.__cause__ is not None
    assert (Novel.objects.get().record_version, Cart.objects.get().record_version) == (1, 1)
    assert (CartLine.objects.count(), Remark.objects.get().cart_id) == (1, cart.pk)
    WRITES[write](novel, cart)


@on_sqlite
def test_busy_at_one_statement(alias: str) -> None:
    """The accepted twin: the same refusal where there is no BEGIN."""
    order = Order.objects.create()
    with busy(alias):
        with pytest.raises(TransientConflict):
            order.save()
        with pytest.raises(TransientConflict):
            update_if_current(Order, order.pk, expect=Expect(run_seq=0), set={"n": 1})
    order.save()
    assert order.record_version == 2
