"""A trigger of somebody else's beside the guarded UPDATE."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connections

from cas_orm import Expect
from cas_orm_django import update_if_current
from tests.django.bazaar.look import numbers
from tests.django.shop.models import Item, Novel, Order

on_mariadb = pytest.mark.parametrize("database", ["mariadb"])


@contextmanager
def audited(alias: str, model: type[Order] | type[Item], moment: str) -> Iterator[None]:
    """Note every UPDATE of a table in another one, whose key counts up from a high number."""
    table = model._meta.db_table
    made = "CREATE TABLE audit (id BIGINT AUTO_INCREMENT PRIMARY KEY, noted BIGINT) AUTO_INCREMENT = 5000"
    watched = f"CREATE TRIGGER noting {moment} UPDATE ON {table} FOR EACH ROW"
    try:
        with connections[alias].cursor() as cursor:
            cursor.execute(made)
            cursor.execute(f"{watched} INSERT INTO audit (noted) VALUES (NEW.id)")
        yield
    finally:
        with connections[alias].cursor() as cursor:
            cursor.execute("DROP TRIGGER IF EXISTS noting")
            cursor.execute("DROP TABLE IF EXISTS audit")


@on_mariadb
@pytest.mark.parametrize("moment", ["BEFORE", "AFTER"])
def test_an_audit_trigger(alias: str, moment: str) -> None:
    """Its own AUTO_INCREMENT is not the row's version: by key, on an object, and again."""
    order = Order.objects.create()
    with audited(alias, Order, moment):
        for expected in (2, 3):
            outcome = update_if_current(Order, order.pk, expect=Expect(run_seq=0), set={"n": expected})
            assert (outcome.record_version, numbers(order, alias)) == (expected, (expected, 0))
        held = Order.objects.get()
        assert held.update_if_current(expect=Expect(run_seq=0), set={"n": 9}).record_version == 4
        held.save()
        assert (held.record_version, numbers(order, alias)) == (5, (5, 0))


@on_mariadb
@pytest.mark.parametrize("moment", ["BEFORE", "AFTER"])
def test_an_audit_trigger_of_a_parent_table(alias: str, moment: str) -> None:
    """Several statements in a row: each has an answer of its own."""
    novel = Novel.objects.create()
    with audited(alias, Item, moment):
        outcome = update_if_current(
            Novel, novel.pk, expect=Expect(run_seq=0), set={"genre": "b", "name": "b"}
        )
    assert (outcome.record_version, numbers(novel, alias)) == (2, (2, 0))


@on_mariadb
def test_an_insert_of_ones_own_before(alias: str) -> None:
    """The accepted twin, without a trigger: an earlier INSERT of the connection is not the answer either."""
    order = Order.objects.create()
    for _ in range(4):
        Order.objects.create()
    outcome = update_if_current(Order, order.pk, expect=Expect(run_seq=0), set={"n": 1})
    assert outcome.record_version == 2
