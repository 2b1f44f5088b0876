"""``QuerySet.update``, ``bulk_update``, related managers, cascades: they bump without comparing."""

from __future__ import annotations

import pytest
from asgiref.sync import async_to_sync
from django.db import connections, transaction
from django.db.models import Case, F, Value, When
from django.db.models.functions import Concat

from cas_orm import CasError, ErrRecordVersionConflict
from tests.django import tables
from tests.django.bazaar.look import numbers, statements, version
from tests.django.bazaar.models import Car, Engine, Medal, Reading, Retired, Sealed
from tests.django.shop.models import (
    Customer,
    Device,
    Novel,
    Order,
    Page,
    Slot,
    Ticket,
)


def test_update_refuses_the_older_copy(alias: str) -> None:
    """A row that a queryset wrote is another version; a reload is accepted."""
    order = Order.objects.create()
    Order.objects.filter(pk=order.pk).update(title="theirs")
    with pytest.raises(ErrRecordVersionConflict):
        order.save()
    order.refresh_from_db()
    order.save()
    assert numbers(order, alias) == (3, 0)


@pytest.mark.parametrize(
    "value", [Concat("title", Value("b")), F("note"), Case(When(n=0, then=Value("ab")), default=Value(""))]
)
def test_update_by_expressions(alias: str, value: object) -> None:
    """Expressions stay Django's; the version rises beside them, in one statement."""
    order = Order.objects.create(title="a", note="ab")
    with statements(alias, 1):
        assert Order.objects.update(title=value) == 1
    assert (Order.objects.get().title, version(order, alias)) == ("ab", 2)


def test_update_of_a_relation(alias: str) -> None:
    """A foreign key by object, by id and to nothing."""
    order, customer = Order.objects.create(), Customer.objects.create()
    Order.objects.update(customer=customer)
    Order.objects.update(customer_id=customer.pk)
    Order.objects.update(customer=None)
    assert version(order, alias) == 4


@pytest.mark.parametrize(
    "columns", [{"power": 1}, {"station": "x"}, {"colour": "y"}, {"power": 1, "colour": "y"}]
)
def test_update_of_two_parents_and_a_child(alias: str, columns: dict[str, object]) -> None:
    """Whichever table the column is in, the version rises once."""
    car, other = Car.objects.create(), Car.objects.create()
    assert Car.objects.filter(pk=car.pk).update(**columns)
    assert (version(car, alias), version(other, alias)) == (2, 1)
    found = Car.objects.get(pk=car.pk)
    assert {name: getattr(found, name) for name in columns} == columns


def test_update_through_the_parent_class(alias: str) -> None:
    """The child sees a write through its parent's manager."""
    car = Car.objects.create()
    Engine.objects.update(power=4)
    with pytest.raises(ErrRecordVersionConflict):
        car.save()


def test_update_of_unversioned_columns_does_not_bump(alias: str) -> None:
    """Nobody's conflict: older copies stay accepted; beside another column the version rises."""
    device = Device.objects.create()
    Device.objects.update(hits=F("hits") + 1)
    assert version(device, alias) == 1
    device.save()
    Device.objects.update(hits=0, name="x")
    assert version(device, alias) == 3


def test_an_empty_update_writes_nothing(alias: str) -> None:
    """``update()`` without columns is Django's no-op, so it bumps nothing."""
    order = Order.objects.create()
    Order.objects.update()
    assert version(order, alias) == 1


def test_update_of_a_key_bumps(alias: str) -> None:
    """A changed primary key is a write like any other."""
    Slot.objects.create(code="S")
    Slot.objects.update(code="T")
    assert tables.row(Slot, "T", alias)["record_version"] == 2


def test_update_renews_the_token(alias: str) -> None:
    """A model with a write token gets a new one with every write."""
    ticket = Ticket.objects.create()
    first = tables.row(Ticket, ticket.pk, alias)["write_token"]
    Ticket.objects.update(n=1)
    assert tables.row(Ticket, ticket.pk, alias)["write_token"] != first


def test_aupdate(alias: str) -> None:
    """The async twin bumps."""
    order = Order.objects.create()
    async_to_sync(Order.objects.filter(pk=order.pk).aupdate)(title="x")
    assert version(order, alias) == 2


@pytest.mark.parametrize("batch_size", [None, 1])
def test_bulk_update(alias: str, batch_size: int | None) -> None:
    """Rows and objects step together; expressions and several columns too."""
    medals = Medal.objects.bulk_create([Medal(name=str(n)) for n in range(3)])
    medals = list(Medal.objects.order_by("name"))
    for medal in medals:
        medal.rank, medal.name = F("rank") + 2, f"{medal.name}!"
    assert Medal.objects.bulk_update(medals, ["rank", "name"], batch_size=batch_size) == 3
    assert [m.record_version for m in medals] == [2, 2, 2]
    assert {(m.rank, m.record_version) for m in Medal.objects.all()} == {(2, 2)}
    for medal in medals:
        medal.save(update_fields=["name"])


def test_bulk_update_of_a_child(alias: str) -> None:
    """Columns of every table of a child."""
    novel = Novel.objects.create()
    novel.name, novel.pages, novel.genre = "a", 1, "x"
    Novel.objects.bulk_update([novel], ["name", "pages", "genre"])
    assert (novel.record_version, version(novel, alias)) == (2, 2)
    novel.save()


def test_bulk_update_of_unversioned_columns(alias: str) -> None:
    """Neither row nor object is bumped."""
    reading = Reading.objects.create()
    reading.seen = 4
    Reading.objects.bulk_update([reading], ["seen"])
    assert (reading.record_version, version(reading, alias)) == (1, 1)
    reading.save()


def test_bulk_update_rolled_back(alias: str) -> None:
    """After an outer rollback the objects are truthful."""
    order = Order.objects.create()
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        Order.objects.bulk_update([order], ["n"])
        assert order.record_version == 2
        raise RuntimeError
    order.save()
    assert (order.record_version, version(order, alias)) == (2, 2)


def test_abulk_update(alias: str) -> None:
    """The async twin bumps rows and objects."""
    order = Order.objects.create()

    async def run() -> None:
        await Order.objects.abulk_update([order], ["n"])

    async_to_sync(run)()
    assert (order.record_version, version(order, alias)) == (2, 2)


def test_bulk_update_past_a_row_that_it_did_not_reach(alias: str) -> None:
    """A row that the manager hides was not written, so its object must not run ahead of it."""
    page = Page.objects.create(title="a", hidden=True)
    page.title = "mine"
    assert Page.objects.bulk_update([page], ["title"]) == 0
    Page.everything.filter(pk=page.pk).update(title="theirs")
    with pytest.raises(CasError):
        page.save()
    assert tables.row(Page, page.pk, alias)["title"] == "theirs"


def test_queryset_delete(alias: str) -> None:
    """Set-based deletes compare nothing; an object that is still held is refused, not inserted."""
    order = Order.objects.create()
    sealed = Sealed.objects.create()
    assert Order.objects.all().delete() == (1, {"shop.Order": 1})
    Sealed.objects.all().delete()
    for gone in (order, sealed):
        with pytest.raises(CasError):
            gone.save()
    assert not Order.objects.exists() and not Sealed.objects.exists()


def test_update_through_a_filtering_manager(alias: str) -> None:
    """A manager's filter narrows ``update``, as in Django; what it spares keeps its version."""
    seen, hidden = Retired.objects.create(), Retired.objects.create(retired=True)
    assert Retired.objects.update(title="x") == 1
    assert (version(seen, alias), version(hidden, alias)) == (2, 1)


def test_in_bulk_and_locked_rows(alias: str) -> None:
    """Objects from ``in_bulk``, ``iterator``, ``select_for_update`` have seen their version."""
    keys = [Medal.objects.create(name=str(n)).pk for n in range(3)]
    Medal.objects.in_bulk(["0"], field_name="name")["0"].save()
    for medal in list(Medal.objects.iterator(chunk_size=2)):
        medal.save()
    with transaction.atomic(using=alias):
        options = {"of": ("self",)} if connections[alias].features.has_select_for_update_of else {}
        Medal.objects.select_for_update(**options).get(pk=keys[0]).save()
    assert [version(Medal(pk=key), alias) for key in keys] == [4, 2, 2]
