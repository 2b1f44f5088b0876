"""A job object in an ordinary session: after commits that expire it or do not, and after rollbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.orm import Session

from cas_orm import IllegalTransition, Outcome, Superseded
from tests.sqla.databases import Engines
from tests.sqla.shop import Job

Verb = Callable[[Job, Session], Outcome]
#: verb -> the call, and whether it starts from a running job
VERBS: dict[str, tuple[Verb, bool]] = {
    "start": (lambda job, session: job.start_if_current(session, owner="w0"), False),
    "save_status": (lambda job, session: job.save_status_if_current(session, {"step": 1}), True),
    "heartbeat": (lambda job, session: job.heartbeat_if_current(session), True),
    "finish": (lambda job, session: job.finish_if_current(session, "done", "ok"), True),
    "requeue": (lambda job, session: job.requeue_if_current(session), True),
}
every_verb = pytest.mark.parametrize("verb", VERBS)
either_way = pytest.mark.parametrize("expire_on_commit", [True, False], ids=["expired", "kept"])


def job_for(session: Session, verb: str) -> Job:
    """Return a job that the session holds, committed, ready for the verb."""
    job = Job()
    session.add(job)
    session.commit()
    if VERBS[verb][1]:
        job.start_if_current(session)
        session.commit()
    return job


def row(db: Engines, job_id: int) -> dict[str, Any]:
    """Return the row."""
    with db.sync.connect() as connection:
        found = connection.execute(Job.__table__.select().where(Job.__table__.c.id == job_id)).one()
    return dict(found._mapping)


@either_way
@every_verb
def test_after_a_commit(db: Engines, verb: str, expire_on_commit: bool) -> None:
    """The next verb believes what the last one has written, loaded or not, and the row is shown."""
    with Session(db.sync, expire_on_commit=expire_on_commit) as session:
        job = job_for(session, verb)
        VERBS[verb][0](job, session)
        session.commit()
        before = row(db, job.id)
        if before["state"] == "running":
            assert job.finish_if_current(session, "done", "ok").record_version == before["record_version"] + 1
        elif before["state"] == "pending":
            assert job.start_if_current(session).run_seq == before["run_seq"] + 1
        else:
            with pytest.raises(IllegalTransition):
                job.start_if_current(session)
        session.commit()
        after = row(db, job.id)
        assert {name: getattr(job, name) for name in after} == after


@pytest.mark.parametrize("nested", [False, True], ids=["transaction", "savepoint"])
@either_way
@every_verb
def test_after_a_rollback(db: Engines, verb: str, expire_on_commit: bool, nested: bool) -> None:
    """The verb has not happened for the object either: it is done once more, from the same numbers."""
    with Session(db.sync, expire_on_commit=expire_on_commit) as session:
        job = job_for(session, verb)
        before = row(db, job.id)
        if nested:
            with session.begin_nested() as savepoint:
                first = VERBS[verb][0](job, session)
                savepoint.rollback()
        else:
            first = VERBS[verb][0](job, session)
            session.rollback()
        second = VERBS[verb][0](job, session)
        assert (second.run_seq, second.record_version) == (first.run_seq, first.record_version)
        session.rollback()
        assert {name: getattr(job, name) for name in before} == before
        job.name = "mine"
        job.save_if_current(session)
        session.commit()
        assert row(db, job.id) == {**before, "name": "mine", "record_version": before["record_version"] + 1}


@either_way
def test_what_was_seen_before_the_commit_is_believed_after_it(db: Engines, expire_on_commit: bool) -> None:
    """An expired object does not take over a generation that nobody has looked at."""
    with Session(db.sync, expire_on_commit=expire_on_commit) as session, Session(db.sync) as other:
        job = job_for(session, "finish")
        other.get_one(Job, job.id).requeue_if_current(other)
        other.commit()
        session.commit()
        with pytest.raises(Superseded):
            job.finish_if_current(session, "done", "ok")
        session.rollback()
        assert row(db, job.id)["state"] == "pending"
