"""What an object last saw outlives expiry, pickling and its session, and costs a commit next to nothing."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from sqlalchemy import inspect, select
from sqlalchemy.orm import Session, load_only
from sqlalchemy.orm.exc import StaleDataError

from cas_orm import Expect, MissingExpectation, Verdict
from tests.sqla.databases import Engines
from tests.sqla.rivals import bump
from tests.sqla.shop import Customer, Doc, Order, Ticket


def _expired(session: Session, **values: Any) -> Order:
    """Return an order that a commit has expired."""
    order = Order(**values)
    session.add(order)
    session.commit()
    assert "record_version" not in order.__dict__
    return order


def test_a_commit_notes_every_loaded_object(db: Engines) -> None:
    """Ours of several classes, next to strangers; none is loaded again for it."""
    with Session(db.sync) as session:
        session.add_all([Order(), Doc(), Ticket(), Customer(name="a")])
        session.commit()
        session.expunge_all()
        objs = [session.scalars(select(model)).one() for model in (Order, Doc, Ticket)]
        session.scalars(select(Customer)).one()
        session.commit()
        for obj, expected in zip(objs, ({"run_seq": 0}, {}, {"run_seq": 0}), strict=True):
            assert "record_version" not in obj.__dict__
            assert Expect.of(obj) == Expect(record_version=1, **expected)


def test_a_commit_forgets_nothing_that_it_does_not_find(db: Engines) -> None:
    """An object that is still expired at the next commit keeps what it saw before the last one."""
    with Session(db.sync) as session:
        order = _expired(session)
        session.commit()
        session.scalars(select(Customer)).all()
        session.commit()
        assert Expect.of(order) == Expect(record_version=1, run_seq=0)


def test_a_column_that_is_not_loaded_keeps_its_number(db: Engines) -> None:
    """A commit that finds the version, but not the generation, keeps the generation that it saw."""
    with Session(db.sync) as session:
        order = _expired(session)
        key = session.scalars(select(Order.id)).one()
        assert order.save_if_current(session).record_version == 2
        session.expire(order)
        session.scalars(select(Order).options(load_only(Order.record_version)).where(Order.id == key)).one()
        assert "run_seq" not in order.__dict__
        session.commit()
        assert Expect.of(order) == Expect(record_version=2, run_seq=0)


@pytest.mark.parametrize("rival", [False, True], ids=["alone", "rival"])
def test_a_pickle_of_an_expired_object_knows_its_version(db: Engines, rival: bool) -> None:
    """What was seen travels with the pickle, and is compared."""
    with Session(db.sync) as session:
        order = _expired(session, title="a")
        key = session.scalars(select(Order.id)).one()
        session.commit()
        copy: Order = pickle.loads(pickle.dumps(order))
    assert "record_version" not in copy.__dict__
    if rival:
        bump(db, Order, key)
    with Session(db.sync) as session:
        session.add(copy)
        copy.title = "mine"
        outcome = copy.try_save_if_current(session)
        assert outcome.verdict is (Verdict.STALE if rival else Verdict.WON)
        assert outcome.expected == {"record_version": 1, "run_seq": 0}
        session.rollback()


@pytest.mark.parametrize("rival", [False, True], ids=["alone", "rival"])
def test_an_expired_object_of_a_closed_session(db: Engines, rival: bool) -> None:
    """The next session's flush compares what the last one saw."""
    with Session(db.sync) as session:
        order = _expired(session, title="a")
        key = session.scalars(select(Order.id)).one()
    if rival:
        bump(db, Order, key)
    with Session(db.sync) as session:
        session.add(order)
        order.title = "mine"
        if rival:
            with pytest.raises(StaleDataError):
                session.flush()
        else:
            session.commit()
            assert order.record_version == 2


def test_a_version_that_was_never_seen(db: Engines) -> None:
    """Without a commit in between nothing was noted: refused, not compared with itself."""
    with Session(db.sync) as session:
        _expired(session)
        session.expunge_all()
        order = session.scalars(select(Order)).one()
        session.expire(order)
        order.title = "mine"
        with pytest.raises(MissingExpectation):
            session.flush()
        session.refresh(order)
        order.title = "healed"
        session.commit()


def test_a_note_is_taken_up_once(db: Engines) -> None:
    """What is learned after the commit is newer than its note."""
    with Session(db.sync) as session:
        order = _expired(session)
        assert order.save_if_current(session).record_version == 2
        assert not hasattr(inspect(order), "cas_orm_seen")
        session.expire(order)
        assert Expect.of(order).record_version == 2
        session.rollback()
        assert Expect.of(order).record_version == 1
