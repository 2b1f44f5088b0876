"""Many writes of one object in as many savepoints of one transaction: each costs the same."""

from __future__ import annotations

import pytest
from django.db import transaction

from cas_orm_django import memory
from tests.django.bazaar.look import version
from tests.django.shop.models import Order

SAVES = 2000


class Asked:
    """Counts how often the end of a savepoint is asked for."""

    def __init__(self) -> None:
        self.count = 0
        self.asks = memory.Fate.rolled_back.fget  # type: ignore[attr-defined]  # a property

    def __call__(self, fate: memory.Fate) -> bool:
        self.count += 1
        return bool(self.asks(fate))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Return what counts."""
    counter = Asked()
    monkeypatch.setattr(memory.Fate, "rolled_back", property(lambda fate: counter(fate)))
    return counter


@pytest.mark.parametrize("database", ["sqlite"])
def test_each_save_looks_at_few_marks(alias: str, asked: Asked) -> None:
    """The newest mark is looked at, not all of them; after the commit none is left."""
    order = Order.objects.create()
    with transaction.atomic(using=alias):
        for _ in range(SAVES):
            with transaction.atomic(using=alias):
                order.save()
        remembered = memory.recall(order)
        assert remembered is not None
        assert len(remembered.marks) <= SAVES
        assert asked.count <= 4 * SAVES
    order.save()
    assert len(remembered.marks) == 0
    assert asked.count <= 8 * SAVES
    assert (order.record_version, version(order, alias)) == (SAVES + 2, SAVES + 2)


def test_one_mark_for_many_saves_of_one_block(alias: str, asked: Asked) -> None:
    """Without savepoints there is one mark, however many saves."""
    order = Order.objects.create()
    with transaction.atomic(using=alias):
        for _ in range(20):
            order.save()
        remembered = memory.recall(order)
        assert remembered is not None
        assert len(remembered.marks) == 1
    assert asked.count <= 80
    order.save()
    assert version(order, alias) == 22


def test_rolled_back_after_many(alias: str) -> None:
    """The accepted twin: one savepoint rolled back is undone alone, the block as a whole."""
    order = Order.objects.create()
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        for number in range(20):
            with transaction.atomic(using=alias):
                order.save()
            if number % 5 == 0:
                with pytest.raises(RuntimeError), transaction.atomic(using=alias):
                    order.save()
                    raise RuntimeError
        assert version(order, alias) == 21
        order.save()
        assert order.record_version == 22
        raise RuntimeError
    order.save()
    assert (order.record_version, version(order, alias)) == (2, 2)
