"""Models of several tables: set-based updates are whole, children's own columns can be written alone."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connections, models, transaction
from django.test.utils import isolate_apps

from cas_orm import Expect, Superseded
from cas_orm_django import CasMixin, WriteTokenMixin
from tests.django import tables
from tests.django.bazaar.faults import failing
from tests.django.bazaar.look import numbers, statements
from tests.django.bazaar.models import Car, Dial
from tests.django.bazaar.test_check_ids import ids
from tests.django.shop.models import Book, Item, Memo, Novel, Order


@pytest.mark.parametrize("table", [Novel, Book, Item])
@pytest.mark.parametrize("inside", [False, True], ids=["autocommit", "block"])
def test_an_update_of_three_tables_is_whole(alias: str, table: type[Any], inside: bool) -> None:
    """Whichever table's UPDATE fails, no other table keeps its own."""
    novel = Novel.objects.create(name="a", pages=1, genre="a")
    word = f"UPDATE {connections[alias].ops.quote_name(table._meta.db_table)} "

    def update() -> None:
        Novel.objects.update(name="b", pages=2, genre="b")

    with failing(alias, word), pytest.raises(RuntimeError):
        if inside:
            with transaction.atomic(using=alias):
                update()
        else:
            update()
    found = Novel.objects.get()
    assert (found.name, found.pages, found.genre, numbers(novel, alias)) == ("a", 1, "a", (1, 0))


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (Novel, {"name": "b", "pages": 2, "genre": "b"}),
        (Novel, {"genre": "b"}),
        (Car, {"power": 2, "station": "b", "colour": "b"}),
        (Memo, {"heading": "b", "text": "b"}),
    ],
)
def test_an_update_of_several_tables(alias: str, model: type[Any], values: dict[str, Any]) -> None:
    """The accepted twin: everything is written, the version rises once."""
    stale = model.objects.create()
    assert model.objects.update(**values) == 1
    found = model.objects.get()
    assert {name: getattr(found, name) for name in values} == values
    assert found.record_version == 2
    with pytest.raises(Exception, match=r"cas-stale"):
        stale.save()


@pytest.mark.parametrize("verb", ["save", "save_if_current"])
def test_an_unversioned_column_of_the_child(alias: str, verb: str) -> None:
    """Written alone: key and generation are believed in the parent's table, where nothing is assigned."""
    dial = Dial.objects.create(name="a", face="a")
    other = Dial.objects.get()
    dial.save()
    other.beat = 7
    getattr(other, verb)(update_fields=["beat"])
    row = tables.row(Dial, dial.pk, alias)
    assert (row["beat"], numbers(dial, alias)) == (7, (2, 0))
    dial.save()
    assert (tables.row(Dial, dial.pk, alias)["beat"], numbers(dial, alias)) == (7, (3, 0))


def test_an_unversioned_column_of_a_child_by_verb(alias: str) -> None:
    """The verb with given values, and beside a versioned column."""
    dial = Dial.objects.create()
    dial.update_if_current(expect=Expect.of(dial, "run_seq"), set={"beat": 1})
    assert numbers(dial, alias) == (1, 0)
    dial.save(update_fields=["beat", "face"])
    assert numbers(dial, alias) == (2, 0)
    dial.save(update_fields=["name"])
    assert numbers(dial, alias) == (3, 0)


def test_an_unversioned_column_of_a_child_of_an_older_generation(alias: str) -> None:
    """A zombie's beat is refused, in the parent's table, and the child's is left alone."""
    dial = Dial.objects.create()
    Dial.objects.get().new_generation_if_current()
    dial.beat = 9
    with pytest.raises(Superseded):
        dial.save(update_fields=["beat"])
    assert tables.row(Dial, dial.pk, alias)["beat"] == 0


def test_a_token_in_another_table_than_the_version() -> None:
    """Written by another statement it proves nothing: an error of the system checks."""
    with isolate_apps("tests.django.bazaar"):

        class Parent(CasMixin, models.Model):
            class Meta:
                app_label = "bazaar"

        class Child(WriteTokenMixin, Parent):
            class Meta:
                app_label = "bazaar"

        class Whole(WriteTokenMixin, CasMixin, models.Model):
            class Meta:
                app_label = "bazaar"

        class Heir(Whole):
            class Meta:
                app_label = "bazaar"

        assert ids(Child) == ["cas_orm.E001"]
        assert (ids(Parent), ids(Whole), ids(Heir)) == ([], [], [])


def test_an_update_of_one_table_needs_no_transaction(alias: str) -> None:
    """The accepted twin of the others: one statement, as in Django."""
    Order.objects.create()
    with statements(alias, 1):
        Order.objects.update(n=1)
