"""What an object last saw outlives expiry, pickling and its session, and costs a commit next to nothing."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from sqlalchemy import inspect, select
from sqlalchemy.orm import Session, load_only
from sqlalchemy.orm.exc import StaleDataError

from cas_orm import Expect, MissingExpectation, Verdict
from cas_orm_sqla import winning
from cas_orm_sqla.seen import job_of
from tests.sqla.databases import Engines
from tests.sqla.rivals import bump
from tests.sqla.shop import Customer, Doc, Job, Order, Ticket
from tests.sqla.watching import updates


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


def test_a_job_keeps_what_it_has_seen_of_its_state(db: Engines) -> None:
    """A commit that finds its action and not its state keeps the state; a plain class has neither."""
    with Session(db.sync) as session:
        job = Job(state="running", action="go")
        session.add(job)
        session.commit()
        key = session.scalars(select(Job.id)).one()
        wanted = load_only(Job.record_version, Job.action)
        session.scalars(select(Job).options(wanted).where(Job.id == key)).one()
        assert "state" not in job.__dict__
        session.commit()
        assert job_of(inspect(job)) == {"state": "running", "action": "go"}
        assert job.heartbeat_if_current(session)
        session.rollback()


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


def test_without_sqlalchemys_private_names_a_save_is_still_final(
    db: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The object stays among the modified ones, and no flush finds anything to write."""
    monkeypatch.setattr(winning, "_COMMIT_ALL", "gone_in_some_later_version")
    with Session(db.sync) as session:
        order = _expired(session)
        order.title = "a"
        assert order.save_if_current(session).record_version == 2
        assert inspect(order).modified
        with updates(db.sync) as sent:
            session.commit()
        assert sent == []
        assert (order.title, order.record_version) == ("a", 2)
        order.title = "b"
        session.commit()
        assert order.record_version == 3


@pytest.mark.parametrize("private", ["_remove_newly_deleted", "gone_in_some_later_version"])
def test_a_deleted_object_leaves_the_session(
    db: Engines, private: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With SQLAlchemy's own way a rollback brings it back; without, it is detached and knows its version."""
    monkeypatch.setattr(winning, "_REMOVE_DELETED", private)
    with Session(db.sync) as session:
        order = _expired(session, title="a")
        assert order.delete_if_current(session)
        assert order not in session
        session.rollback()
        assert (order in session) is (private == "_remove_newly_deleted")
        assert Expect.of(order) == Expect(record_version=1, run_seq=0)
        assert order.save_if_current(session).record_version == 2
        session.commit()
