"""Proxies, abstract bases, and tables that share one version."""

from __future__ import annotations

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from cas_orm import ErrRecordVersionConflict, Expect, InvalidExpectation, RecordMissing, Superseded, Verdict
from cas_orm_django import delete_if_current, update_if_current
from tests.django import tables
from tests.django.shop.models import Book, Gadget, Item, Memo, Novel, Order, Paper, UrgentOrder


def test_proxy(alias: str) -> None:
    """A proxy and its model share row and version."""
    proxy = UrgentOrder.objects.create(title="a")
    order = Order.objects.get(pk=proxy.pk)
    assert proxy.save_if_current().model == "shop.UrgentOrder"
    with pytest.raises(ErrRecordVersionConflict):
        order.save()
    assert update_if_current(UrgentOrder, proxy.pk, expect=Expect(record_version=2), set={"n": 1})


def test_abstract_base(alias: str) -> None:
    """A mixin behind an abstract base, under a Meta of the model's own."""
    gadget = Gadget.objects.create(label="a")
    gadget.label = "b"
    gadget.save_if_current()
    assert tables.row(Gadget, gadget.pk, alias)["record_version"] == 2
    assert Gadget.objects.update(n=1) == 1
    with pytest.raises(ErrRecordVersionConflict):
        gadget.save()


@pytest.mark.parametrize("model", [Book, Novel])
def test_child_wins(alias: str, model: type[Item]) -> None:
    """One version for the whole object, in the root's table."""
    thing = model.objects.create(name="a", pages=1)
    thing.name, thing.pages = "b", 2
    outcome = thing.save_if_current()
    assert (outcome.verdict, outcome.record_version, thing.record_version) == (Verdict.WON, 2, 2)
    found = model.objects.get(pk=thing.pk)
    assert (found.name, found.pages, found.record_version) == ("b", 2, 2)


def test_the_versions_table_goes_first_by_plain_columns(alias: str) -> None:
    """Root first, children after it, one transaction, no sub-select."""
    novel = Novel.objects.create(name="a")
    with CaptureQueriesContext(connections[alias]) as sent:
        novel.save_if_current()
    updates = [q["sql"] for q in sent if q["sql"].startswith("UPDATE")]
    assert "shop_item" in updates[0] and "record_version" in updates[0]
    assert not any("SELECT" in sql for sql in updates)
    assert not any(q["sql"].startswith("SELECT") for q in sent)


@pytest.mark.parametrize("seen_by", ["child", "parent"])
def test_a_write_through_either_class_refuses_the_other(alias: str, seen_by: str) -> None:
    """The parent's save is seen by the child and the other way round."""
    book = Book.objects.create(name="a", pages=1)
    item = Item.objects.get(pk=book.pk)
    winner, loser = (item, book) if seen_by == "child" else (book, item)
    winner.save_if_current()
    with pytest.raises(ErrRecordVersionConflict):
        loser.save_if_current()


def test_a_refused_child_writes_no_table(alias: str) -> None:
    """Zero rows in the version's table: nothing anywhere."""
    novel = Novel.objects.create(name="a", pages=1, genre="x")
    tables.rival(Item, novel.pk, alias, record_version=2)
    novel.name, novel.pages, novel.genre = "b", 2, "y"
    assert novel.try_save_if_current().verdict is Verdict.STALE
    found = Novel.objects.get(pk=novel.pk)
    assert (found.name, found.pages, found.genre, found.record_version) == ("a", 1, "x", 2)


@pytest.mark.parametrize("fields", [["pages"], ["name"], ["genre"], ["name", "genre"], []])
def test_partial_saves_check_and_bump_whatever_table_they_name(alias: str, fields: list[str]) -> None:
    """A save of a child's column alone is checked and bumps as well."""
    novel = Novel.objects.create(name="a", pages=1, genre="x")
    other = Novel.objects.get(pk=novel.pk)
    novel.name, novel.pages, novel.genre = "b", 2, "y"
    assert novel.save_if_current(update_fields=fields).record_version == 2
    found = Novel.objects.get(pk=novel.pk)
    expected = {"name": "a", "pages": 1, "genre": "x"} | {n: getattr(novel, n) for n in fields}
    assert {n: getattr(found, n) for n in expected} == expected
    assert other.try_save_if_current(update_fields=fields).verdict is Verdict.STALE


def test_a_missing_child_row_rolls_the_root_back(alias: str) -> None:
    """Half an object is no win: the bump of the root is undone."""
    book = Book.objects.create(name="a", pages=1)
    key = book.pk
    with connections[alias].cursor() as cursor:
        cursor.execute("DELETE FROM shop_book")
    book.name = "b"
    with pytest.raises(RecordMissing):
        book.save_if_current()
    row = tables.row(Item, key, alias)
    assert (row["name"], row["record_version"]) == ("a", 1)


def test_a_vanished_object_is_not_inserted(alias: str) -> None:
    """In no table."""
    novel = Novel.objects.create(name="a")
    Novel.objects.all().delete()
    novel_again = novel
    with pytest.raises(RecordMissing):
        novel_again.save()
    assert not Item.objects.exists()


def test_update_and_generation_of_a_child(alias: str) -> None:
    """Belief in the root's columns, writes in any."""
    novel = Novel.objects.create(name="a", state="new", genre="x")
    novel.update_if_current(expect=Expect(state="new", record_version=1), set={"genre": "y", "name": "b"})
    assert (novel.genre, novel.name, novel.record_version) == ("y", "b", 2)
    assert update_if_current(Novel, novel.pk, expect=Expect(run_seq=0), set={"pages": 3}).record_version == 3
    found = Novel.objects.get(pk=novel.pk)
    assert (found.genre, found.name, found.pages, found.record_version) == ("y", "b", 3, 3)
    found.new_generation_if_current()
    novel.refresh_from_db()
    assert (novel.run_seq, novel.record_version) == (1, 4)


def test_a_belief_about_another_table_is_invalid(alias: str) -> None:
    """Only columns of the version's own table stand in its WHERE."""
    novel = Novel.objects.create(pages=1)
    for column in ("pages", "genre"):
        with pytest.raises(InvalidExpectation):
            novel.save_if_current(expect=Expect(**{column: 1}))
    assert novel.save_if_current(expect=Expect(state="new"))


@pytest.mark.parametrize("stale", [False, True])
def test_delete_of_a_child(alias: str, stale: bool) -> None:
    """All tables or none."""
    novel = Novel.objects.create(name="a")
    key = novel.pk
    tables.rival(Item, key, alias, record_version=2 if stale else 1)
    outcome = novel.try_delete_if_current()
    assert bool(outcome) is not stale
    for model in (Item, Book, Novel):
        assert model.objects.filter(pk=key).exists() is stale
    if stale:
        assert delete_if_current(Novel, key, expect=Expect(record_version=2))
        assert not Item.objects.exists()


def test_queryset_update_of_a_child_bumps_once(alias: str) -> None:
    """Whichever table the columns are in."""
    novel = Novel.objects.create(name="a")
    for count, columns in enumerate(({"genre": "y"}, {"name": "b"}, {"genre": "z", "name": "c"}), start=2):
        assert Novel.objects.filter(pk=novel.pk).update(**columns) == 1
        assert Item.objects.get(pk=novel.pk).record_version == count


def test_a_version_in_the_childs_table(alias: str) -> None:
    """The child's table, which owns the version, goes first; the parent's only after a win."""
    memo = Memo.objects.create(heading="a", text="x")
    stale = Memo.objects.get(pk=memo.pk)
    memo.heading, memo.text = "b", "y"
    assert memo.save_if_current().record_version == 2
    stale.heading = "old"
    assert stale.try_save_if_current().verdict is Verdict.STALE
    assert Paper.objects.get(pk=memo.pk).heading == "b"
    assert memo.save_if_current(update_fields=["heading"]).record_version == 3


def test_a_superseded_child(alias: str) -> None:
    """The generation lives in the root too."""
    book = Book.objects.create()
    Item.objects.get(pk=book.pk).new_generation_if_current()
    with pytest.raises(Superseded):
        book.save()
