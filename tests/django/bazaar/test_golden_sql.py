"""The SQL of each verb on each database, word for word, with its parameters."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections
from django.db.models import F, Q

from cas_orm import Expect, not_one_of, one_of
from cas_orm_django import delete_if_current, new_generation_if_current, update_if_current
from tests.django.shop.models import Cart, Device, Doc, Novel, Order, Seat

ONE = Expect(record_version=1)


def sent(alias: str, write: Callable[[], Any]) -> list[str]:
    """Return the statements of a write, quotes taken off, each parameter in its place in braces."""
    log: list[str] = []

    def record(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        values = iter(params or ())
        bare = re.sub(r"%s", lambda _: "{" + str(next(values)) + "}", sql)
        log.append(re.sub(r'[`"]', "", bare))
        return execute(sql, params, many, context)

    with connections[alias].execute_wrapper(record):
        write()
    return [sql for sql in log if "SAVEPOINT" not in sql]


def golden(alias: str, write: Callable[[], Any], *expected: str | dict[str, str]) -> None:
    """Compare with the texts; ``<bump>`` and ``<now>`` stand for each database's own spelling."""
    vendor = connections[alias].vendor
    bump = "LAST_INSERT_ID(record_version + 1)" if vendor == "mysql" else "record_version + 1"
    keep = ", record_version = LAST_INSERT_ID(record_version)" if vendor == "mysql" else ""
    texts = [e if isinstance(e, str) else e[vendor] for e in expected]
    returned = {"postgresql": " RETURNING record_version"}.get(vendor, "")
    asked = "" if vendor == "mysql" else " RETURNING record_version"
    replaced = [
        t.replace("<bump>", bump)
        .replace("<keep>", keep)
        .replace("<version>", returned)
        .replace("<asked>", asked)
        for t in texts
    ]
    assert sent(alias, write) == replaced


def test_full_save(alias: str) -> None:
    """Every column but key and generation."""
    doc = Doc.objects.create(pk=7, title="a", body="b", n=3)
    golden(
        alias,
        doc.save,
        "UPDATE shop_doc SET title = {a}, body = {b}, n = {3}, record_version = <bump> "
        "WHERE id = {7} AND record_version = {1}<version>",
    )


def test_partial_save(alias: str) -> None:
    """The named column; generation and further beliefs follow the version."""
    order = Order.objects.create(pk=7, n=3)
    golden(
        alias,
        lambda: order.save_if_current(update_fields=["n"], expect=Expect(state="new", note=None)),
        "UPDATE shop_order SET n = {3}, record_version = <bump> WHERE id = {7} "
        "AND record_version = {1} AND run_seq = {0} AND state = {new} AND note IS NULL<version>",
    )


def test_a_save_of_nothing(alias: str) -> None:
    """``update_fields=[]`` checks and bumps."""
    order = Order.objects.create(pk=7)
    golden(
        alias,
        lambda: order.save_if_current(update_fields=[]),
        "UPDATE shop_order SET record_version = <bump> "
        "WHERE id = {7} AND record_version = {1} AND run_seq = {0}<version>",
    )


def test_unversioned_columns_alone(alias: str) -> None:
    """Key and generation are believed; the version is read back, not raised."""
    device = Device.objects.create(pk=7, hits=3)
    golden(
        alias,
        lambda: device.save_if_current(update_fields=["hits"]),
        "UPDATE shop_device SET hits = {3}<keep> WHERE id = {7} AND run_seq = {0}<asked>",
    )


def test_delete(alias: str) -> None:
    """One DELETE where there is nothing to cascade to."""
    order = Order.objects.create(pk=7)
    golden(
        alias,
        order.delete,
        "DELETE FROM shop_order WHERE id = {7} AND record_version = {1} AND run_seq = {0}",
    )
    Order.objects.create(pk=8)
    golden(
        alias,
        lambda: delete_if_current(Order, 8, expect=ONE, where=Q(n=0)),
        "DELETE FROM shop_order WHERE id = {8} AND record_version = {1} AND (shop_order.n = {0})",
    )


def test_a_cascade_begins_with_the_guard(alias: str) -> None:
    """The conditional UPDATE first, the ORM's own statements after it, in one transaction."""
    cart = Cart.objects.create(pk=7)
    first, *rest = [sql for sql in sent(alias, cart.delete) if not sql.startswith("BEGIN")]
    bump = "LAST_INSERT_ID(record_version + 1)" if alias == "mariadb" else "record_version + 1"
    assert first.startswith(
        f"UPDATE shop_cart SET record_version = {bump} "
        "WHERE id = {7} AND record_version = {1} AND run_seq = {0}"
    )
    assert rest[-1] in (
        "DELETE FROM shop_cart WHERE shop_cart.id IN ({7})",
        "DELETE FROM shop_cart WHERE shop_cart.id IN ({(7,)})",
    )


@pytest.mark.parametrize(
    ("expect", "where"),
    [
        (Expect(record_version=1), "record_version = {1}"),
        (Expect(run_seq=0), "run_seq = {0}"),
        (
            Expect(record_version=1, run_seq=0, title="a"),
            "record_version = {1} AND run_seq = {0} AND title = {a}",
        ),
        (Expect(note=None), "note IS NULL"),
        (Expect(title=one_of("a", "b")), "title IN ({a}, {b})"),
        (Expect(title=one_of("a", None)), "(title IN ({a}) OR title IS NULL)"),
        (Expect(title=not_one_of("x", "y")), "(title NOT IN ({x}, {y}) OR title IS NULL)"),
        (Expect(title=not_one_of("x", None)), "title NOT IN ({x})"),
        (Expect(note=one_of(None)), "note IS NULL"),
        (Expect(title=not_one_of(None)), "title IS NOT NULL"),
    ],
)
def test_update_by_key(alias: str, expect: Expect, where: str) -> None:
    """Two-valued logic, spelt out; what was not believed of the version is handed back."""
    Order.objects.create(pk=7, title="a")
    known = connections[alias].vendor == "sqlite" and "record_version" in where
    golden(
        alias,
        lambda: update_if_current(Order, 7, expect=expect, set={"n": 5}),
        "UPDATE shop_order SET n = {5}, record_version = <bump> WHERE id = {7} AND "
        + where
        + _answers(alias, version=not known, generation="run_seq" not in where),
    )


def _answers(alias: str, *, version: bool, generation: bool) -> str:
    """Return the RETURNING of a belief that leaves these numbers open."""
    vendor = connections[alias].vendor
    names = [
        name
        for name, asked in (("record_version", version or vendor == "postgresql"), ("run_seq", generation))
        if asked
    ]
    return f" RETURNING {', '.join(names)}" if names and vendor != "mysql" else ""


def test_update_by_key_with_a_condition(alias: str) -> None:
    """A ``Q`` stands in parentheses after the belief."""
    Order.objects.create(pk=7, title="a")
    (sql,) = sent(
        alias,
        lambda: update_if_current(
            Order, 7, expect=ONE, set={"n": F("n") + 1, "customer": None}, where=Q(n=0) | Q(title="x")
        ),
    )
    head, _, where = sql.partition(" WHERE ")
    assert head.startswith(
        "UPDATE shop_order SET n = (shop_order.n + {1}), customer_id = {None}, record_version = "
    )
    assert where.startswith(
        "id = {7} AND record_version = {1} AND ((shop_order.n = {0} OR shop_order.title = {x}))"
    )


def test_new_generation(alias: str) -> None:
    """Both numbers rise in SQL; by key too."""
    order = Order.objects.create(pk=7)
    text = "UPDATE shop_order SET {}record_version = <bump>, run_seq = run_seq + 1 WHERE id = {{7}} AND "
    golden(
        alias,
        order.new_generation_if_current,
        text.format("") + "record_version = {1} AND run_seq = {0}<version>",
    )
    golden(
        alias,
        lambda: new_generation_if_current(Order, 7, expect=Expect(run_seq=1), set={"n": 4}),
        text.format("n = {4}, ") + "run_seq = {1}<asked>",
    )


def test_three_tables(alias: str) -> None:
    """The belief stands in the version's own table; the others are found by their keys."""
    novel = Novel.objects.create(pk=7, name="a", pages=3, genre="x")
    statements = [sql for sql in sent(alias, novel.save) if not sql.startswith("BEGIN")]
    bump = "LAST_INSERT_ID(record_version + 1)" if alias == "mariadb" else "record_version + 1"
    returning = " RETURNING record_version" if alias == "postgres" else ""
    assert statements == [
        (
            f"UPDATE shop_item SET name = {{a}}, state = {{new}}, record_version = {bump} "
            f"WHERE id = {{{novel.id}}} AND record_version = {{1}} AND run_seq = {{0}}{returning}"
        ),
        f"UPDATE shop_book SET pages = {{3}} WHERE item_ptr_id = {{{novel.id}}}",
        f"UPDATE shop_novel SET genre = {{x}} WHERE book_ptr_id = {{{novel.id}}}",
    ]


def test_a_composite_key(alias: str) -> None:
    """Both columns, one by one."""
    seat = Seat.objects.create(row="A", number=7)
    golden(
        alias,
        seat.save,
        "UPDATE shop_seat SET holder = {}, record_version = <bump> "
        "WHERE row = {A} AND number = {7} AND record_version = {1} AND run_seq = {0}<version>",
    )


def test_the_refusals_second_statement(alias: str) -> None:
    """One fresh read of the numbers and of the believed columns, no more."""
    order = Order.objects.create(pk=7)
    Order.objects.update(n=1)
    log = sent(alias, lambda: order.try_save_if_current(expect=Expect(state="new"), update_fields=["n"]))
    assert len(log) == 2
    assert log[1].startswith("SELECT shop_order.record_version AS ") and " FROM shop_order WHERE " in log[1]
    assert "title" not in log[1]
