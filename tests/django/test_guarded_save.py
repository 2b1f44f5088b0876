"""Plain ``save()`` and ``delete()`` on a model of the library: guarded, and never an INSERT by accident."""

from __future__ import annotations

import pytest
from asgiref.sync import async_to_sync
from django.db import IntegrityError, connections, transaction
from django.test.utils import CaptureQueriesContext

from cas_orm import (
    ErrRecordVersionConflict,
    Expect,
    MissingExpectation,
    RecordMissing,
    Superseded,
)
from tests.django import tables
from tests.django.shop.models import Cart, CartLine, Doc, Order, Slot


def test_save_wins(alias: str) -> None:
    """A plain save writes all loaded fields, raises the version and returns what Django returns."""
    order = Order.objects.create(title="a")
    order.title = "b"
    assert order.save() is None
    row = tables.row(Order, order.pk, alias)
    assert (row["title"], row["record_version"], row["run_seq"], order.record_version) == ("b", 2, 0, 2)


def test_save_of_a_stale_object(alias: str) -> None:
    """A plain save of an older copy is refused, and refused again without SQL."""
    order = Order.objects.create(title="a")
    tables.rival(Order, order.pk, alias, title="theirs", record_version=2)
    order.title = "mine"
    with pytest.raises(ErrRecordVersionConflict) as caught:
        order.save()
    assert not caught.value.fenced
    with CaptureQueriesContext(connections[alias]) as sent, pytest.raises(ErrRecordVersionConflict) as caught:
        order.save()
    assert caught.value.fenced and len(sent) == 0
    assert (order.title, order.record_version) == ("mine", 1)
    order.refresh_from_db()
    order.title = "mine"
    order.save()
    assert tables.row(Order, order.pk, alias)["record_version"] == 3


def test_save_of_an_older_generation(alias: str) -> None:
    """A plain save believes the generation too."""
    order = Order.objects.create()
    tables.rival(Order, order.pk, alias, run_seq=1)
    with pytest.raises(Superseded):
        order.save()


def test_statement_counts(alias: str) -> None:
    """One statement to win, two to lose: as for the verb."""
    order, loser = Order.objects.create(), Order.objects.create()
    tables.rival(Order, loser.pk, alias, record_version=2)
    with CaptureQueriesContext(connections[alias]) as sent:
        order.save()
    assert len(sent) == 1, sent.captured_queries
    with CaptureQueriesContext(connections[alias]) as sent, pytest.raises(ErrRecordVersionConflict):
        loser.save()
    assert len(sent) == 2, sent.captured_queries


@pytest.mark.parametrize(
    "options", [{}, {"force_update": True}, {"update_fields": ["title"]}], ids=["plain", "forced", "partial"]
)
def test_a_vanished_row_is_never_inserted(alias: str, options: dict[str, object]) -> None:
    """Where Django inserts again, the row stays gone."""
    order = Order.objects.create(title="a")
    tables.remove(Order, order.pk, alias)
    with pytest.raises(RecordMissing):
        order.save(**options)
    assert tables.row(Order, order.pk, alias) is None


def test_a_preset_key_never_overwrites(alias: str) -> None:
    """``Model(pk=existing).save()`` is an IntegrityError; with a free key it inserts."""
    order = Order.objects.create(title="a")
    with pytest.raises(IntegrityError):
        Order(pk=order.pk, title="b").save()
    assert tables.row(Order, order.pk, alias)["title"] == "a"
    Slot.objects.create(code="S", label="a")
    with pytest.raises(IntegrityError):
        Slot(code="S", label="b").save()
    free = Slot(code="T", label="b")
    free.save()
    assert free.record_version == tables.row(Slot, "T", alias)["record_version"] == 1


def test_an_insert_that_failed_can_be_repeated(alias: str) -> None:
    """An IntegrityError at insert leaves the object new."""
    Slot.objects.create(code="S")
    slot = Slot(code="S")
    with pytest.raises(IntegrityError):
        slot.save()
    slot.code = "T"
    slot.save()
    assert tables.row(Slot, "T", alias)["record_version"] == 1
    slot.save()
    assert slot.record_version == 2


@pytest.mark.parametrize(
    "options", [{"force_update": True}, {"update_fields": ["title"]}], ids=["forced", "partial"]
)
def test_adding_with_the_options_of_an_update(alias: str, options: dict[str, object]) -> None:
    """An object that was never loaded cannot update: it has seen no version."""
    order = Order.objects.create(title="a")
    with CaptureQueriesContext(connections[alias]) as sent, pytest.raises(MissingExpectation):
        Order(pk=order.pk, title="b").save(**options)
    assert len(sent) == 0
    assert tables.row(Order, order.pk, alias)["title"] == "a"


def test_adding_with_a_version_named(alias: str) -> None:
    """``expect`` may name the version for an object that was not loaded."""
    order = Order.objects.create(title="a", n=3)
    fresh = Order(pk=order.pk, title="b")
    with pytest.raises(MissingExpectation):
        fresh.save_if_current(update_fields=["title"])
    outcome = fresh.save_if_current(expect=Expect(record_version=1), update_fields=["title"])
    row = tables.row(Order, order.pk, alias)
    assert (outcome.record_version, row["title"], row["n"]) == (2, "b", 3)
    with pytest.raises(MissingExpectation):
        Order(pk=order.pk).delete()
    with pytest.raises(MissingExpectation):
        Order(pk=order.pk).delete_if_current()
    assert Order(pk=order.pk).delete_if_current(expect=Expect(record_version=2))


def test_assigning_the_version_is_setting_the_belief(alias: str) -> None:
    """A form that carries the version assigns it: the older one is refused, the right one accepted."""
    order = Order.objects.create()
    order.save()
    stale = Order.objects.get(pk=order.pk)
    stale.record_version = 1
    with pytest.raises(ErrRecordVersionConflict):
        stale.save()
    right = Order.objects.get(pk=order.pk)
    right.record_version = 2
    right.save()
    assert tables.row(Order, order.pk, alias)["record_version"] == 3


def test_save_with_an_empty_list_is_djangos_no_op(alias: str) -> None:
    """``save(update_fields=[])`` sends nothing."""
    order = Order.objects.create()
    with CaptureQueriesContext(connections[alias]) as sent:
        order.save(update_fields=[])
    assert len(sent) == 0
    assert tables.row(Order, order.pk, alias)["record_version"] == 1


@pytest.mark.parametrize("name", ["record_version", "run_seq"])
def test_version_and_generation_are_not_for_update_fields(alias: str, name: str) -> None:
    """Neither can be written by name."""
    order = Order.objects.create()
    with pytest.raises(ValueError):
        order.save(update_fields=[name])


def test_every_insert_writes_version_one(alias: str) -> None:
    """Whatever the attribute said."""
    order = Order(title="a", record_version=40)
    order.save()
    assert tables.row(Order, order.pk, alias)["record_version"] == order.record_version == 1
    forced = Order(record_version=7)
    forced.save(force_insert=True)
    assert tables.row(Order, forced.pk, alias)["record_version"] == forced.record_version == 1


def test_a_conflict_leaves_the_transaction_usable(alias: str) -> None:
    """A caught conflict inside ``atomic()`` does not break the block."""
    order, loser = Order.objects.create(), Order.objects.create()
    tables.rival(Order, loser.pk, alias, record_version=2)
    with transaction.atomic(using=alias):
        with pytest.raises(ErrRecordVersionConflict):
            loser.save()
        order.save()
    assert tables.row(Order, order.pk, alias)["record_version"] == 2


def test_delete_wins(alias: str) -> None:
    """A plain delete returns Django's counts and clears the key."""
    doc = Doc.objects.create()
    key = doc.pk
    assert doc.delete() == (1, {"shop.Doc": 1})
    assert doc.pk is None
    assert tables.row(Doc, key, alias) is None


def test_delete_of_a_stale_object(alias: str) -> None:
    """A plain delete of an older copy is refused and deletes nothing."""
    doc = Doc.objects.create()
    tables.rival(Doc, doc.pk, alias, record_version=2)
    with pytest.raises(ErrRecordVersionConflict):
        doc.delete()
    assert tables.row(Doc, doc.pk, alias) is not None
    gone = Doc.objects.create()
    tables.remove(Doc, gone.pk, alias)
    with pytest.raises(RecordMissing):
        gone.delete()


def test_delete_cascades_only_for_the_winner(alias: str) -> None:
    """The children of a stale parent survive."""
    cart = Cart.objects.create()
    CartLine.objects.create(cart=cart)
    stale = Cart.objects.get(pk=cart.pk)
    cart.save()
    with pytest.raises(ErrRecordVersionConflict):
        stale.delete()
    assert CartLine.objects.count() == 1
    counts = cart.delete()
    assert counts == (2, {"shop.Cart": 1, "shop.CartLine": 1})
    assert CartLine.objects.count() == 0


def test_asave_and_adelete(alias: str) -> None:
    """Django's own async methods are guarded as well."""

    async def run() -> None:
        order = await Order.objects.acreate(title="a")
        await order.asave()
        assert order.record_version == 2
        stale = await Order.objects.aget(pk=order.pk)
        await order.asave()
        with pytest.raises(ErrRecordVersionConflict):
            await stale.asave()
        await order.adelete()

    async_to_sync(run)()
    assert Order.objects.count() == 0
