"""Deadlocks, lock time limits, vetoes: the engine refuses, object and transaction stay truthful."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connections
from django.db.transaction import TransactionManagementError

from cas_orm import ConflictError, Expect, Outcome, TransientConflict, Verdict
from tests.django import tables
from tests.django.shop.models import Customer, Order
from tests.races.actors import Actor
from tests.races.on import SERVERS, on
from tests.races.test_isolation import needs_rollback, save


@on("postgres", "mariadb", "mariadb_rr")
def test_deadlock_by_opposite_order(door: str, pair: list[Actor]) -> None:
    """One is sacrificed, told so, and its transaction is dead as a whole; the other wins both rows."""
    query = Order.objects.using(door)
    keys = [query.create(title="a").pk for _ in range(2)]
    held = [[actor.do(query.get, pk=key) for key in keys] for actor in pair]
    for n, actor in enumerate(pair):
        actor.begin()
        actor.do(Customer.objects.using(door).create, name=f"before {n}")
        actor.do(save, held[n][n], f"actor {n}")
    waiting = pair[0].blocks(save, held[0][1], "actor 0")
    other = pair[1].start(save, held[1][0], "actor 1")
    errors = [waiting.exception(30), other.exception(30)]
    assert sorted(type(e).__name__ for e in errors) == ["NoneType", "TransientConflict"]
    victim = 0 if errors[0] else 1
    winner = 1 - victim
    assert errors[victim].transaction == "dead"
    assert pair[victim].do(needs_rollback, door)
    after = pair[victim].fails(Customer.objects.using(door).create, name="after")
    assert isinstance(after, TransactionManagementError)
    pair[victim].rollback()
    pair[winner].commit()
    assert [tables.row(Order, key, door)["title"] for key in keys] == [f"actor {winner}"] * 2
    assert [c.name for c in Customer.objects.using(door)] == [f"before {winner}"]


@on("postgres", "mariadb")
def test_the_victim_of_a_deadlock_heals(door: str, pair: list[Actor]) -> None:
    """After the rollback the victim's objects are as before its transaction: a reload and a retry win."""
    query = Order.objects.using(door)
    keys = [query.create(title="a").pk for _ in range(2)]
    held = [[actor.do(query.get, pk=key) for key in keys] for actor in pair]
    for n, actor in enumerate(pair):
        actor.begin()
        actor.do(save, held[n][n], "x")
    waiting = pair[0].blocks(save, held[0][1], "x")
    other = pair[1].start(save, held[1][0], "x")
    victim = 0 if waiting.exception(30) else 1
    assert other.exception(30) or victim == 0
    pair[victim].rollback()
    pair[1 - victim].rollback()
    for order in held[victim]:
        pair[victim].do(order.refresh_from_db)
        assert pair[victim].do(save, order, "retried").record_version == 2


@pytest.mark.parametrize("mode", ["autocommit", "transaction"])
@on(*SERVERS)
def test_lock_time_limit(door: str, pair: list[Actor], mode: str) -> None:
    """A lock that is not granted in time: transient, with the truth about the transaction."""
    early, late = pair
    query = Order.objects.using(door)
    key = query.create(title="a").pk
    held = late.do(query.get, pk=key)
    early.begin()
    early.do(save, early.do(query.get, pk=key), "first")
    limit = "SET lock_timeout = '50ms'" if door == "postgres" else "SET innodb_lock_wait_timeout = 0"
    late.ask(limit)
    if mode == "transaction":
        late.begin()
        late.do(Customer.objects.using(door).create, name="before")
    error = late.fails(save, held, "late")
    assert isinstance(error, TransientConflict)
    assert not error.fenced
    if mode == "transaction":
        assert error.transaction == ("dead" if door == "postgres" else "open")
        assert late.do(needs_rollback, door) is (door == "postgres")
        late.rollback()
    early.rollback()
    assert late.do(save, held, "late").verdict is Verdict.WON


@contextmanager
def veto(alias: str) -> Iterator[None]:
    """Put a trigger on the orders that makes every UPDATE affect zero rows."""
    make = {
        "sqlite": [
            "CREATE TRIGGER veto BEFORE UPDATE ON shop_order BEGIN SELECT RAISE(IGNORE); END",
        ],
        "postgresql": [
            "CREATE FUNCTION veto() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
            "CREATE TRIGGER veto BEFORE UPDATE ON shop_order FOR EACH ROW EXECUTE FUNCTION veto()",
        ],
    }
    drop = {
        "sqlite": ["DROP TRIGGER veto"],
        "postgresql": ["DROP TRIGGER veto ON shop_order", "DROP FUNCTION veto"],
    }
    vendor = connections[alias].vendor
    with connections[alias].cursor() as cursor:
        for sql in make[vendor]:
            cursor.execute(sql)
    try:
        yield
    finally:
        with connections[alias].cursor() as cursor:
            for sql in drop[vendor]:
                cursor.execute(sql)


@on("sqlite", "postgres")
def test_a_vetoing_trigger(door: str) -> None:
    """Refused although the row looks as believed: UNDIAGNOSED, and nothing is claimed about the row."""
    order = Order.objects.using(door).create(title="a")
    with veto(door):
        outcome = order.try_save_if_current()
        assert isinstance(outcome, Outcome)
        assert (outcome.verdict, outcome.actual) == (Verdict.UNDIAGNOSED, None)
        with pytest.raises(ConflictError) as caught:
            outcome.or_raise()
        assert type(caught.value) is ConflictError
        assert caught.value.code == "cas-undiagnosed"
    order.refresh_from_db()
    assert order.save_if_current(expect=Expect(title="a"))


@on("postgres")
def test_a_database_error_is_not_a_conflict(door: str) -> None:
    """What is wrong with the data is Django's own error, and the object stays as it was."""
    from django.db import DataError

    order = Order.objects.using(door).create(title="a")
    order.title = "x" * 500
    with pytest.raises(DataError):
        order.save_if_current()
    assert order.record_version == 1
    order.title = "b"
    assert order.save_if_current().record_version == 2
