"""Columns that the field or the database computes, expressions, files."""

from __future__ import annotations

import datetime as dt

import pytest
from django.core.files.base import ContentFile
from django.db.models import F, Value
from django.db.models.functions import Concat, Upper

from cas_orm import Expect
from tests.django import tables
from tests.django.shop.models import Invoice, Order


def test_auto_now(alias: str) -> None:
    """Every verb that writes stamps ``auto_now``; ``auto_now_add`` stays."""
    invoice = Invoice.objects.create(net=1)
    created = invoice.created_at
    stamps = [tables.row(Invoice, invoice.pk, alias)["updated_at"]]
    for verb, options in (
        ("save_if_current", {}),
        ("update_if_current", {"expect": Expect(net=1), "set": {"tax": 1}}),
        ("new_generation_if_current", {}),
    ):
        getattr(invoice, verb)(**options)
        stamps.append(tables.row(Invoice, invoice.pk, alias)["updated_at"])
    assert stamps == sorted(stamps) and len(set(stamps)) == 4
    assert tables.row(Invoice, invoice.pk, alias)["created_at"] == created
    invoice.refresh_from_db()
    assert invoice.updated_at == stamps[-1]


def test_auto_now_after_a_refusal(alias: str) -> None:
    """Nothing on the object changes before the win is known: not the stamp either."""
    invoice = Invoice.objects.create()
    before = invoice.updated_at
    tables.rival(Invoice, invoice.pk, alias, record_version=2)
    assert not invoice.try_save_if_current()
    assert (invoice.updated_at, invoice.record_version) == (before, 1)


def test_generated_field(alias: str) -> None:
    """The object never shows a generated value that the row does not have."""
    invoice = Invoice.objects.create(net=1, tax=2)
    invoice.net = 10
    invoice.save_if_current()
    assert invoice.gross == 12
    invoice.update_if_current(expect=Expect(net=10), set={"tax": 5})
    assert invoice.gross == 15
    assert invoice.save_if_current()


def test_database_default(alias: str) -> None:
    """A column with ``db_default`` is filled at insert and writable afterwards."""
    invoice = Invoice.objects.create()
    assert Invoice.objects.get(pk=invoice.pk).status == "open"
    invoice.refresh_from_db()
    invoice.status = "paid"
    invoice.save_if_current()
    assert tables.row(Invoice, invoice.pk, alias)["status"] == "paid"


def test_an_expression_on_an_attribute(alias: str) -> None:
    """``F()`` on a field is computed from the row once, never twice."""
    order = Order.objects.create(n=1)
    order.n = F("n") + 1
    order.save_if_current()
    assert tables.row(Order, order.pk, alias)["n"] == 2
    assert order.n == 2
    order.save_if_current()
    assert (tables.row(Order, order.pk, alias)["n"], order.n) == (2, 2)


def test_an_expression_refused(alias: str) -> None:
    """A refused expression stays on the object, as the user set it."""
    order = Order.objects.create(n=1)
    tables.rival(Order, order.pk, alias, record_version=2)
    order.n = F("n") + 1
    assert not order.try_save_if_current()
    assert not isinstance(order.n, int)
    assert tables.row(Order, order.pk, alias)["n"] == 1


@pytest.mark.parametrize(
    ("expression", "result"),
    [(Upper("title"), "ABC"), (Concat("title", Value("d")), "abcd"), (Value("x"), "x"), (F("state"), "new")],
)
def test_expressions_in_set(alias: str, expression: object, result: str) -> None:
    """Functions, values and other columns; the object shows what the database computed."""
    order = Order.objects.create(title="abc", state="new")
    order.update_if_current(expect=Expect(record_version=1), set={"title": expression})
    assert tables.row(Order, order.pk, alias)["title"] == result
    assert order.title == result
    assert order.record_version == 2
    order.save_if_current()


def test_a_json_column(alias: str) -> None:
    """JSON is written whole, None as the JSON null or as given."""
    order = Order.objects.create(data={"a": 1})
    order.data = {"b": [1, None, "ü"]}
    order.save_if_current()
    assert tables.row(Order, order.pk, alias)["data"] == {"b": [1, None, "ü"]}
    order.update_if_current(expect=Expect(record_version=2), set={"data": {"c": 1}})
    assert Order.objects.get(pk=order.pk).data == {"c": 1}


def test_a_percent_sign_and_quotes(alias: str) -> None:
    """Parameters are parameters."""
    text = "100% 'x' \"y\" %s ü"
    order = Order.objects.create()
    order.title = text
    order.save_if_current()
    assert tables.row(Order, order.pk, alias)["title"] == text
    assert order.save_if_current(expect=Expect(title=text))


def test_a_foreign_key(alias: str) -> None:
    """``set`` takes the object, the key by attname, and None."""
    from tests.django.shop.models import Customer

    customer = Customer.objects.create(name="c")
    order = Order.objects.create()
    order.customer = customer
    order.save_if_current()
    assert tables.row(Order, order.pk, alias)["customer_id"] == customer.pk
    order.update_if_current(expect=Expect(record_version=2), set={"customer": None})
    assert tables.row(Order, order.pk, alias)["customer_id"] is None
    assert order.customer is None
    order.update_if_current(expect=Expect(record_version=3), set={"customer": customer})
    assert order.customer_id == customer.pk


def test_a_file(alias: str) -> None:
    """A winning save stores the upload and its name."""
    invoice = Invoice.objects.create()
    invoice.scan = ContentFile(b"x", name=f"scan-{alias}.txt")
    invoice.save_if_current()
    assert invoice.scan.storage.exists(invoice.scan.name)
    assert tables.row(Invoice, invoice.pk, alias)["scan"] == invoice.scan.name
    invoice.scan.delete(save=False)


def test_a_datetime_keeps_its_zone(alias: str) -> None:
    """An aware datetime arrives as the same instant."""
    due = dt.datetime(2030, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=5)))
    order = Order.objects.create()
    order.due = due
    order.save_if_current()
    assert tables.row(Order, order.pk, alias)["due"] == due


def test_a_foreign_object_of_an_unsaved_parent(alias: str) -> None:
    """Django's own guard against losing an unsaved related object stays."""
    from tests.django.shop.models import Customer

    order = Order.objects.create()
    order.customer = Customer(name="unsaved")
    with pytest.raises(ValueError):
        order.save_if_current()
    with pytest.raises(ValueError):
        order.save()
