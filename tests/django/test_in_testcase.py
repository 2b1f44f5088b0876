"""Inside Django's own test cases, where every test is one transaction that is never committed."""

from __future__ import annotations

from django.db import transaction
from django.test import TestCase

from cas_orm import Verdict
from tests.django.shop.models import Cart, CartLine, Novel, Order


class InTestCase(TestCase):
    """What users' tests do."""

    @classmethod
    def setUpTestData(cls) -> None:
        """Make one order for all tests; Django hands each test a copy."""
        cls.order = Order.objects.create(title="a")

    def test_saves(self) -> None:
        """Save after save, each one step."""
        assert self.order.save_if_current().record_version == 2
        self.order.save()
        assert self.order.record_version == 3

    def test_the_copy_of_another_test(self) -> None:
        """What another test did to the shared object is not seen here."""
        assert self.order.save_if_current().record_version == 2

    def test_refused(self) -> None:
        """A conflict inside the test's transaction leaves it usable."""
        older = Order.objects.get(pk=self.order.pk)
        self.order.save()
        assert older.try_save_if_current().verdict is Verdict.STALE
        assert Order.objects.count() == 1

    def test_on_won(self) -> None:
        """``captureOnCommitCallbacks`` runs the hook."""
        told: list[object] = []
        with self.captureOnCommitCallbacks(execute=True):
            self.order.save_if_current(on_won=told.append)
            assert told == []
        assert len(told) == 1
        assert self.order.save_if_current().record_version == 3

    def test_savepoints(self) -> None:
        """An inner rollback is seen though nothing is ever committed."""
        try:
            with transaction.atomic():
                self.order.save()
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        assert self.order.save_if_current().record_version == 2

    def test_several_tables(self) -> None:
        """Inheritance and cascades nest their own blocks."""
        novel = Novel.objects.create(name="a")
        novel.save()
        cart = Cart.objects.create()
        CartLine.objects.create(cart=cart)
        cart.delete()
        assert (novel.record_version, Cart.objects.count()) == (2, 0)
