"""The SQL of each verb on each database, word for word."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections
from django.db.models import Q
from django.test.utils import CaptureQueriesContext

from cas_orm import Expect, not_one_of, one_of
from cas_orm_django import update_if_current
from tests.django.shop.models import Doc, Order, Seat


def sent(alias: str, write: Callable[[], Any]) -> str:
    """Return the one statement that a write sends."""
    with CaptureQueriesContext(connections[alias]) as log:
        write()
    (query,) = log.captured_queries
    return str(query["sql"])


def columns(sql: str) -> tuple[list[str], list[str]]:
    """Return the columns of the SET list and those of the WHERE, in order, without tables and quotes."""
    bare = re.sub(r"[`\"]", "", sql)
    bare = re.sub(r"\b(shop_\w+)\.", "", bare)
    head, _, where = bare.partition(" WHERE ")
    where = where.partition(" RETURNING ")[0]
    return re.findall(r"(?:SET |, )(\w+) = ", head), re.findall(r"\(*(\w+) (?:=|IS|IN|<>|NOT)", where)


def test_full_save(alias: str) -> None:
    """All columns but key and generation; the belief is key, version, generation."""
    doc = Doc.objects.create(title="a", body="b", n=1)
    names, belief = columns(sent(alias, doc.save_if_current))
    assert sorted(names) == ["body", "n", "record_version", "title"]
    assert belief == ["id", "record_version"]


def test_partial_save(alias: str) -> None:
    """The named column and the version."""
    order = Order.objects.create()
    names, belief = columns(sent(alias, lambda: order.save_if_current(update_fields=["n"])))
    assert sorted(names) == ["n", "record_version"]
    assert sorted(belief) == ["id", "record_version", "run_seq"]


def test_the_version_is_bumped_in_sql(alias: str) -> None:
    """``record_version + 1`` is computed by the database, never bound."""
    order = Order.objects.create()
    for write in (order.save_if_current, order.save, order.new_generation_if_current):
        sql = re.sub(r"[`\"()]", "", sent(alias, write))
        assert re.search(r"record_version \+ 1", sql), sql


def test_a_hand_over_raises_both(alias: str) -> None:
    """Version and generation, and nothing else."""
    order = Order.objects.create()
    sql = sent(alias, order.new_generation_if_current)
    names, belief = columns(sql)
    assert sorted(names) == ["record_version", "run_seq"]
    assert sorted(belief) == ["id", "record_version", "run_seq"]


@pytest.mark.parametrize(
    ("expect", "pattern"),
    [
        (Expect(note="a"), r"note = "),
        (Expect(note=None), r"note IS NULL"),
        (Expect(note=one_of("a", "b")), r"note IN \("),
        (Expect(note=one_of(None, "a")), r"note IS NULL"),
        (Expect(note=not_one_of("a")), r"note IS NULL"),
        (Expect(note=not_one_of(None)), r"note IS NOT NULL"),
    ],
)
def test_beliefs(alias: str, expect: Expect, pattern: str) -> None:
    """NULL is said out loud; nothing is left to three-valued logic."""
    order = Order.objects.create()
    with CaptureQueriesContext(connections[alias]) as log:
        order.try_update_if_current(expect=expect, set={"n": 1})
    sql = re.sub(r"[`\"]", "", log.captured_queries[0]["sql"])
    assert re.search(pattern, sql.partition(" WHERE ")[2]), sql


def test_one_table_whatever_the_belief(alias: str) -> None:
    """No SELECT, no JOIN, no second table; a condition over a relation is refused."""
    order = Order.objects.create()
    sql = sent(alias, lambda: order.save_if_current(where=Q(n=0) | Q(title="x"), expect=Expect(state="new")))
    assert not re.search(r"\b(SELECT|JOIN|FROM)\b", sql)
    with CaptureQueriesContext(connections[alias]) as log, pytest.raises(ValueError):
        order.save_if_current(where=Q(customer__name="x"))
    assert len(log) == 0


def test_an_unsaved_object_and_the_key_form_send_the_same(alias: str) -> None:
    """By key the statement is the same as on the object."""
    one, two = Order.objects.create(), Order.objects.create()
    expect = Expect(record_version=1, state="new")
    by_object = sent(alias, lambda: one.update_if_current(expect=expect, set={"n": 1}))
    by_key = sent(alias, lambda: update_if_current(Order, two.pk, expect=expect, set={"n": 1}))
    assert re.sub(r"\d+", "#", by_object) == re.sub(r"\d+", "#", by_key)


def test_a_composite_key(alias: str) -> None:
    """Both columns of the key stand in the WHERE."""
    seat = Seat.objects.create(row="A", number=1)
    sql = re.sub(r"[`\"]", "", sent(alias, seat.save_if_current))
    where = sql.partition(" WHERE ")[2]
    assert "row" in where and "number" in where
    assert "SET" in sql and "number =" not in sql.partition(" WHERE ")[0]
