"""UPDATE statements through a `CasSession`."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from cas_orm import ErrRecordVersionConflict, Expect, InvalidExpectation, MissingExpectation, Verdict
from cas_orm_sqla import CasSession
from tests.sqla.databases import Engines
from tests.sqla.shapes import Peculiar
from tests.sqla.shop import Customer, Legacy, Order

TABLE: Any = Order.__table__


def _orders(session: Session) -> tuple[Order, Order]:
    first, second = Order(title="a", n=1), Order(title="b", n=2)
    session.add_all([first, second])
    session.commit()
    assert (first.n, second.n) == (1, 2)
    return first, second


UPDATES = {
    "orm": lambda session: session.execute(update(Order).where(Order.title == "a").values(n=9)),
    "query": lambda session: session.query(Order).filter_by(title="a").update({"n": 9}),
    "core": lambda session: session.execute(update(TABLE).where(TABLE.c.title == "a").values(n=9)),
    "evaluate": lambda session: session.execute(
        update(Order).where(Order.title == "a").values(n=9),
        execution_options={"synchronize_session": "evaluate"},
    ),
}


@pytest.mark.parametrize("door", UPDATES)
def test_an_update_bumps_what_it_writes(db: Engines, door: str) -> None:
    """A stranger's older copy is refused; rows that did not match keep their version."""
    with CasSession(db.sync) as session, Session(db.sync) as other:
        first, second = _orders(session)
        old = other.get_one(Order, first.id)
        assert old.n == 1
        other.commit()
        UPDATES[door](session)
        session.commit()
        assert (first.n, first.record_version, second.n, second.record_version) == (9, 2, 2, 1)
        assert old.try_save_if_current(other).verdict is Verdict.STALE


def test_a_row_that_did_not_match_is_not_believed_to_be_bumped(db: Engines) -> None:
    """An object that matches in memory but not in the database keeps its version."""
    with CasSession(db.sync) as session:
        first, _ = _orders(session)
        key = first.id
        with db.sync.begin() as connection:
            connection.execute(update(TABLE).where(TABLE.c.id == key).values(title="c"))
        session.execute(update(Order).where(Order.title == "a").values(n=9))
        assert Expect.of(first) == Expect(record_version=1, run_seq=0)
        assert first.n == 1
        session.rollback()


def test_other_classes_are_left_alone(db: Engines) -> None:
    """A class without the library has no version to bump."""
    with CasSession(db.sync) as session:
        session.add(Customer(name="a"))
        session.commit()
        session.execute(update(Customer).values(name="b"))
        session.commit()


@pytest.mark.parametrize(("model", "name", "value"), [(Legacy, "title", "x"), (Peculiar, "n", 5)])
def test_columns_of_other_names(db: Engines, model: type[Any], name: str, value: object) -> None:
    """The version goes by its attribute whatever the column is called."""
    with CasSession(db.sync) as session:
        obj = model()
        session.add(obj)
        session.commit()
        session.execute(update(model).values({name: value}))
        session.commit()
        assert getattr(obj, name) == value
        assert obj.save_if_current(session).record_version == 3


@pytest.mark.parametrize(
    "statement",
    [
        lambda: (update(Order).values(record_version=7),),
        lambda: (update(Order).values({Order.run_seq: 7}),),
        lambda: (update(TABLE).values(record_version=7),),
        lambda: (update(Order), {"id": 1, "n": 7}),
        lambda: (update(Order), {"record_version": 7}),
        lambda: (update(Order).where(Order.n == 1), [{"id": 1, "record_version": 1, "n": 7}]),
        lambda: (update(Order), [{"id": 1, "record_version": 1, "run_seq": 7}]),
        lambda: (update(Order).ordered_values((Order.n, 7)),),
    ],
)
def test_refused_before_any_sql(db: Engines, statement: Any) -> None:
    """What writes the numbers, the whole table by mistake, or by key without the check."""
    with CasSession(db.sync) as session:
        _orders(session)
        with pytest.raises(InvalidExpectation):
            session.execute(*statement())
        assert session.is_active
        assert {o.n for o in session.query(Order)} == {1, 2}


def test_by_key(db: Engines) -> None:
    """A list of rows is checked row by row: all current, one stale, one without its version."""
    with CasSession(db.sync) as session:
        first, second = _orders(session)
        rows = [{"id": o.id, "record_version": 1, "n": 7} for o in (first, second)]
        session.execute(update(Order), rows)
        session.commit()
        assert (first.record_version, second.n) == (2, 7)
        rows[0]["record_version"] = 2
        key = second.id
        session.rollback()
        for write in (
            lambda: session.execute(update(Order), rows),
            lambda: session.bulk_update_mappings(Order, rows),
        ):
            with pytest.raises(ErrRecordVersionConflict) as caught:
                write()
            assert isinstance(caught.value, StaleDataError)
            assert caught.value.key == key
            session.rollback()
        del rows[0]["record_version"]
        with pytest.raises(MissingExpectation):
            session.execute(update(Order), rows)
        with pytest.raises(MissingExpectation):
            session.bulk_update_mappings(Order, rows)
        assert session.is_active
