"""What an object shows at the moments when somebody may look: receivers, hooks, failures in them."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models.signals import post_delete, post_save, pre_delete, pre_save

from cas_orm import ConflictError, ErrRecordVersionConflict, Outcome
from tests.django import tables
from tests.django.bazaar.look import receiving, statements, version
from tests.django.bazaar.models import Upload
from tests.django.shop.models import Cart, CartLine, Novel, Order


class Failure(Exception):
    """What a receiver or hook raises."""


def fail(*_: object, **__: object) -> None:
    """Raise, whatever comes."""
    raise Failure


def test_on_won_sees_the_object_in_step(alias: str) -> None:
    """In autocommit the hook runs after the win has been taken over, so it may save again."""
    order = Order.objects.create()
    seen: list[tuple[int, int | None]] = []

    def hook(outcome: Outcome) -> None:
        seen.append((order.record_version, outcome.record_version))
        order.save()

    order.save_if_current(on_won=hook)
    assert seen == [(2, 2)]
    assert (order.record_version, version(order, alias)) == (3, 3)


@pytest.mark.parametrize("verb", ["update_if_current", "new_generation_if_current"])
def test_on_won_of_the_other_verbs_sees_the_object_in_step(alias: str, verb: str) -> None:
    """The same for the verbs that write given values."""
    from cas_orm import Expect

    order = Order.objects.create()
    seen: list[tuple[int, str]] = []
    expect = Expect(record_version=1, run_seq=0)
    getattr(order, verb)(
        expect=expect, set={"title": "b"}, on_won=lambda _: seen.append((order.record_version, order.title))
    )
    assert seen == [(2, "b")]


def test_on_won_of_an_insert_sees_the_object_in_step(alias: str) -> None:
    """The accepted twin: the row is there, the object is no longer new."""
    order = Order(title="a")
    seen: list[bool] = []
    order.save_if_current(on_won=lambda _: seen.append(order._state.adding))
    assert seen == [False]


def test_a_failing_on_won_leaves_the_object_in_step(alias: str) -> None:
    """The row is written; the hook's failure must not make the object stale."""
    order = Order.objects.create()
    with pytest.raises(Failure):
        order.save_if_current(on_won=fail)
    assert version(order, alias) == 2
    order.save()
    assert version(order, alias) == 3


def test_a_failing_on_won_keeps_the_file(alias: str) -> None:
    """The row names the upload, so it must stay in the storage."""
    upload = Upload.objects.create()
    upload.file = ContentFile(b"x", name=f"hook-{alias}.txt")
    with pytest.raises(Failure):
        upload.save_if_current(on_won=fail)
    name = tables.row(Upload, upload.pk, alias)["file"]
    assert name and Upload.file.field.storage.exists(name)


def test_a_failing_post_save_leaves_the_object_in_step(alias: str) -> None:
    """In autocommit the row is written when the receiver fails."""
    order = Order.objects.create()
    with receiving(post_save, Order, fail), pytest.raises(Failure):
        order.save()
    assert (order.record_version, version(order, alias)) == (2, 2)
    order.save()


def test_a_failing_post_save_of_an_insert_leaves_the_object_inserted(alias: str) -> None:
    """The row is there: the object keeps its key, and the next save is an UPDATE."""
    order = Order(title="a")
    with receiving(post_save, Order, fail), pytest.raises(Failure):
        order.save()
    assert Order.objects.count() == 1
    order.save()
    assert Order.objects.count() == 1


def test_a_failing_post_save_of_an_insert_inside_a_transaction(alias: str) -> None:
    """Rolled back with it, the object is new again and can be inserted."""
    order = Order(title="a")
    with receiving(post_save, Order, fail), pytest.raises(Failure), transaction.atomic(using=alias):
        order.save()
    assert not Order.objects.exists()
    order.save()
    assert Order.objects.get().pk == order.pk


def test_a_failing_pre_save_sends_nothing(alias: str) -> None:
    """And leaves the object as it was."""
    order = Order.objects.create()
    with receiving(pre_save, Order, fail), statements(alias, 0), pytest.raises(Failure):
        order.save()
    order.save()
    assert version(order, alias) == 2


def test_post_save_of_an_insert_that_saves_again(alias: str) -> None:
    """The usual pattern: a receiver completes what was created."""

    def complete(instance: Order, created: bool, **_: Any) -> None:
        if created:
            instance.note = f"number {instance.pk}"
            instance.save(update_fields=["note"])

    with receiving(post_save, Order, complete):
        order = Order.objects.create()
        other = Order()
        other.save_if_current()
    for made in (order, other):
        assert (made.record_version, version(made, alias)) == (2, 2)
        made.save()


def test_post_save_of_an_insert_that_saves_again_rolled_back(alias: str) -> None:
    """Both writes undone, the object is new again."""

    def complete(instance: Order, created: bool, **_: Any) -> None:
        if created:
            instance.save()

    order = Order(title="a")
    with receiving(post_save, Order, complete), pytest.raises(Failure), transaction.atomic(using=alias):
        order.save()
        raise Failure
    order.save()
    assert (Order.objects.get().pk, order.record_version) == (order.pk, 1)


def test_post_save_that_writes_by_queryset(alias: str) -> None:
    """A receiver that bumps the row behind the object: the next save is refused, never a silent win."""

    def touch(instance: Order, **_: Any) -> None:
        Order.objects.filter(pk=instance.pk).update(note="touched")

    order = Order.objects.create()
    with receiving(post_save, Order, touch):
        order.save()
    with pytest.raises(ErrRecordVersionConflict):
        order.save()


@pytest.mark.parametrize("model", [Order, Novel])
def test_signals_of_one_save(alias: str, model: type[Any]) -> None:
    """Names and arguments are Django's own, for one table and for three."""
    log: list[tuple[str, dict[str, Any]]] = []
    obj = model.objects.create()
    with (
        receiving(pre_save, model, lambda instance, **facts: log.append(("pre", facts))),
        receiving(post_save, model, lambda instance, **facts: log.append(("post", facts))),
    ):
        obj.save()
        obj.save(update_fields=["state"])
    assert [name for name, _ in log] == ["pre", "post", "pre", "post"]
    for name, facts in log:
        assert facts.keys() == {"signal", "sender", "raw", "using", "update_fields"} | (
            {"created"} if name == "post" else set()
        )
        assert (facts["sender"], facts["raw"], facts["using"]) == (model, False, alias)
    assert log[0][1]["update_fields"] is log[1][1]["update_fields"] is None
    assert isinstance(log[2][1]["update_fields"], frozenset)
    assert "state" in log[2][1]["update_fields"]


def test_a_receiver_of_pre_save_that_loses(alias: str) -> None:
    """A write of the row inside ``pre_save`` makes the save itself stale: refused, no ``post_save``."""
    order = Order.objects.create()
    after: list[object] = []

    def meddle(instance: Order, **_: Any) -> None:
        tables.rival(Order, instance.pk, alias, record_version=2)

    with (
        receiving(pre_save, Order, meddle),
        receiving(post_save, Order, lambda **_: after.append(1)),
        pytest.raises(ErrRecordVersionConflict),
    ):
        order.save()
    assert after == []


def test_pre_delete_that_saves(alias: str) -> None:
    """A receiver may write a last word into the row that is about to go."""

    def last_word(instance: Order, **_: Any) -> None:
        instance.note = "bye"
        instance.save()

    order = Order.objects.create()
    with receiving(pre_delete, Order, last_word):
        order.delete()
    assert not Order.objects.exists()


def test_a_delete_that_fails_leaves_the_object_as_it_was(alias: str) -> None:
    """A receiver that forbids the delete: everything is undone, the object can be saved."""
    cart = Cart.objects.create()
    CartLine.objects.create(cart=cart)
    with receiving(pre_delete, CartLine, fail), pytest.raises(Failure):
        cart.delete()
    assert (version(cart, alias), CartLine.objects.count()) == (1, 1)
    cart.save()
    assert cart.delete()[0] == 2


def test_post_delete_is_for_winners(alias: str) -> None:
    """Sent once, with the key still on the object; never for a loser."""
    log: list[Any] = []
    order, loser = Order.objects.create(), Order.objects.create()
    key = order.pk
    tables.rival(Order, loser.pk, alias, record_version=2)
    with receiving(post_delete, Order, lambda instance, **_: log.append(instance.pk)):
        order.delete()
        with pytest.raises(ConflictError):
            loser.delete()
    assert log == [key]
