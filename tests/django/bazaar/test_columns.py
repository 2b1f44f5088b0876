"""Expressions, computed columns and stamps: what the object shows after a win and after a loss."""

from __future__ import annotations

import pytest
from django.db import connections
from django.db.models import F, JSONField, Value
from django.db.models.functions import Coalesce, Length, Now, Upper

from cas_orm import Expect
from tests.django import tables
from tests.django.bazaar.look import statements, version
from tests.django.bazaar.models import Reading, Upload
from tests.django.shop.models import Customer, Invoice, Novel, Order


def returns(alias: str) -> bool:
    """Tell whether the database hands values back from an UPDATE."""
    return connections[alias].vendor != "mysql"


@pytest.mark.parametrize("verb", ["save", "save_if_current"])
@pytest.mark.parametrize("fields", [None, ["n"]])
def test_an_expression_is_applied_once(alias: str, verb: str, fields: list[str] | None) -> None:
    """Returned where the database can, deferred elsewhere; never written a second time."""
    order = Order.objects.create(n=1)
    order.n = F("n") + 10
    with statements(alias, 1):
        getattr(order, verb)(update_fields=fields)
    assert ("n" in order.get_deferred_fields()) is not returns(alias)
    with statements(alias, 0 if returns(alias) else 1):
        assert order.n == 11
    order.save()
    order.save()
    assert (tables.row(Order, order.pk, alias)["n"], version(order, alias)) == (11, 4)


def test_a_deferred_result_is_left_alone(alias: str) -> None:
    """Saved again without having been read, the computed column is not written."""
    order = Order.objects.create(n=1)
    order.n = F("n") + 10
    order.save()
    order.title = "b"
    order.save()
    assert (tables.row(Order, order.pk, alias)["n"], tables.row(Order, order.pk, alias)["title"]) == (11, "b")


@pytest.mark.parametrize(
    ("name", "value", "result"),
    [
        ("title", Upper("title"), "A"),
        ("title", Coalesce("note", Value("none")), "none"),
        ("n", Length("title") + F("n"), 2),
        ("n", Value(5), 5),
        ("data", Value({"a": 1}, JSONField()), {"a": 1}),
        ("customer_id", F("n"), 1),
    ],
)
def test_expressions(alias: str, name: str, value: object, result: object) -> None:
    """Functions, constants, JSON, a key: on an attribute and in ``set``."""
    customer = Customer.objects.create(pk=1)
    order = Order.objects.create(title="a", n=customer.pk)
    setattr(order, name, value)
    order.save()
    assert (getattr(order, name), tables.row(Order, order.pk, alias)[name]) == (result, result)
    other = Order.objects.create(title="a", n=1)
    other.update_if_current(expect=Expect(record_version=1), set={name: value})
    assert (getattr(other, name), tables.row(Order, other.pk, alias)[name]) == (result, result)


def test_an_expression_in_a_childs_table(alias: str) -> None:
    """Each table takes back its own."""
    novel = Novel.objects.create(name="a", pages=1, genre="x")
    novel.name, novel.pages, novel.genre = Upper("name"), F("pages") + 1, Upper("genre")
    novel.save()
    assert (novel.name, novel.pages, novel.genre) == ("A", 2, "X")
    novel.save()
    assert Novel.objects.get().pages == 2


def test_an_expression_refused_and_reloaded(alias: str) -> None:
    """It stays as the user set it; after a reload it is gone."""
    order = Order.objects.create(n=1)
    tables.rival(Order, order.pk, alias, record_version=2, n=5)
    order.n = expression = F("n") + 1
    assert not order.try_save_if_current()
    assert order.n is expression
    order.refresh_from_db()
    assert order.n == 5
    order.save()


@pytest.mark.parametrize("name", ["n", "title"])
def test_an_expression_over_a_relation(alias: str, name: str) -> None:
    """Refused as Django refuses it, before SQL; the object stays usable."""
    from django.core.exceptions import FieldError

    order = Order.objects.create()
    setattr(order, name, F("customer__name"))
    with statements(alias, 0), pytest.raises(FieldError):
        order.save()
    setattr(order, name, "1")
    order.save()


def test_a_generated_column(alias: str) -> None:
    """After each verb the object never shows a value that the row does not have."""
    reading = Reading.objects.create(value=1)
    writes = [
        lambda: reading.save(),
        lambda: reading.save(update_fields=["value"]),
        lambda: reading.save_if_current(),
        lambda: reading.update_if_current(expect=Expect(run_seq=0), set={"value": F("value") * 3}),
        lambda: reading.new_generation_if_current(set={"value": 50}),
    ]
    for step, write in enumerate(writes, start=2):
        reading.value = step
        write()
        assert ("double" in reading.get_deferred_fields()) is not returns(alias)
        assert reading.double == tables.row(Reading, reading.pk, alias)["double"] == 2 * reading.value
    reading.save()
    assert version(reading, alias) == 7


def test_a_generated_column_after_a_refusal(alias: str) -> None:
    """Nothing changes before the win is known."""
    reading = Reading.objects.create(value=1)
    reading.refresh_from_db()
    tables.rival(Reading, reading.pk, alias, record_version=2)
    reading.value = 9
    assert not reading.try_save_if_current()
    assert reading.__dict__["double"] == 2


def test_a_generated_column_is_not_written(alias: str) -> None:
    """Not by name either, as in Django; beside another column it is ignored."""
    reading = Reading.objects.create(value=1)
    with pytest.raises(ValueError):
        reading.update_if_current(expect=Expect(run_seq=0), set={"double": 5})
    reading.value = 4
    reading.save(update_fields=["value", "double"])
    assert tables.row(Reading, reading.pk, alias)["double"] == 8


def test_database_defaults(alias: str) -> None:
    """Filled by the database at insert, kept by every later save, written when assigned."""
    reading = Reading.objects.create()
    reading.save()
    row = tables.row(Reading, reading.pk, alias)
    assert (row["value"], row["double"], row["record_version"]) == (7, 14, 2)
    reading.refresh_from_db()
    reading.value, reading.taken = 3, Now()
    reading.save()
    after = tables.row(Reading, reading.pk, alias)
    assert after["value"] == 3
    assert after["taken"] >= row["taken"]


@pytest.mark.parametrize("verb", ["save", "save_if_current"])
def test_stamps_after_a_refusal(alias: str, verb: str) -> None:
    """``auto_now`` and ``auto_now_add`` show what they showed before."""
    invoice = Invoice.objects.create()
    before = (invoice.created_at, invoice.updated_at)
    tables.rival(Invoice, invoice.pk, alias, record_version=2)
    with pytest.raises(ValueError if verb == "never" else Exception):
        getattr(invoice, verb)()
    assert (invoice.created_at, invoice.updated_at) == before
    invoice.refresh_from_db()
    getattr(invoice, verb)()
    assert invoice.updated_at > before[1]
    assert tables.row(Invoice, invoice.pk, alias)["created_at"] == before[0]


def test_stamps_of_a_partial_save(alias: str) -> None:
    """As in Django, ``auto_now`` is written when it is named."""
    upload = Upload.objects.create()
    before = tables.row(Upload, upload.pk, alias)["touched"]
    upload.save(update_fields=["title"])
    assert tables.row(Upload, upload.pk, alias)["touched"] == before
    upload.save(update_fields=["title", "touched"])
    assert tables.row(Upload, upload.pk, alias)["touched"] == upload.touched > before


def test_json_null_and_sql_null(alias: str) -> None:
    """Whatever Django writes for None, the verb by key writes too."""
    saved, told = Order.objects.create(data={}), Order.objects.create(data={})
    saved.data = [None, {"a": None}]
    saved.save()
    told.update_if_current(expect=Expect(run_seq=0), set={"data": [None, {"a": None}]})
    assert tables.row(Order, saved.pk, alias)["data"] == tables.row(Order, told.pk, alias)["data"]
    assert told.data == [None, {"a": None}]
