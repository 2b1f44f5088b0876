"""``loaddata`` and deserialized objects of every shape: fresh rows keep their numbers, none falls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core import serializers
from django.core.management import call_command
from django.db import transaction

from cas_orm import ErrRecordVersionConflict
from tests.django import tables
from tests.django.bazaar.look import numbers, version
from tests.django.bazaar.models import Car, Engine, Medal, Reading, Upload
from tests.django.shop.models import Legacy, Memo, Novel, Order, Parcel, Seat, Slot, UrgentOrder


def restore(alias: str, objs: list[Any], **changes: Any) -> None:
    """Serialize the objects, change fields of the text, and load it."""
    payload = json.loads(serializers.serialize("json", objs))
    for entry in payload:
        entry["fields"] |= {name: value for name, value in changes.items() if name in entry["fields"]}
    for found in serializers.deserialize("json", json.dumps(payload), using=alias):
        found.save(using=alias)


MADE: dict[type[Any], dict[str, Any]] = {
    Order: {},
    Parcel: {},
    Slot: {"code": "S"},
    Seat: {"row": "A", "number": 1},
    Reading: {},
    Medal: {"name": "gold"},
    Upload: {},
}


@pytest.mark.parametrize("model", list(MADE), ids=lambda model: model.__name__)
def test_over_an_existing_row(alias: str, model: type[Any]) -> None:
    """The version rises past the row's, so whoever held it is refused."""
    obj = model.objects.create(**MADE[model])
    text = [model.objects.get(pk=obj.pk)]
    for _ in range(3):
        obj.save()
    restore(alias, text)
    assert version(obj, alias) >= 5
    with pytest.raises(Exception, match=r"cas-(stale|superseded)"):
        obj.save()
    model.objects.get(pk=obj.pk).save()


@pytest.mark.parametrize("model", list(MADE), ids=lambda model: model.__name__)
def test_into_an_empty_table(alias: str, model: type[Any]) -> None:
    """A fresh row keeps the version of the fixture."""
    obj = model.objects.create(**MADE[model])
    obj.save()
    obj.save()
    kept = model.objects.get(pk=obj.pk)
    tables.remove(model, obj.pk, alias)
    restore(alias, [kept])
    assert version(kept, alias) == 3
    model.objects.get().save()


def test_both_numbers_rise(alias: str) -> None:
    """Each past its own, whichever the fixture names."""
    order = Order.objects.create()
    tables.rival(Order, order.pk, alias, record_version=9, run_seq=4)
    restore(alias, [order], record_version=20, run_seq=1)
    assert numbers(order, alias) == (20, 5)
    restore(alias, [order], record_version=2, run_seq=30)
    assert numbers(order, alias) == (21, 30)


def test_an_adopting_model(alias: str) -> None:
    """Columns by other names."""
    legacy = Legacy.objects.create()
    tables.rival(Legacy, legacy.pk, alias, lock_version=9, epoch=4)
    restore(alias, [legacy])
    row = tables.row(Legacy, legacy.pk, alias)
    assert (row["lock_version"], row["epoch"]) == (10, 5)


def test_a_proxy(alias: str) -> None:
    """A fixture that names the proxy."""
    order = UrgentOrder.objects.create()
    tables.rival(Order, order.pk, alias, record_version=9)
    restore(alias, [order])
    assert numbers(order, alias)[0] == 10


@pytest.mark.parametrize("model", [Novel, Car, Memo])
def test_inherited_models(alias: str, model: type[Any]) -> None:
    """A fixture of all tables: the version's own rises, the others follow."""
    obj = model.objects.create()
    held = model.objects.get()
    parents = [parent.objects.get() for parent in model._meta.all_parents]
    obj.save()
    restore(alias, [*parents, held])
    assert version(obj, alias) >= 3
    for stale in (obj, held):
        with pytest.raises(Exception, match=r"cas-(stale|superseded)"):
            stale.save()
    model.objects.get().save()


def test_a_fixture_without_the_numbers(alias: str) -> None:
    """Written before the columns were there: fresh rows start at 1, existing ones rise."""
    order = Order.objects.create()
    payload = json.loads(serializers.serialize("json", [order], fields=["title"]))
    for expected in ((2, 1), (3, 2)):
        for found in serializers.deserialize("json", json.dumps(payload), using=alias):
            found.save(using=alias)
        assert numbers(order, alias) == expected
    Order.objects.all().delete()
    for found in serializers.deserialize("json", json.dumps(payload), using=alias):
        found.save(using=alias)
    assert numbers(order, alias) == (1, 0)


@pytest.mark.parametrize("natural", [False, True])
def test_natural_keys(alias: str, tmp_path: Path, natural: bool) -> None:
    """``dumpdata --natural-primary`` finds the row by name; its version rises all the same."""
    medal = Medal.objects.create(name="gold", rank=1)
    path = tmp_path / "medals.json"
    call_command("dumpdata", "bazaar.medal", database=alias, output=str(path), natural_primary=natural)
    medal.rank = 2
    medal.save()
    call_command("loaddata", str(path), database=alias, verbosity=0)
    found = Medal.objects.get()
    assert (found.pk, found.rank, found.record_version) == (medal.pk, 1, 3)
    with pytest.raises(Exception, match=r"cas-(stale|superseded)"):
        medal.save()


def test_a_fixture_that_is_rolled_back(alias: str) -> None:
    """Readers of the row as it was stay accepted."""
    order = Order.objects.create()
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        restore(alias, [order])
        assert numbers(order, alias)[0] == 2
        raise RuntimeError
    order.save()
    assert numbers(order, alias) == (2, 0)


def test_a_raw_parent(alias: str) -> None:
    """A parent's row restored alone makes the child stale."""
    car = Car.objects.create()
    restore(alias, list(Engine.objects.all()))
    with pytest.raises(Exception, match=r"cas-(stale|superseded)"):
        car.save()


def test_save_base_raw(alias: str) -> None:
    """Django's own spelling for a child of an existing parent."""
    engine = Engine.objects.create(power=3)
    engine.save()
    held = Engine.objects.get()
    child = Car(engine_ptr=engine, radio_ptr_id=None, colour="x")
    child.__dict__.update({k: v for k, v in engine.__dict__.items() if not k.startswith("_")})
    from tests.django.bazaar.models import Radio

    child.radio_ptr = Radio.objects.create()
    child.save_base(raw=True)
    assert Car.objects.get().power == 3
    held.save()
    with pytest.raises(ErrRecordVersionConflict):
        engine.save()
