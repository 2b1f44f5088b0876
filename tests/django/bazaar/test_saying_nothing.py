"""Beliefs that every row meets, or none can meet, are no beliefs: refused before any statement."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import Q

from cas_orm import Expect, MissingExpectation, Verdict
from cas_orm_django import delete_if_current, update_if_current
from tests.django import tables
from tests.django.bazaar.look import numbers, statements
from tests.django.shop.models import Doc, Order, Seat

NOTHING = [Q(), ~Q(), Q(Q()), ~Q(pk__in=[])]
each_nothing = pytest.mark.parametrize("where", NOTHING, ids=["Q()", "~Q()", "Q(Q())", "~Q(pk__in=[])"])


@each_nothing
@pytest.mark.parametrize("expect", [Expect()])
def test_by_key(alias: str, where: Any, expect: Expect) -> None:
    """By key it would overwrite, or delete, anything."""
    key = Order.objects.create(title="a").pk
    with statements(alias, 0):
        with pytest.raises(MissingExpectation):
            update_if_current(Order, key, expect=expect, where=where, set={"title": "b"})
        with pytest.raises(MissingExpectation):
            delete_if_current(Order, key, expect=expect, where=where)
        with pytest.raises(MissingExpectation):
            Order.objects.try_update_if_current(key, expect=expect, where=where, set={})
    assert tables.row(Order, key, alias)["title"] == "a"


@each_nothing
def test_on_an_object(alias: str, where: Any) -> None:
    """The verb that believes exactly what it is told."""
    order = Order.objects.create(title="a")
    with statements(alias, 0), pytest.raises(MissingExpectation):
        order.update_if_current(expect=Expect(), where=where, set={"title": "b"})
    order.save()
    assert numbers(order, alias) == (2, 0)


@each_nothing
def test_beside_a_belief(alias: str, where: Any) -> None:
    """The accepted twin: the belief says something, the condition adds nothing."""
    order = Order.objects.create()
    assert order.save_if_current(where=where)
    assert order.update_if_current(expect=Expect(state="new"), where=where, set={"n": 1})
    assert update_if_current(Order, order.pk, expect=Expect(run_seq=0), where=where, set={"n": 2})
    assert order.try_delete_if_current(where=where).verdict is Verdict.STALE
    assert delete_if_current(Order, order.pk, expect=Expect(record_version=4), where=where)


def test_a_condition_alone(alias: str) -> None:
    """The accepted twin: a condition that some rows do not meet is a belief."""
    key = Order.objects.create(n=1).pk
    assert update_if_current(Order, key, expect=Expect(), where=Q(n=1), set={"n": 2})
    with pytest.raises(Exception, match="cas-wrong-state"):
        delete_if_current(Order, key, expect=Expect(), where=Q(n=1))
    assert delete_if_current(Order, key, expect=Expect(), where=~Q(n=1))


@pytest.mark.parametrize("obj", [Order(title="a"), Seat(row="A")], ids=["no key", "half a key"])
@pytest.mark.parametrize("version", [0, 1])
def test_an_object_without_a_key(alias: str, obj: Any, version: int) -> None:
    """A version that is vouched for does not say which row."""
    expect = Expect(record_version=version)
    with statements(alias, 0):
        with pytest.raises(MissingExpectation):
            obj.save_if_current(expect=expect)
        with pytest.raises(MissingExpectation):
            obj.update_if_current(expect=expect, set={})
        with pytest.raises(MissingExpectation):
            obj.new_generation_if_current(expect=expect & Expect(run_seq=0))


def test_an_object_that_was_never_read(alias: str) -> None:
    """A version that is vouched for is believed; the default generation is not, the row's is taken over."""
    key = Order.objects.create(title="a").pk
    tables.rival(Order, key, alias, record_version=2, run_seq=5)
    order = Order(pk=key, title="b")
    assert order.save_if_current(expect=Expect(record_version=2))
    assert (order.record_version, order.run_seq, numbers(order, alias)) == (3, 5, (3, 5))
    order.save()
    assert order.new_generation_if_current().run_seq == 6
    assert tables.row(Order, key, alias)["title"] == "b"


def test_a_generation_that_is_vouched_for(alias: str) -> None:
    """Named beside the version, it is believed."""
    key = Order.objects.create().pk
    tables.rival(Order, key, alias, record_version=2, run_seq=5)
    refused = Order(pk=key).try_save_if_current(expect=Expect(record_version=2, run_seq=0))
    assert refused.verdict is Verdict.SUPERSEDED
    order = Order(pk=key)
    assert order.save_if_current(expect=Expect(record_version=2, run_seq=5))
    assert (order.run_seq, numbers(order, alias)) == (5, (3, 5))


def test_a_model_without_a_generation(alias: str) -> None:
    """The accepted twin."""
    key = Doc.objects.create().pk
    doc = Doc(pk=key, title="b")
    assert doc.save_if_current(expect=Expect(record_version=1))
    doc.save()
    assert tables.row(Doc, key, alias)["record_version"] == 3


@pytest.mark.parametrize("database", ["postgres", "mariadb"])
def test_a_condition_that_the_default_database_does_not_know(alias: str) -> None:
    """Alone, it is judged by the database that is written to."""
    key = Order.objects.create(data={"a": 1}).pk
    where = Q(data__contains={"a": 1})
    assert update_if_current(Order, key, expect=Expect(), where=where, set={"n": 1})


@pytest.mark.parametrize("database", ["postgres", "mariadb"])
def test_a_condition_that_the_default_database_does_not_know_beside_a_belief(alias: str) -> None:
    """The accepted twin."""
    key = Order.objects.create(data={"a": 1}).pk
    where = Q(data__contains={"a": 1})
    assert update_if_current(Order, key, expect=Expect(run_seq=0), where=where, set={"n": 1})
