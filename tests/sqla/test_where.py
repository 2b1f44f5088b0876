"""Conditions of the caller's own: over plain columns of the one table, and about the row."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import and_, exists, false, func, literal, literal_column, not_, null, or_, select, text, true
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session, aliased

from cas_orm import Expect, InvalidExpectation, MissingExpectation, Verdict
from cas_orm_sqla import atry_update_if_current, try_delete_if_current, try_update_if_current
from tests.sqla.databases import Engines
from tests.sqla.shapes import Book, Item
from tests.sqla.shop import Customer, Doc, Order

ALWAYS: dict[str, Any] = {
    "true": true(),
    "and of true": and_(true(), true()),
    "or with true": or_(Doc.n == 1, true()),
    "literals": literal(1) == 1,
    "literals that differ": literal(1) != literal(2),
    "or with literals": or_(Doc.n == 1, literal("a") == literal("a")),
    "and of literals": and_(literal(1) == 1, literal(2) == 2),
    "not false": not_(false()),
    "the key is the key": Doc.id == Doc.id,
    "not and of false": not_(and_(false(), Doc.n == 1)),
    "not two literals": not_(and_(literal(1) == 2, literal(1) == 1)),
    "nested": and_(or_(Doc.n > 3, and_(true(), literal(1) == 1)), literal(1) == 1),
}


@pytest.mark.parametrize("where", ALWAYS.values(), ids=ALWAYS)
def test_a_condition_that_always_holds_is_no_belief(db: Engines, where: Any) -> None:
    """Alone it would write over anything; beside a belief it is harmless."""
    with Session(db.sync) as session:
        doc = Doc()
        session.add(doc)
        session.commit()
        for call in (
            lambda: try_update_if_current(session, Doc, doc.id, expect=Expect(), where=where, set={"n": 1}),
            lambda: try_delete_if_current(session, Doc, doc.id, expect=Expect(), where=where),
            lambda: doc.try_update_if_current(session, expect=Expect(), where=where, set={"n": 1}),
        ):
            with pytest.raises(MissingExpectation, match="without a belief"):
                call()
        assert doc.save_if_current(session, where=where)
        assert doc.update_if_current(session, expect=Expect(n=0), where=where, set={"n": 1})


SAYS_SOMETHING: dict[str, Any] = {
    "a column": Doc.n == 0,
    "or of columns": or_(Doc.n == 0, Doc.title == "x"),
    "and with true": and_(Doc.n == 0, true()),
    "or with false": or_(Doc.n == 0, false()),
    "a function": func.lower(Doc.title) == "",
    "null test": Doc.title.is_not(None),
    "a boolean expression": Doc.n.between(0, 1),
    "not of columns": not_(and_(Doc.n == 1, Doc.title == "x")),
    "two columns": Doc.title == Doc.body,
}


@pytest.mark.parametrize("where", SAYS_SOMETHING.values(), ids=SAYS_SOMETHING)
def test_a_condition_about_the_row_is_a_belief(db: Engines, where: Any) -> None:
    """It wins, and its contrary is refused."""
    with Session(db.sync) as session:
        doc = Doc()
        session.add(doc)
        session.commit()
        assert try_update_if_current(session, Doc, doc.id, expect=Expect(), where=where, set={"body": ""})
        outcome = try_update_if_current(
            session, Doc, doc.id, expect=Expect(), where=not_(where), set={"n": 1}
        )
        assert outcome.verdict is Verdict.WRONG_STATE


@pytest.mark.parametrize("where", [false(), literal(1) == 2, null(), Doc.n == Doc.n + 1])
def test_a_condition_that_never_holds(db: Engines, where: Any) -> None:
    """It is a belief, and a wrong one."""
    with Session(db.sync) as session:
        doc = Doc()
        session.add(doc)
        session.commit()
        outcome = try_update_if_current(session, Doc, doc.id, expect=Expect(), where=where, set={"n": 1})
        assert outcome.verdict is Verdict.WRONG_STATE


INVALID: dict[str, tuple[type[Any], Any]] = {
    "a bool": (Order, True),
    "a text": (Order, "n = 1"),
    "a dict": (Order, {"n": 1}),
    "text()": (Order, text("n = 1")),
    "raw column": (Order, literal_column("n") == 1),
    "raw inside": (Order, or_(Order.n == 1, text("1 = 1"))),
    "sub-select": (Order, Order.id.in_(select(Order.id))),
    "exists": (Order, exists().where(Customer.id == Order.customer_id)),
    "scalar sub-select": (Order, Order.n == select(func.max(Order.n)).scalar_subquery()),
    "has": (Order, Order.customer.has(name="x")),
    "another table": (Order, Customer.name == "x"),
    "an alias": (Order, aliased(Order).n == 1),
    "a child's table": (Book, Book.pages == 1),
}


@pytest.mark.parametrize(("model", "where"), INVALID.values(), ids=INVALID)
def test_a_condition_that_is_not_re_checked(db: Engines, model: type[Any], where: Any) -> None:
    """Refused before any SQL, on the object and by key, whatever is believed besides."""
    with Session(db.sync) as session:
        obj = model()
        session.add(obj)
        session.commit()
        for call in (
            lambda: obj.try_save_if_current(session, where=where),
            lambda: obj.try_delete_if_current(session, where=where),
            lambda: try_update_if_current(
                session, model, obj.id, expect=Expect(record_version=1), where=where, set={}
            ),
        ):
            with pytest.raises(InvalidExpectation, match="where="):
                call()
        assert obj.save_if_current(session)


def test_the_parent_of_a_child(db: Engines) -> None:
    """The version's own table may be named through the child class as well."""
    with Session(db.sync) as session:
        book = Book(name="a")
        session.add(book)
        session.commit()
        assert book.save_if_current(session, where=Book.name == "a")
        assert book.save_if_current(session, where=Item.name == "a")
        assert not book.try_save_if_current(session, where=Item.name == "b")


async def test_async(db: Engines) -> None:
    """The same rules behind the twin."""
    async with AsyncSession(db.asynchronous, expire_on_commit=False) as session:
        doc = Doc()
        session.add(doc)
        await session.commit()
        with pytest.raises(MissingExpectation):
            await atry_update_if_current(session, Doc, doc.id, expect=Expect(), where=true(), set={"n": 1})
        assert await atry_update_if_current(
            session, Doc, doc.id, expect=Expect(), where=Doc.n == 0, set={"n": 1}
        )
