"""Related managers and cascades: they write by queryset, and bump what they touch."""

from __future__ import annotations

import pytest

from cas_orm import ErrRecordVersionConflict
from tests.django import tables
from tests.django.bazaar.look import version
from tests.django.shop.models import Cart, CartLine, Customer, Order, Remark, Tag


def test_related_managers(alias: str) -> None:
    """``add``, ``remove``, ``clear``, ``set`` and ``update`` over a reverse key bump the children."""
    cart, remark = Cart.objects.create(), Remark.objects.create()
    cart.remarks.add(remark)
    cart.remarks.remove(remark)
    cart.remarks.set([remark])
    cart.remarks.update(text="x")
    cart.remarks.clear()
    assert version(remark, alias) == 6
    assert version(cart, alias) == 1
    with pytest.raises(ErrRecordVersionConflict):
        remark.save()


def test_related_managers_one_by_one(alias: str) -> None:
    """``bulk=False`` saves the child itself, which stays current; a stale one is refused."""
    cart, remark = Cart.objects.create(), Remark.objects.create()
    cart.remarks.add(remark, bulk=False)
    assert (remark.record_version, version(remark, alias)) == (2, 2)
    remark.save()
    tables.rival(Remark, remark.pk, alias, record_version=9)
    with pytest.raises(ErrRecordVersionConflict):
        cart.remarks.add(remark, bulk=False)


def test_related_managers_create(alias: str) -> None:
    """Children made through the parent start at version 1."""
    cart = Cart.objects.create()
    remark = cart.remarks.create(text="a")
    again, created = cart.remarks.update_or_create(text="a", defaults={"text": "b"})
    assert (again.pk, created, again.record_version) == (remark.pk, False, 2)


def test_set_null_of_a_child_class(alias: str) -> None:
    """A cascade that empties a key bumps exactly the rows it touched."""
    customer, other = Customer.objects.create(), Customer.objects.create()
    touched = Order.objects.create(customer=customer)
    spared = Order.objects.create(customer=other)
    Customer.objects.filter(pk=customer.pk).delete()
    assert (version(touched, alias), version(spared, alias)) == (2, 1)
    spared.save()
    with pytest.raises(ErrRecordVersionConflict):
        touched.save()


def test_many_to_many_leaves_the_version(alias: str) -> None:
    """``add``, ``set``, ``remove``, ``clear`` from either side write the through table only."""
    cart, tag = Cart.objects.create(), Tag.objects.create(name="t")
    cart.tags.add(tag)
    tag.cart_set.remove(cart)
    tag.cart_set.set([cart])
    cart.tags.create(name="u")
    cart.tags.clear()
    assert (cart.record_version, version(cart, alias)) == (1, 1)
    cart.save()


def test_related_objects_have_seen_their_version(alias: str) -> None:
    """However they were reached: followed, selected, prefetched, reversed."""
    cart = Cart.objects.create()
    CartLine.objects.create(cart=cart)
    Remark.objects.create(cart=cart)
    CartLine.objects.get().cart.save()
    CartLine.objects.select_related("cart").get().cart.save()
    (line,) = CartLine.objects.prefetch_related("cart")
    line.cart.save()
    assert version(cart, alias) == 4
    (found,) = Cart.objects.prefetch_related("remarks")
    found.remarks.all()[0].save()
    Remark.objects.select_related("cart").get().cart.save()
    with pytest.raises(ErrRecordVersionConflict):
        found.save()


def test_a_shared_related_object_stays_in_step(alias: str) -> None:
    """Saving through the reference is saving that very object."""
    cart = Cart.objects.create()
    remark = Remark.objects.create(cart=cart)
    remark.cart.save()
    cart.save()
    assert (cart.record_version, version(cart, alias)) == (3, 3)
