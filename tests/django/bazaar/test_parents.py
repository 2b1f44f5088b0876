"""Tables that share one object: two parents, a child without columns, vanished rows."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connections

from cas_orm import ErrRecordVersionConflict, Expect, InvalidExpectation, RecordMissing, Verdict
from cas_orm_django import delete_if_current, try_update_if_current, update_if_current
from tests.django import tables
from tests.django.bazaar.look import numbers, statements
from tests.django.bazaar.models import Car, Crate, Engine, Radio, Sealed
from tests.django.shop.models import Book, Item, Memo, Novel, Paper


def updated(sent: list[str]) -> list[str]:
    """Return the names of the tables that the UPDATE statements name, in order."""
    bare = [sql.replace('"', "").replace("`", "") for sql in sent]
    return [sql.split()[1] for sql in bare if sql.startswith("UPDATE")]


def cut(model: type[Any], key: Any, alias: str) -> None:
    """Delete the row of one table, leaving the other tables of the object behind."""
    connection = connections[alias]
    if connection.vendor != "postgresql":
        with connection.constraint_checks_disabled():
            tables.remove(model, key, alias)
        return
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        tables.remove(model, key, alias)
        cursor.execute("SET session_replication_role = DEFAULT")


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (Item, ["shop_item"]),
        (Book, ["shop_item", "shop_book"]),
        (Novel, ["shop_item", "shop_book", "shop_novel"]),
        (Memo, ["shop_memo", "shop_paper"]),
        (Car, ["bazaar_engine", "bazaar_radio", "bazaar_car"]),
    ],
)
@pytest.mark.parametrize("verb", ["save", "save_if_current"])
def test_one_statement_for_each_table(alias: str, model: type[Any], names: list[str], verb: str) -> None:
    """The version's own table first, in one transaction; a single table needs none."""
    obj = model.objects.create()
    with statements(alias, len(names) + (0 if len(names) == 1 else 2)) as sent:
        getattr(obj, verb)()
    assert updated(sent) == names
    assert not any("SELECT" in sql for sql in sent)


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        (["name"], ["shop_item"]),
        (["pages"], ["shop_item", "shop_book"]),
        (["genre"], ["shop_item", "shop_novel"]),
        (["name", "pages"], ["shop_item", "shop_book"]),
        ([], ["shop_item"]),
    ],
)
def test_untouched_tables_are_left_alone(alias: str, fields: list[str], names: list[str]) -> None:
    """A partial save writes the version's table and those that it names."""
    novel = Novel.objects.create()
    with statements(alias, len(names) + (0 if len(names) == 1 else 2)) as sent:
        novel.save_if_current(update_fields=fields)
    assert updated(sent) == names


def test_two_parents(alias: str) -> None:
    """Columns of both parents and of the child; a stale copy writes none of them."""
    car = Car.objects.create(power=1, station="a", colour="x")
    stale = Car.objects.get()
    car.power, car.station, car.colour = 2, "b", "y"
    car.save()
    assert (car.record_version, numbers(car, alias)) == (2, (2, 0))
    found = Car.objects.get()
    assert (found.power, found.station, found.colour) == (2, "b", "y")
    stale.station = "old"
    for fields in (None, ["station"], ["colour"]):
        copy = Car.objects.get()
        copy.record_version, copy.station = 1, "old"
        assert copy.try_save_if_current(update_fields=fields).verdict is Verdict.STALE
    assert Radio.objects.get().station == "b"


def test_two_parents_by_key(alias: str) -> None:
    """The second parent has a key of its own; by the object's key its row is found all the same."""
    Radio.objects.create(station="somebody else's")
    Radio.objects.create(station="somebody else's")
    car = Car.objects.create(station="a")
    other = Car.objects.create(station="a")
    assert car.pk != car.radio
    outcome = update_if_current(
        Car, car.pk, expect=Expect(record_version=1), set={"station": "b", "colour": "y", "power": 3}
    )
    assert outcome.record_version == 2
    found, spared = Car.objects.get(pk=car.pk), Car.objects.get(pk=other.pk)
    assert (found.station, found.colour, found.power, found.record_version) == ("b", "y", 3, 2)
    assert (spared.station, spared.record_version) == ("a", 1)
    assert not try_update_if_current(Car, car.pk, expect=Expect(record_version=1), set={"station": "c"})
    assert Car.objects.get(pk=car.pk).station == "b"


def test_two_parents_by_object(alias: str) -> None:
    """The verbs with given values, on the object."""
    car = Car.objects.create(station="a")
    car.update_if_current(expect=Expect(run_seq=0), set={"station": "b", "colour": "y"})
    car.new_generation_if_current(set={"station": "c"})
    assert (car.station, numbers(car, alias), Radio.objects.get().station) == ("c", (3, 1), "c")


@pytest.mark.parametrize("by_key", [False, True])
def test_deleting_a_child_of_two_parents(alias: str, by_key: bool) -> None:
    """All three rows or none."""
    car = Car.objects.create()
    if by_key:
        assert not _deleted(car.pk, version=5)
        assert _deleted(car.pk, version=1)
    else:
        stale = Car.objects.get()
        stale.record_version = 5
        assert not stale.try_delete_if_current()
        assert (Engine.objects.count(), Radio.objects.count(), Car.objects.count()) == (1, 1, 1)
        car.delete()
    assert (Engine.objects.count(), Radio.objects.count(), Car.objects.count()) == (0, 0, 0)


def _deleted(key: int, *, version: int) -> bool:
    from cas_orm_django import try_delete_if_current

    return bool(try_delete_if_current(Car, key, expect=Expect(record_version=version)))


def test_keeping_the_parents(alias: str) -> None:
    """``delete(keep_parents=True)`` is guarded by the parent's version and leaves the parent."""
    book = Book.objects.create(name="a")
    stale = Book.objects.get()
    book.save()
    with pytest.raises(ErrRecordVersionConflict):
        stale.delete(keep_parents=True)
    assert Book.objects.count() == 1
    assert book.delete(keep_parents=True) == (1, {"shop.Book": 1})
    assert (Book.objects.count(), Item.objects.get().name) == (0, "a")


@pytest.mark.parametrize("model", [Book, Novel])
@pytest.mark.parametrize("by_key", [False, True])
def test_a_vanished_child_row(alias: str, model: type[Any], by_key: bool) -> None:
    """RecordMissing, and the parent's row is as it was."""
    novel = Novel.objects.create(name="a", pages=1, genre="x")
    cut(model, novel.pk, alias)
    values = {"name": "b", "pages": 2, "genre": "y"}
    with pytest.raises(RecordMissing):
        if by_key:
            update_if_current(Novel, novel.pk, expect=Expect(record_version=1), set=values)
        else:
            novel.name, novel.pages, novel.genre = "b", 2, "y"
            novel.save()
    assert tables.row(Item, novel.pk, alias) == {
        "id": novel.pk, "name": "a", "state": "new", "record_version": 1, "run_seq": 0
    }  # fmt: skip


def test_a_vanished_row_of_the_second_parent(alias: str) -> None:
    """The same for a table that is not on the path of the keys."""
    car = Car.objects.create(power=1)
    cut(Radio, car.radio, alias)
    car.power = 2
    with pytest.raises(RecordMissing):
        car.save()
    assert tables.row(Engine, car.pk, alias)["power"] == 1


def test_a_child_without_columns(alias: str) -> None:
    """Its parent's table is all there is to write."""
    sealed = Sealed.objects.create(label="a")
    sealed.label = "b"
    sealed.save()
    assert (Crate.objects.get().label, numbers(sealed, alias)) == ("b", (2, 0))
    stale = Sealed.objects.get()
    Crate.objects.update(label="c")
    with pytest.raises(ErrRecordVersionConflict):
        stale.save()
    sealed.refresh_from_db()
    sealed.delete()
    assert not Crate.objects.exists()


def test_a_vanished_row_of_a_child_without_columns(alias: str) -> None:
    """Half an object is no win."""
    sealed = Sealed.objects.create(label="a")
    cut(Sealed, sealed.pk, alias)
    sealed.label = "b"
    with pytest.raises(RecordMissing):
        sealed.save()
    assert Crate.objects.get().label == "a"


def test_an_insert_never_takes_over_a_parent(alias: str) -> None:
    """Every table is inserted: an existing parent's row is not overwritten by a new child."""
    from django.db import IntegrityError

    item = Item.objects.create(name="a")
    with pytest.raises(IntegrityError):
        Book(item_ptr=item, name="b").save()
    assert (Item.objects.get().name, Book.objects.count()) == ("a", 0)
    fresh = Book(name="b")
    fresh.save()
    assert fresh.record_version == 1


@pytest.mark.parametrize("column", ["pages", "genre"])
def test_where_over_another_table(alias: str, column: str) -> None:
    """A condition over a child's column is refused before SQL; over the owner's it is accepted."""
    from django.db.models import Q

    novel = Novel.objects.create()
    with statements(alias, 0), pytest.raises(InvalidExpectation):
        novel.save_if_current(where=Q(**{column: 1}))
    assert novel.save_if_current(where=Q(state="new") | Q(name="x"))


def test_delete_by_key_of_a_child(alias: str) -> None:
    """With a version in the child's own table."""
    memo = Memo.objects.create(heading="a")
    with pytest.raises(ErrRecordVersionConflict):
        delete_if_current(Memo, memo.pk, expect=Expect(record_version=2))
    assert delete_if_current(Memo, memo.pk, expect=Expect(record_version=1))
    assert not Paper.objects.exists()
