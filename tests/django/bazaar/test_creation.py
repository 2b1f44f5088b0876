"""``create``, ``get_or_create``, ``update_or_create``, ``bulk_create``, factories."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import IntegrityError, models

from cas_orm import CasError, ErrRecordVersionConflict, InvalidExpectation
from tests.django import tables
from tests.django.bazaar.look import numbers, statements
from tests.django.bazaar.models import Car, Medal, Reading
from tests.django.shop.models import Novel, Order, Parcel, Slot, UrgentOrder


@pytest.mark.parametrize("model", [Order, UrgentOrder, Parcel, Novel, Car, Reading])
def test_create(alias: str, model: type[Any]) -> None:
    """Whatever the shape, a new row has version 1, generation 0, and can be saved."""
    obj = model.objects.create()
    assert (obj.record_version, obj.run_seq, numbers(obj, alias)) == (1, 0, (1, 0))
    obj.save()
    assert numbers(obj, alias) == (2, 0)


def test_create_of_an_existing_key(alias: str) -> None:
    """``create(pk=…)`` inserts or fails."""
    order = Order.objects.create(title="a")
    with pytest.raises(IntegrityError):
        Order.objects.create(pk=order.pk, title="b")
    assert Order.objects.get().title == "a"
    assert Order.objects.create(pk=order.pk + 1).record_version == 1


def test_get_or_create_sends_what_django_sends(alias: str) -> None:
    """Getting costs one statement; what was got can be saved."""
    Medal.objects.create(name="gold")
    with statements(alias, 1):
        medal, created = Medal.objects.get_or_create(name="gold", defaults={"rank": 9})
    assert (created, medal.rank) == (False, 0)
    medal.save()


def test_update_or_create_of_a_child(alias: str) -> None:
    """Defaults in both tables of a child: created, then updated, bumped once."""
    defaults = {"pages": 3, "genre": "x"}
    novel, created = Novel.objects.update_or_create(name="a", defaults=defaults)
    again, created_again = Novel.objects.update_or_create(name="a", defaults={"pages": 4, "state": "old"})
    assert (created, created_again, again.pk) == (True, False, novel.pk)
    found = Novel.objects.get()
    assert (found.pages, found.genre, found.state, found.record_version) == (4, "x", "old", 2)
    with pytest.raises(ErrRecordVersionConflict):
        novel.save()


@pytest.mark.parametrize("name", ["record_version", "run_seq"])
def test_update_or_create_never_writes_the_numbers(alias: str, name: str) -> None:
    """A default that names version or generation is refused on an existing row, which stays as it was."""
    Medal.objects.create(name="gold")
    with pytest.raises(ValueError):
        Medal.objects.update_or_create(name="gold", defaults={name: 7, "rank": 1})
    assert (Medal.objects.get().rank, numbers(Medal.objects.get(), alias)) == (0, (1, 0))
    Medal.objects.update_or_create(name="gold", defaults={"rank": 1})
    assert (Medal.objects.get().rank, numbers(Medal.objects.get(), alias)) == (1, (2, 0))


def test_update_or_create_with_create_defaults(alias: str) -> None:
    """``create_defaults`` serve the INSERT alone."""
    for expected in ((5, 1), (1, 2)):
        medal, _ = Medal.objects.update_or_create(
            name="gold", defaults={"rank": 1}, create_defaults={"rank": 5}
        )
        assert (medal.rank, medal.record_version) == expected


def test_async_twins_of_creating(alias: str) -> None:
    """``acreate``, ``aget_or_create``, ``aupdate_or_create``, ``abulk_create``."""

    async def run() -> Medal:
        await Medal.objects.acreate(name="gold")
        medal, _ = await Medal.objects.aget_or_create(name="gold")
        await medal.asave()
        medal, _ = await Medal.objects.aupdate_or_create(name="gold", defaults={"rank": 2})
        await Medal.objects.abulk_create([Medal(name="silver", record_version=5)])
        return medal

    assert async_to_sync(run)().record_version == 3
    assert Medal.objects.get(name="silver").record_version == 1


@pytest.mark.parametrize("batch_size", [None, 2])
def test_bulk_create_of_objects_with_keys(alias: str, batch_size: int | None) -> None:
    """Keys made in Python: the very objects can be saved afterwards."""
    parcels = Parcel.objects.bulk_create(
        [Parcel(label=str(n), record_version=9) for n in range(5)], batch_size=batch_size
    )
    for parcel in parcels:
        parcel.save()
        assert numbers(parcel, alias) == (2, 0)


def test_bulk_create_of_loaded_objects_clones_them(alias: str) -> None:
    """Clones start at version 1 and generation 0, whatever their source had reached."""
    order = Order.objects.create(title="a")
    order.new_generation_if_current()
    clone = Order.objects.get()
    clone.pk = None
    clone._state.adding = True
    Order.objects.bulk_create([clone])
    assert numbers(Order.objects.exclude(pk=order.pk).get(), alias) == (1, 0)


def test_bulk_create_that_fails_changes_no_object(alias: str) -> None:
    """Nothing on the objects changes before the rows are there."""
    slot = Slot.objects.create(code="S")
    slot.save()
    with pytest.raises(IntegrityError):
        Slot.objects.bulk_create([Slot(code="T"), slot])
    assert slot.record_version == 2
    assert slot.save_if_current().record_version == 3


def test_ignored_rows_are_not_believed(alias: str) -> None:
    """An object that ``ignore_conflicts`` dropped has never seen the row that was in its way."""
    Slot.objects.create(code="S", label="theirs")
    dropped = Slot(code="S", label="mine")
    Slot.objects.bulk_create([dropped], ignore_conflicts=True)
    with pytest.raises((CasError, IntegrityError)):
        dropped.save()
    assert tables.row(Slot, "S", alias)["label"] == "theirs"
    seen = Slot.objects.get()
    seen.label = "mine"
    seen.save()
    assert tables.row(Slot, "S", alias)["label"] == "mine"


def test_update_conflicts_is_refused_before_sql(alias: str) -> None:
    """An upsert would reset or skip the version."""
    options: dict[str, Any] = {"update_conflicts": True, "update_fields": ["rank"]}
    if alias != "mariadb":
        options["unique_fields"] = ["name"]
    with statements(alias, 0), pytest.raises(InvalidExpectation):
        Medal.objects.bulk_create([Medal(name="gold")], **options)
    assert len(Medal.objects.bulk_create([Medal(name="gold")])) == 1


def test_factory_boy(alias: str) -> None:
    """Create, batch, build, a post-generation hook that saves again, a child, ``get_or_create``."""
    factory = pytest.importorskip("factory")

    class NovelFactory(factory.django.DjangoModelFactory):  # type: ignore[misc,name-defined]
        class Meta:
            model = Novel
            skip_postgeneration_save = True

        name = factory.Sequence(str)

        @factory.post_generation
        def finished(self, create: bool, extracted: object, **_: object) -> None:
            if create and extracted:
                self.state = "finished"
                self.save()

    class MedalFactory(factory.django.DjangoModelFactory):  # type: ignore[misc,name-defined]
        class Meta:
            model = Medal
            django_get_or_create = ("name",)

    assert {n.record_version for n in NovelFactory.create_batch(3)} == {1}
    novel = NovelFactory(finished=True, pages=3)
    assert (novel.record_version, Novel.objects.get(pk=novel.pk).state) == (2, "finished")
    built = NovelFactory.build()
    assert built._state.adding
    built.save()
    assert built.record_version == 1
    assert MedalFactory(name="gold") == MedalFactory(name="gold")


def test_a_plain_queryset_creates_too(alias: str) -> None:
    """Django's own queryset inserts through the guarded ``save``."""
    order = models.QuerySet(Order, using=alias).create(record_version=9)
    assert (order.record_version, numbers(order, alias)) == (1, (1, 0))
