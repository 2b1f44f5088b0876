"""Which database a verb writes to."""

from __future__ import annotations

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from cas_orm import Expect, Verdict
from cas_orm_django import update_if_current
from tests.django import tables
from tests.django.fixtures import alias_or_skip
from tests.django.router import routed
from tests.django.shop.models import Order


def test_the_alias_in_use_may_be_named(alias: str) -> None:
    """``using`` with the router's own choice changes nothing."""
    order = Order.objects.create()
    assert order.save_if_current(using=alias)
    assert order.update_if_current(expect=Expect(record_version=2), set={"n": 1}, using=alias)
    assert update_if_current(Order, order.pk, expect=Expect(record_version=3), set={"n": 2}, using=alias)
    assert order.try_delete_if_current(using=alias).verdict is Verdict.STALE


@pytest.fixture
def two_doors(_open: None) -> tuple[str, str]:
    """Two aliases onto one test database: a replica for reading and the primary."""
    return "default", "sqlite_deferred"


def test_read_from_a_replica_written_to_the_primary(two_doors: tuple[str, str]) -> None:
    """An object that the router read elsewhere is written where the router writes."""
    primary, replica = two_doors
    with routed(primary, reads=replica):
        Order.objects.create(title="a")
        order = Order.objects.get()
        assert order._state.db == replica
        with CaptureQueriesContext(connections[primary]) as sent:
            order.save_if_current()
        assert len(sent) == 1
        order.save()
        tables.rival(Order, order.pk, primary, record_version=9)
        with CaptureQueriesContext(connections[primary]) as sent:
            outcome = order.try_save_if_current()
        assert (outcome.verdict, len(sent)) == (Verdict.STALE, 2)
        assert outcome.actual["record_version"] == 9
        tables.empty(primary)


def test_an_alias_that_the_router_would_not_choose(two_doors: tuple[str, str]) -> None:
    """An explicit ``using`` elsewhere is refused before any SQL; the right one is accepted."""
    primary, other = two_doors
    with routed(primary):
        order = Order.objects.create()
        with CaptureQueriesContext(connections[primary]) as a, CaptureQueriesContext(connections[other]) as b:
            with pytest.raises(Exception, match=other):
                order.save_if_current(using=other)
            with pytest.raises(Exception, match=other):
                order.save(using=other)
        assert len(a) == len(b) == 0
        assert order.save_if_current(using=primary)
        tables.empty(primary)


@pytest.mark.usefixtures("_open")
def test_without_a_router_the_object_stays_where_it_was_loaded() -> None:
    """Django's own choice: the database that the object came from."""
    alias = alias_or_skip("sqlite_wal")
    order = Order.objects.using(alias).create(title="a")
    assert order.save_if_current()
    assert tables.row(Order, order.pk, alias)["record_version"] == 2
    tables.empty(alias)
