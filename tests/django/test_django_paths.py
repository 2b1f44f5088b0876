"""Django's own ways of writing keep working, and bump."""

from __future__ import annotations

import pytest
from django.db import transaction
from django.db.models import F
from django.forms import modelform_factory
from django.utils import timezone

from cas_orm import ErrRecordVersionConflict
from tests.django import tables
from tests.django.shop.models import (
    Article,
    Cart,
    CartLine,
    Member,
    Order,
    Periodic,
    Remark,
    Schedule,
    Slot,
    Tag,
)


def version(obj: object) -> int:
    """Return the version in the row."""
    return int(type(obj)._base_manager.values_list("record_version", flat=True).get(pk=obj.pk))  # type: ignore[attr-defined]


def test_get_or_create(alias: str) -> None:
    """It creates at version 1, then gets."""
    made, created = Order.objects.get_or_create(title="a", defaults={"n": 1})
    again, created_again = Order.objects.get_or_create(title="a", defaults={"n": 2})
    assert (created, created_again, made, again.n, version(made)) == (True, False, again, 1, 1)
    again.save()


def test_update_or_create(alias: str) -> None:
    """It creates at version 1, then updates and bumps."""
    made, created = Order.objects.update_or_create(title="a", defaults={"n": 1})
    again, created_again = Order.objects.update_or_create(title="a", defaults={"n": 2})
    assert (created, created_again, made.pk) == (True, False, again.pk)
    assert (version(made), again.record_version, again.n) == (2, 2, 2)
    with pytest.raises(ErrRecordVersionConflict):
        made.save()
    again.save()


def test_queryset_update_bumps(alias: str) -> None:
    """Every row once; the generation stays."""
    orders = [Order.objects.create(n=n) for n in range(3)]
    assert Order.objects.filter(n__lt=2).update(title="x") == 2
    assert [version(o) for o in orders] == [2, 2, 1]
    assert tables.row(Order, orders[0].pk, alias)["run_seq"] == 0
    Order.objects.update(n=F("n") + 1)
    assert [version(o) for o in orders] == [3, 3, 2]


@pytest.mark.parametrize("name", ["record_version", "run_seq"])
def test_queryset_update_never_writes_the_numbers(alias: str, name: str) -> None:
    """``update(record_version=…)`` is refused."""
    order = Order.objects.create()
    with pytest.raises(ValueError):
        Order.objects.update(**{name: 9})
    with pytest.raises(ValueError):
        Order.objects.bulk_update([order], [name])
    assert tables.row(Order, order.pk, alias)[name] in (0, 1)


def test_bulk_create(alias: str) -> None:
    """Rows start at version 1 and the objects can be saved."""
    orders = Order.objects.bulk_create([Order(title=str(n), record_version=n + 5) for n in range(3)])
    assert {version(o) for o in Order.objects.all()} == {1}
    assert {o.record_version for o in orders} == {1}
    for order in Order.objects.all():
        order.save()


def test_bulk_create_with_conflicts(alias: str) -> None:
    """``update_conflicts`` would reset the version and is refused; ``ignore_conflicts`` stays."""
    Slot.objects.create(code="S", label="a")
    options = {"update_conflicts": True, "update_fields": ["label"]}
    if alias != "mariadb":
        options["unique_fields"] = ["code"]
    with pytest.raises((ValueError, NotImplementedError)):
        Slot.objects.bulk_create([Slot(code="S", label="b")], **options)
    assert tables.row(Slot, "S", alias)["label"] == "a"
    Slot.objects.bulk_create([Slot(code="S", label="b"), Slot(code="T")], ignore_conflicts=True)
    assert (tables.row(Slot, "S", alias)["label"], Slot.objects.count()) == ("a", 2)


def test_bulk_update_bumps_rows_and_objects(alias: str) -> None:
    """Each row and each object by one, so that the objects can be saved afterwards."""
    orders = [Order.objects.create(n=n) for n in range(3)]
    for order in orders:
        order.n += 10
    assert Order.objects.bulk_update(orders, ["n"], batch_size=2) == 3
    assert [(version(o), o.record_version) for o in orders] == [(2, 2)] * 3
    for order in orders:
        order.save()


def test_bulk_update_of_a_stale_object_fails_closed_later(alias: str) -> None:
    """A wrong guess of the version is refused at the next save."""
    order = Order.objects.create()
    tables.rival(Order, order.pk, alias, record_version=5)
    Order.objects.bulk_update([order], ["n"])
    with pytest.raises(ErrRecordVersionConflict):
        order.save()


def test_in_bulk_and_select_for_update(alias: str) -> None:
    """Loaded either way an object has seen its version."""
    order = Order.objects.create()
    Order.objects.in_bulk([order.pk])[order.pk].save()
    with transaction.atomic(using=alias):
        locked = Order.objects.select_for_update().get(pk=order.pk)
        locked.save()
    assert version(order) == 3


def test_prefetch_and_select_related(alias: str) -> None:
    """So has one that came with another."""
    cart = Cart.objects.create()
    CartLine.objects.create(cart=cart)
    Remark.objects.create(cart=cart)
    CartLine.objects.select_related("cart").get().cart.save()
    (found,) = Cart.objects.prefetch_related("lines", "remarks")
    found.remarks.all()[0].save()
    found.save()
    assert version(cart) == 3


def test_many_to_many(alias: str) -> None:
    """Adding a tag writes the through table only."""
    cart = Cart.objects.create()
    tag = Tag.objects.create(name="t")
    cart.tags.add(tag)
    cart.tags.set([tag])
    assert (list(cart.tags.all()), version(cart)) == ([tag], 1)
    cart.tags.clear()
    cart.save()


def test_reverse_foreign_keys_bump(alias: str) -> None:
    """``parent.children.add(child)`` writes by queryset: the row is bumped, the older copy refused."""
    cart, remark = Cart.objects.create(), Remark.objects.create(text="a")
    cart.remarks.add(remark)
    assert version(remark) == 2
    with pytest.raises(ErrRecordVersionConflict):
        remark.save()


def test_set_null_cascades_bump(alias: str) -> None:
    """A child whose key was emptied has a new version; who holds an older copy is refused."""
    schedule = Schedule.objects.create()
    held = Periodic.objects.get(pk=Periodic.objects.create(schedule=schedule).pk)
    schedule.delete()
    assert version(held) == 2
    with pytest.raises(ErrRecordVersionConflict):
        held.save()


def test_refresh_from_db(alias: str) -> None:
    """A reload takes over the version; a partial one that names it too."""
    order = Order.objects.create()
    tables.rival(Order, order.pk, alias, record_version=4, title="theirs")
    order.refresh_from_db()
    assert (order.record_version, order.title) == (4, "theirs")
    order.save()


def test_a_partial_refresh_does_not_renew_the_belief(alias: str) -> None:
    """The other columns are still old, so the save is refused."""
    order = Order.objects.create()
    tables.rival(Order, order.pk, alias, record_version=4)
    order.refresh_from_db(fields=["title"])
    with pytest.raises(ErrRecordVersionConflict):
        order.save()


def test_model_form(alias: str) -> None:
    """A model form creates, changes, and refuses what went stale in between."""
    form_class = modelform_factory(Article, fields=["kind", "title"])
    article = form_class({"kind": "news", "title": "a"}).save()
    form = form_class({"kind": "essay", "title": "b"}, instance=article)
    form.save()
    assert (version(article), tables.row(Article, article.pk, alias)["title"]) == (2, "b")
    form = form_class({"kind": "essay", "title": "c"}, instance=Article.objects.get(pk=article.pk))
    assert form.is_valid()
    tables.rival(Article, article.pk, alias, record_version=9)
    with pytest.raises(ErrRecordVersionConflict):
        form.save()


def test_ac07_login(alias: str) -> None:
    """AC-07: a user model saves ``last_login`` alone, then in full; an older copy is refused."""
    member = Member.objects.create_user("a", password="p")
    older = Member.objects.get(pk=member.pk)
    member.last_login = timezone.now()
    member.save(update_fields=["last_login"])
    member.save()
    assert (version(member), member.record_version) == (3, 3)
    older.nickname = "old"
    with pytest.raises(ErrRecordVersionConflict):
        older.save()


def test_factory_boy(alias: str) -> None:
    """A test factory makes rows at version 1."""
    factory = pytest.importorskip("factory")

    class OrderFactory(factory.django.DjangoModelFactory):  # type: ignore[misc,name-defined]
        class Meta:
            model = Order

        title = factory.Sequence(str)

    order = OrderFactory(n=3)
    assert (order.record_version, version(order)) == (1, 1)
    order.save()
