"""Test cases, captured callbacks, nested blocks: the marker of an open transaction stays out of the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connections, transaction
from django.test import TestCase

from cas_orm import ErrRecordVersionConflict
from tests.django.bazaar.look import version
from tests.django.router import routed
from tests.django.shop.models import Order, Parcel, Slot


def capture(alias: str, **options: Any) -> Any:
    """Return Django's context manager that captures ``on_commit`` callbacks."""
    return TestCase.captureOnCommitCallbacks(using=alias, **options)


@contextmanager
def in_a_test_case(alias: str) -> Iterator[None]:
    """Stand in a transaction that is rolled back at the end, as every test of a TestCase does."""
    block = transaction.atomic(using=alias)
    block._from_testcase = True  # type: ignore[attr-defined]  # as TestCase marks its own
    with block:
        yield
        transaction.set_rollback(True, using=alias)


def noted(log: list[str], word: str) -> Callable[[], None]:
    """Return a callback that notes a word."""
    return lambda: log.append(word)


def test_callbacks_captured_are_the_callers(alias: str) -> None:
    """Beside the caller's own there is at most one of the library's, which does no harm."""
    order = Order.objects.create()
    with in_a_test_case(alias):
        with capture(alias) as callbacks:
            order.save()
            transaction.on_commit(noted([], "a"), using=alias)
        assert len(callbacks) == 2
        assert len([c for c in callbacks if not type(c).__module__.startswith("cas_orm_django")]) == 1


def test_callbacks_of_before_are_not_captured(alias: str) -> None:
    """What was registered before the block belongs to its own commit."""
    order = Order.objects.create()
    log: list[str] = []
    with in_a_test_case(alias):
        transaction.on_commit(noted(log, "before"), using=alias)
        with capture(alias, execute=True):
            order.save()
    assert log == []


def test_a_callback_that_saves_runs_once(alias: str) -> None:
    """The first win inside an executed callback must not run the callback again."""
    order = Order.objects.create()
    log: list[str] = []

    def callback() -> None:
        log.append("run")
        order.save()

    with in_a_test_case(alias), capture(alias, execute=True):
        transaction.on_commit(callback, using=alias)
    assert log == ["run"]


def test_a_callback_that_saves_after_a_real_commit(alias: str) -> None:
    """The accepted twin, outside a test case."""
    order = Order.objects.create()
    with transaction.atomic(using=alias):
        order.save()
        transaction.on_commit(order.save, using=alias)
    assert (order.record_version, version(order, alias)) == (3, 3)


def test_on_won_is_captured(alias: str) -> None:
    """The hook is an ordinary ``on_commit`` callback."""
    order = Order.objects.create()
    told: list[Any] = []
    with in_a_test_case(alias), capture(alias, execute=True):
        order.save_if_current(on_won=told.append)
        assert told == []
    assert [(o.record_version, o.provisional) for o in told] == [(2, False)]


@pytest.mark.usefixtures("_open")
def test_a_test_case_with_shared_data() -> None:
    """``setUpTestData`` gives every test a copy that starts where the class's rows are."""
    seen: list[tuple[int, int]] = []

    class Case(TestCase):
        databases = {"default"}
        order: Order

        @classmethod
        def setUpTestData(cls) -> None:
            cls.order = Order.objects.create(title="shared")
            cls.order.save()

        def saved(self) -> None:
            self.order.save()
            seen.append((self.order.record_version, version(self.order, "default")))
            self.order.new_generation_if_current()
            with pytest.raises(ErrRecordVersionConflict):
                stale = Order(pk=self.order.pk)
                stale.record_version, stale.run_seq, stale._state.adding = 2, 1, False
                stale.save()

        def test_one(self) -> None:
            self.saved()

        def test_two(self) -> None:
            self.saved()

    import unittest

    with routed("default"):
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    assert (result.errors, result.failures, result.testsRun) == ([], [], 2)
    assert seen == [(3, 3), (3, 3)]


def test_a_request_in_a_block_of_its_own(alias: str) -> None:
    """As with ATOMIC_REQUESTS: a view's own block inside the request's; a refusal spoils neither."""
    order = Order.objects.create()
    stale = Order.objects.get()
    with transaction.atomic(using=alias, durable=True):
        order.save()
        with transaction.atomic(using=alias):
            with pytest.raises(ErrRecordVersionConflict):
                stale.save()
            order.title = "inner"
            order.save()
        with pytest.raises(RuntimeError), transaction.atomic(using=alias):
            order.save()
            raise RuntimeError
        order.save()
    assert (order.record_version, version(order, alias), Order.objects.get().title) == (4, 4, "inner")


def test_a_set_rollback(alias: str) -> None:
    """A block that ends in a rollback without an exception."""
    order, fresh = Order.objects.create(), Order(title="new")
    with transaction.atomic(using=alias):
        order.save()
        fresh.save()
        transaction.set_rollback(True, using=alias)
    order.save()
    fresh.save()
    assert (version(order, alias), version(fresh, alias), Order.objects.count()) == (2, 1, 2)


def test_a_deleted_object_of_a_block_rolled_back(alias: str) -> None:
    """The row is back, and so is the object's key."""
    order = Order.objects.create()
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        order.delete()
        raise RuntimeError
    order.save()
    assert version(order, alias) == 2


def test_a_clone_after_a_rollback_by_key(alias: str) -> None:
    """Django's recipe for a clone, a new key and ``adding``, also after a win that was rolled back."""
    slot = Slot.objects.create(code="S")
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        slot.save()
        raise RuntimeError
    slot.code = "T"
    slot._state.adding = True
    slot.save()
    assert sorted(Slot.objects.values_list("code", "record_version")) == [("S", 1), ("T", 1)]


def test_a_clone_by_key(alias: str) -> None:
    """The accepted twin, in autocommit and after a commit."""
    parcel = Parcel.objects.create(label="a")
    for _ in range(2):
        with transaction.atomic(using=alias):
            parcel.save()
        parcel.pk = Parcel().pk
        parcel._state.adding = True
        parcel.save()
        assert parcel.record_version == 1
    assert Parcel.objects.count() == 3


def test_a_hook_that_fails_first(alias: str) -> None:
    """Somebody's failing ``on_commit`` hook, registered before the save, does not hide the commit."""

    def fail() -> None:
        raise RuntimeError

    order = Order.objects.create()
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        transaction.on_commit(fail, using=alias)
        order.save()
    order.save()
    assert (order.record_version, version(order, alias)) == (3, 3)
    assert not connections[alias].in_atomic_block
