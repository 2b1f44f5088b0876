"""A block that raises its isolation level by itself: its snapshot may be older than the belief."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connections, transaction

from cas_orm import Expect, Verdict
from cas_orm_django import try_update_if_current
from tests.django import tables
from tests.django.shop.models import Order

on_postgres = pytest.mark.parametrize("database", ["postgres"])
OTHER_DOOR = "postgres_rr"  # a second connection to the same database


@contextmanager
def snapshot(alias: str, level: str | None) -> Iterator[None]:
    """Open a block of this isolation level, and its snapshot with it; the block writes nothing."""
    with transaction.atomic(using=alias):
        with connections[alias].cursor() as cursor:
            if level is not None:
                cursor.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
            cursor.execute("SELECT 1")
        yield


@on_postgres
@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
@pytest.mark.parametrize(
    "expect", [Expect(record_version=2), Expect(run_seq=1)], ids=["version", "generation"]
)
def test_a_belief_newer_than_the_snapshot(alias: str, level: str, expect: Expect) -> None:
    """The row looks older than what the writer learned elsewhere: nothing can be said of it."""
    key = Order.objects.create().pk
    with snapshot(alias, level):
        tables.rival(Order, key, OTHER_DOOR, record_version=2, run_seq=1)
        outcome = try_update_if_current(Order, key, expect=expect, set={"n": 1})
    assert (outcome.verdict, outcome.actual) == (Verdict.UNDIAGNOSED, None)
    assert try_update_if_current(Order, key, expect=expect, set={"n": 1})


@on_postgres
@pytest.mark.parametrize("level", [None, "READ COMMITTED"])
def test_a_block_without_a_snapshot(alias: str, level: str | None) -> None:
    """The accepted twin sees the row as it is; a belief that nobody can have learned is stale."""
    key = Order.objects.create().pk
    with snapshot(alias, level):
        tables.rival(Order, key, OTHER_DOOR, record_version=2, run_seq=1)
        assert try_update_if_current(Order, key, expect=Expect(record_version=2), set={"n": 1})
        late = try_update_if_current(Order, key, expect=Expect(record_version=9), set={"n": 1})
    assert late.verdict is Verdict.STALE


@on_postgres
@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_belief_as_old_as_the_snapshot(alias: str, level: str) -> None:
    """A belief older than what the snapshot shows is judged as ever."""
    key = Order.objects.create().pk
    tables.rival(Order, key, alias, record_version=5)
    with snapshot(alias, level):
        outcome = try_update_if_current(Order, key, expect=Expect(record_version=4), set={"n": 1})
        assert outcome.verdict is Verdict.STALE
        assert try_update_if_current(Order, key, expect=Expect(record_version=5), set={"n": 1})
