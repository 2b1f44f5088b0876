"""Every form of mapping: what is sent, what is refused, and what the object shows afterwards."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import event, inspect, text
from sqlalchemy.orm import Session

from cas_orm import Expect, InvalidExpectation, Verdict
from tests.sqla.databases import Engines
from tests.sqla.shapes import Book, Invoice, Item, Peculiar, Plain, Point, Voucher
from tests.sqla.shop import Customer

SHAPES = {
    Item: ("name", "b"),
    Book: ("pages", 7),
    Voucher: ("amount", 7),
    Point: ("x", 7),
    Peculiar: ("n", 7),
    Plain: ("n", 7),
    Invoice: ("net", 7),
}


def _version(session: Session, obj: Any) -> int:
    mapper = inspect(type(obj))
    column = mapper.version_id_col
    key = inspect(obj).identity[0]
    query = column.table.select().with_only_columns(column).where(column.table.c.id == key)
    return session.connection().execute(query).scalar_one()


def _bump(session: Session, obj: Any) -> None:
    column = inspect(type(obj)).version_id_col
    quote = session.get_bind().dialect.identifier_preparer.quote
    table, name = quote(column.table.name), quote(column.name)
    key = inspect(obj).identity[0]
    session.connection().execute(text(f"UPDATE {table} SET {name} = {name} + 1 WHERE id = {key}"))


def _insert(session: Session, model: type[Any]) -> Any:
    obj = model()
    session.add(obj)
    session.commit()
    return obj


@pytest.mark.parametrize("model", SHAPES)
def test_a_save_wins_and_stays_won(db: Engines, model: type[Any]) -> None:
    """One bump; the flush that follows finds nothing to write."""
    name, value = SHAPES[model]
    with Session(db.sync) as session:
        obj = _insert(session, model)
        setattr(obj, name, value)
        assert obj.save_if_current(session).record_version == 2
        assert not session.is_modified(obj)
        session.commit()
        assert (_version(session, obj), getattr(obj, name)) == (2, value)


@pytest.mark.parametrize("model", SHAPES)
def test_a_stale_save_is_refused(db: Engines, model: type[Any]) -> None:
    """The verb and the plain flush alike."""
    name, value = SHAPES[model]
    with Session(db.sync) as session:
        obj = _insert(session, model)
        before = getattr(obj, name)
        _bump(session, obj)
        setattr(obj, name, value)
        assert obj.try_save_if_current(session).verdict is Verdict.STALE
        with pytest.raises(Exception, match="cas-stale"):
            session.flush()
        session.refresh(obj)
        assert getattr(obj, name) == before
        setattr(obj, name, value)
        session.flush()
        assert _version(session, obj) == 3


@pytest.mark.parametrize("model", SHAPES)
def test_the_plain_flush_is_guarded(db: Engines, model: type[Any]) -> None:
    """``version_id_col`` was found in every form of mapping."""
    assert inspect(model).version_id_col is not None
    name, value = SHAPES[model]
    with Session(db.sync, expire_on_commit=False) as session:
        obj = _insert(session, model)
        setattr(obj, name, value)
        session.flush()
        assert _version(session, obj) == 2
        assert obj.save_if_current(session).record_version == 3


@pytest.mark.parametrize("model", SHAPES)
def test_a_delete(db: Engines, model: type[Any]) -> None:
    """Guarded in every form, joined tables included."""
    with Session(db.sync) as session:
        obj, loser = _insert(session, model), _insert(session, model)
        key = inspect(obj).identity
        _bump(session, loser)
        assert obj.delete_if_current(session).verdict is Verdict.WON
        assert loser.try_delete_if_current(session).verdict is Verdict.STALE
        session.commit()
        assert session.get(model, key) is None
        assert session.get(model, inspect(loser).identity) is not None


def test_a_child_table_is_written_after_its_parent(db: Engines) -> None:
    """A change of the child table alone updates the version's table first; a stale one stops there."""
    sent: list[str] = []
    with Session(db.sync) as session:
        book = _insert(session, Book)
        book.pages = 3
        event.listen(db.sync, "before_cursor_execute", lambda *args: sent.append(args[2]))
        book.save_if_current(session)
        updates = [sql.split()[1] for sql in sent if sql.startswith("UPDATE")]
        assert updates == ["item", "book"]
        sent.clear()
        _bump(session, book)
        book.pages = 4
        sent.clear()
        assert not book.try_save_if_current(session)
        assert [sql.split()[1] for sql in sent if sql.startswith("UPDATE")] == ["item"]
        session.refresh(book)
        assert book.pages == 3


def test_a_child_row_that_is_gone(db: Engines) -> None:
    """The parent's bump is taken back, and the verdict is MISSING."""
    with Session(db.sync) as session:
        book = _insert(session, Book)
        session.connection().execute(text("DELETE FROM book"))
        book.name, book.pages = "b", 3
        assert book.try_save_if_current(session).verdict is Verdict.MISSING
        assert _version(session, book) == 1


def test_computed_columns_are_in_step(db: Engines) -> None:
    """RETURNING brings them where there is one; elsewhere they are loaded at the next use."""
    with Session(db.sync) as session:
        invoice = _insert(session, Invoice)
        assert (invoice.gross, invoice.double, invoice.stamp, invoice.touched) == (0, 0, "made", 0)
        invoice.net, invoice.tax = 5, 1
        invoice.save_if_current(session)
        assert (invoice.gross, invoice.double, invoice.stamp, invoice.touched) == (6, 10, "changed", 7)
        invoice.update_if_current(session, expect=Expect(net=5), set={"net": Invoice.net + 1})
        assert (invoice.net, invoice.gross, invoice.record_version) == (6, 7, 3)


def test_a_changed_json_is_written(db: Engines) -> None:
    """Mutable types tell of a change in place, before and after a save."""
    with Session(db.sync) as session:
        invoice = _insert(session, Invoice)
        for number in (1, 2):
            invoice.payload["n"] = number
            invoice.save_if_current(session)
            session.commit()
            assert invoice.payload == {"n": number}


def test_a_pending_relationship_is_refused(db: Engines) -> None:
    """Its foreign key is set by a flush only; the column can be assigned instead."""
    with Session(db.sync) as session:
        customer, invoice = _insert_customer(session), _insert(session, Invoice)
        invoice.customer = customer
        with pytest.raises(InvalidExpectation, match="customer"):
            invoice.save_if_current(session)
        session.refresh(invoice)
        invoice.customer_id = customer.id
        invoice.save_if_current(session)
        session.commit()
        assert invoice.customer is customer


def _insert_customer(session: Session) -> Customer:
    customer = Customer(name="c")
    session.add(customer)
    session.commit()
    return customer


def test_deferred_columns_stay_deferred(db: Engines) -> None:
    """A save writes what was changed; a deferred column is neither loaded nor written."""
    with Session(db.sync) as session:
        invoice = _insert(session, Invoice)
        session.expire_all()
        assert invoice.net == 0
        assert "memo" in inspect(invoice).unloaded
        invoice.save_if_current(session)
        assert "memo" in inspect(invoice).unloaded
        invoice.memo = "m"
        invoice.save_if_current(session)
        session.commit()
        assert invoice.memo == "m"


def test_a_synonym_is_another_name(db: Engines) -> None:
    """Assigning through a synonym is a change of the column."""
    with Session(db.sync) as session:
        invoice = _insert(session, Invoice)
        invoice.netto = 4
        invoice.save_if_current(session)
        session.commit()
        assert (invoice.net, invoice.record_version) == (4, 2)
