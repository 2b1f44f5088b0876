"""Free conditions and assigned numbers: one table, plain columns, exact integers, or no SQL at all."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connections
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Lower
from django.test.utils import CaptureQueriesContext

from cas_orm import ErrRecordVersionConflict, Expect, InvalidExpectation, MissingExpectation, Verdict
from tests.django import tables
from tests.django.shop.models import Device, Novel, Order


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        (Q(n=1) | Q(title="x"), True),
        (~Q(n=1), False),
        (Q(n__gte=1, n__lt=5), True),
        (Q(title__startswith="a"), True),
        (Q(title__in=["b", "c"]), False),
        (Q(note__isnull=True), True),
        (Q(n=F("n")), True),
        (Q(data__a=1), True),
        (Q(data__a=2), False),
        (Q(flag=True), False),
        (Q(customer__isnull=True), True),
        (Q(customer=None), True),
        (Q(customer_id=5), False),
        (Q(customer=5), False),
        (Q(pk__gt=0), True),
        (Q(pk__in=[-1]), False),
        (Q(pk__in=[]), False),
        (~Q(pk__in=[]), True),
        (~Q(note="x"), True),
        (Q(title=Lower("title")), True),
    ],
    ids=str,
)
def test_conditions_over_the_rows_own_table(alias: str, where: Q, holds: bool) -> None:
    """Whatever Django compiles to plain columns of the one table decides in the WHERE."""
    order = Order.objects.create(title="a", n=1, data={"a": 1})
    with CaptureQueriesContext(connections[alias]) as sent:
        outcome = order.try_save_if_current(where=where)
    assert outcome.verdict is (Verdict.WON if holds else Verdict.WRONG_STATE)
    assert len(sent) == (1 if holds else 2)
    assert "JOIN" not in sent[0]["sql"] and "SELECT" not in sent[0]["sql"]


def conditions() -> dict[str, Any]:
    """Return conditions that look beyond the row."""
    return {
        "relation": Q(customer__name="x"),
        "subquery": Q(pk__in=QuerySet(Order).filter(n=1).values("pk")),
        "exists": Q(Exists(QuerySet(Order).filter(pk=OuterRef("pk"), n=1))),
        "relation in F": Q(title=F("customer__name")),
    }


@pytest.mark.parametrize("name", conditions())
def test_conditions_over_other_rows(alias: str, name: str) -> None:
    """Under read committed both writers would win: refused before any SQL."""
    order = Order.objects.create(n=1)
    with CaptureQueriesContext(connections[alias]) as sent, pytest.raises(InvalidExpectation):
        order.save_if_current(where=conditions()[name])
    assert len(sent) == 0
    assert order.save_if_current(where=Q(n=1))


@pytest.mark.parametrize("where", [Q(pages=0), Q(genre="")])
def test_conditions_over_another_table_of_the_same_object(alias: str, where: Q) -> None:
    """With inheritance the condition belongs to the version's own table."""
    novel = Novel.objects.create()
    with pytest.raises(InvalidExpectation):
        novel.save_if_current(where=where)
    assert novel.save_if_current(where=Q(state="new"))


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, MissingExpectation),
        ("1", InvalidExpectation),
        (True, InvalidExpectation),
        (1.0, InvalidExpectation),
        (-1, InvalidExpectation),
        (2**63 - 1, InvalidExpectation),
        (F("record_version"), InvalidExpectation),
    ],
)
def test_assigned_versions(alias: str, value: Any, error: type[Exception]) -> None:
    """A version that a form or a payload assigned is checked like one in ``Expect``."""
    for write in ("save", "save_if_current", "delete", "delete_if_current"):
        order = Order.objects.create()
        order.record_version = value
        with CaptureQueriesContext(connections[alias]) as sent, pytest.raises(error):
            getattr(order, write)()
        assert len(sent) == 0
        order.record_version = 1
        getattr(order, write)()


def test_assigning_does_not_lift_the_fence(alias: str) -> None:
    """Only a reload does."""
    order = Order.objects.create()
    tables.rival(Order, order.pk, alias, record_version=5)
    assert not order.try_save_if_current()
    order.record_version = 5
    for write in (order.save, order.save_if_current, order.delete, order.new_generation_if_current):
        with pytest.raises(ErrRecordVersionConflict) as caught:
            write()
        assert caught.value.fenced


def test_a_deferred_generation(alias: str) -> None:
    """The generation is believed only when it was loaded; the version always."""
    Order.objects.create()
    order = QuerySet(Order, using=alias).defer("run_seq").get()
    with CaptureQueriesContext(connections[alias]) as sent:
        outcome = order.save_if_current()
    assert len(sent) == 1
    assert dict(outcome.expected) == {"record_version": 1}
    tables.rival(Order, order.pk, alias, run_seq=5)
    assert order.save_if_current()


def test_a_refused_object_cloned(alias: str) -> None:
    """A clone is a new row and knows nothing of the fence."""
    order = Order.objects.create(title="a")
    tables.rival(Order, order.pk, alias, record_version=5)
    assert not order.try_save_if_current()
    order.pk = None
    order._state.adding = True
    order.save()
    assert (order.record_version, Order.objects.count()) == (1, 2)
    assert order.save_if_current().record_version == 2


def test_unversioned_columns_and_plain_save(alias: str) -> None:
    """Django's own methods know the unversioned columns too."""
    device = Device.objects.create(name="a", hits=3)
    assert tables.row(Device, device.pk, alias)["hits"] == 3
    tables.rival(Device, device.pk, alias, record_version=5)
    device.hits = 4
    device.save(update_fields=["hits"])
    row = tables.row(Device, device.pk, alias)
    assert (row["hits"], row["record_version"]) == (4, 5)
    with pytest.raises(ErrRecordVersionConflict):
        device.save()


@pytest.mark.parametrize(
    "verb", ["try_save_if_current", "try_delete_if_current", "try_new_generation_if_current"]
)
def test_something_else_than_a_belief_is_refused(alias: str, verb: str) -> None:
    """A number or a dictionary in the place of a belief is named as such, before any SQL."""
    order = Order.objects.create(title="a")
    with CaptureQueriesContext(connections[alias]) as sent:
        for wrong in (1, {"n": 0}):
            with pytest.raises(InvalidExpectation, match="takes an Expect"):
                getattr(order, verb)(expect=wrong)
    assert len(sent) == 0
    assert getattr(order, verb)(expect=Expect(n=0))
