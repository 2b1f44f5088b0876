"""``on_won`` and ``post_save``: whichever of the two raises, the other one is called."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from django.db.models.signals import post_save

from cas_orm import Outcome
from tests.django.bazaar.look import numbers, receiving
from tests.django.bazaar.models import Based
from tests.django.shop.models import Novel, Order

each_model = pytest.mark.parametrize("model", [Order, Novel, Based])


def fail(*_: object, **__: object) -> None:
    """Raise."""
    raise RuntimeError("told")


@each_model
def test_a_hook_that_raises(alias: str, model: type[Any]) -> None:
    """The signal was sent, the object is in step."""
    obj = model.objects.create()
    sent: list[Any] = []
    note = receiving(post_save, model, lambda **kwargs: sent.append(kwargs["created"]))
    with note, pytest.raises(RuntimeError, match="told"):
        obj.save_if_current(on_won=fail)
    assert (sent, obj.record_version, numbers(obj, alias)) == ([False], 2, (2, 0))
    obj.save()


@each_model
def test_a_receiver_that_raises(alias: str, model: type[Any]) -> None:
    """The row is written and committed: the hook hears of it."""
    obj = model.objects.create()
    told: list[Outcome] = []
    with receiving(post_save, model, fail), pytest.raises(RuntimeError, match="told"):
        obj.save_if_current(on_won=told.append)
    assert [(o.record_version, o.provisional) for o in told] == [(2, False)]
    obj.save()
    assert numbers(obj, alias) == (3, 0)


def test_a_receiver_that_raises_in_a_block(alias: str) -> None:
    """Rolled back with the block, the hook hears nothing; committed all the same, it does."""
    order = Order.objects.create()
    told: list[Outcome] = []
    with receiving(post_save, Order, fail):
        with pytest.raises(RuntimeError), transaction.atomic(using=alias):
            order.save_if_current(on_won=told.append)
        assert told == []
        with transaction.atomic(using=alias):
            with pytest.raises(RuntimeError):
                order.save_if_current(on_won=told.append)
            assert told == []
    assert [o.record_version for o in told] == [2]


def test_nobody_raises(alias: str) -> None:
    """The accepted twin: first the signal, then the hook, each once."""
    order = Order.objects.create()
    log: list[str] = []
    with receiving(post_save, Order, lambda **_: log.append("signal")):
        order.save_if_current(on_won=lambda _: log.append("hook"))
    assert log == ["signal", "hook"]


@each_model
def test_a_receiver_of_an_insert_that_raises(alias: str, model: type[Any]) -> None:
    """An insert is a win as any other."""
    obj = model()
    told: list[Outcome] = []
    with receiving(post_save, model, fail), pytest.raises(RuntimeError, match="told"):
        obj.save_if_current(on_won=told.append)
    assert [o.record_version for o in told] == [1]
    obj.save()
    assert numbers(obj, alias) == (2, 0)
