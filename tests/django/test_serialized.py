"""``dumpdata`` and ``loaddata``: fresh rows keep their numbers, existing rows never go back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core import serializers
from django.core.management import call_command

from tests.django import tables
from tests.django.shop.models import Doc, Novel, Order


def load(alias: str, folder: Path, text: str) -> None:
    """Load a fixture from text."""
    path = folder / "shop.json"
    path.write_text(text)
    call_command("loaddata", str(path), database=alias, verbosity=0)


def dump(alias: str, *labels: str) -> str:
    """Dump models to text."""
    from io import StringIO

    out = StringIO()
    call_command("dumpdata", *labels, database=alias, stdout=out)
    return out.getvalue()


def test_round_trip_into_an_empty_table(alias: str, tmp_path: Path) -> None:
    """Version and generation survive; the object can be saved."""
    order = Order.objects.create(title="a", data={"x": 1})
    order.save_if_current()
    order.new_generation_if_current()
    text = dump(alias, "shop.Order")
    tables.empty(alias)
    load(alias, tmp_path, text)
    found = Order.objects.get()
    assert (found.pk, found.title, found.record_version, found.run_seq) == (order.pk, "a", 3, 1)
    found.save_if_current()


@pytest.mark.parametrize(("row", "fixture"), [((9, 4), (3, 1)), ((3, 1), (9, 4)), ((5, 2), (5, 2))])
def test_over_an_existing_row(
    alias: str, tmp_path: Path, row: tuple[int, int], fixture: tuple[int, int]
) -> None:
    """Neither number goes back, whoever is ahead: every reader of the old row is refused."""
    order = Order.objects.create(title="now")
    tables.rival(Order, order.pk, alias, record_version=row[0], run_seq=row[1])
    held = Order.objects.get()
    payload = json.loads(dump(alias, "shop.Order"))
    payload[0]["fields"] |= {"title": "then", "record_version": fixture[0], "run_seq": fixture[1]}
    load(alias, tmp_path, json.dumps(payload))
    after = tables.row(Order, order.pk, alias)
    assert after["title"] == "then"
    assert after["record_version"] >= row[0] + 1
    assert after["run_seq"] >= row[1] + 1
    assert not held.try_save_if_current()
    Order.objects.get().save_if_current()


def test_a_model_without_a_generation(alias: str, tmp_path: Path) -> None:
    """The same for a version alone."""
    doc = Doc.objects.create(title="now")
    text = dump(alias, "shop.Doc")
    doc.save_if_current()
    load(alias, tmp_path, text)
    assert tables.row(Doc, doc.pk, alias)["record_version"] >= 3


def test_three_tables(alias: str, tmp_path: Path) -> None:
    """Multi-table inheritance round-trips, into empty tables and over the rows."""
    novel = Novel.objects.create(name="a", pages=3, genre="x")
    novel.save_if_current()
    text = dump(alias, "shop.Item", "shop.Book", "shop.Novel")
    load(alias, tmp_path, text)
    found = Novel.objects.get()
    assert (found.name, found.pages, found.genre) == ("a", 3, "x")
    assert found.record_version >= 3
    tables.empty(alias)
    load(alias, tmp_path, text)
    Novel.objects.get().save_if_current()


def test_deserialized_objects(alias: str) -> None:
    """The serializer's own objects, saved by hand."""
    order = Order.objects.create(title="a")
    text = serializers.serialize("json", [order])
    for deserialized in serializers.deserialize("json", text, using=alias):
        deserialized.save(using=alias)
    assert tables.row(Order, order.pk, alias)["record_version"] >= 2
