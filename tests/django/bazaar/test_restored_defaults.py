"""A fixture without the version, of a model whose version has a default in the database only."""

from __future__ import annotations

import json

import pytest
from django.core import serializers

from cas_orm import ErrRecordVersionConflict
from tests.django import tables
from tests.django.bazaar.models import Adopted


def load(alias: str, key: int, **fields: object) -> None:
    """Load one row as a fixture does."""
    payload = json.dumps([{"model": "bazaar.adopted", "pk": key, "fields": {"title": "b", **fields}}])
    for found in serializers.deserialize("json", payload, using=alias):
        found.save(using=alias)


def test_over_an_existing_row(alias: str) -> None:
    """The version rises past the row's, so whoever held it is refused."""
    held = Adopted.objects.create(title="a")
    held.refresh_from_db()
    tables.rival(Adopted, held.pk, alias, revision=4)
    load(alias, held.pk)
    row = tables.row(Adopted, held.pk, alias)
    assert (row["title"], row["revision"]) == ("b", 5)
    with pytest.raises(ErrRecordVersionConflict):
        held.save()
    Adopted.objects.get().save()


def test_into_an_empty_table(alias: str) -> None:
    """A fresh row has the database's default, and can be saved."""
    load(alias, 1)
    found = Adopted.objects.get()
    assert found.revision == 1
    found.save()
    assert Adopted.objects.get().revision == 2


def test_with_a_version(alias: str) -> None:
    """The accepted twin: a number in the fixture is kept where it is higher."""
    key = Adopted.objects.create().pk
    load(alias, key, revision=8)
    assert Adopted.objects.get().revision == 8
    load(alias, key, revision=3)
    assert Adopted.objects.get().revision == 9
