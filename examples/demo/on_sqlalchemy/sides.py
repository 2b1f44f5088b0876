"""How a SQLAlchemy team writes a job: without the library, and with it."""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from cas_orm import Expect, Outcome
from cas_orm_sqla import try_finish_if_current
from examples.demo.on_sqlalchemy.base import SqlalchemySide
from examples.demo.on_sqlalchemy.models import GuardedJob, PlainJob
from examples.demo.story import CANCELED, FINISHED, UNTOUCHED, Actor, Meet, Row, Told

SAVED = Told(success=True, word="saved")  # commit() returned; there is nothing else to learn from it


class LastWriterWins(SqlalchemySide):
    """Load the object, set its attributes, ``commit()``."""

    model = PlainJob
    calls: ClassVar = {Actor.EXECUTOR: "commit()", Actor.CANCELLER: "commit()"}

    def executor(self, key: int, meet: Meet) -> Told:
        with Session(self.engine) as session:
            job = session.scalars(select(PlainJob).filter_by(id=key, state="running")).one()
            meet()
            job.state, job.result, job.logs = FINISHED
            meet()
            session.commit()
        return SAVED

    def canceller(self, key: int, meet: Meet) -> Told:
        with Session(self.engine) as session:
            job = session.scalars(select(PlainJob).filter_by(id=key, state="running")).one()
            meet()
            job.state, job.result, job.logs = CANCELED
            meet()
            session.commit()
        return SAVED


class CompareAndSwap(SqlalchemySide):
    """The same, but each verb says which generation it acts for: by the object, or by the key alone."""

    model = GuardedJob
    calls: ClassVar = {Actor.EXECUTOR: "finish_if_current()", Actor.CANCELLER: "finish_if_current()"}

    def executor(self, key: int, meet: Meet) -> Told:
        with Session(self.engine) as session:
            job = session.get_one(GuardedJob, key)
            meet()
            state, result, logs = FINISHED
            meet()
            return committed(session, job.try_finish_if_current(session, state, result, logs=logs))

    def canceller(self, key: int, meet: Meet) -> Told:
        with Session(self.engine) as session:
            belief = Expect.of(session.get_one(GuardedJob, key), "run_seq")
            meet()
            state, result, logs = CANCELED
            meet()
            outcome = try_finish_if_current(session, GuardedJob, key, state, result, logs=logs, expect=belief)
            return committed(session, outcome)

    def alone(self, actor: Actor) -> Row:
        return {**super().alone(actor), **UNTOUCHED, "record_version": 2, "finished_at": True}


def committed(session: Session, outcome: Outcome) -> Told:
    """Commit a win, and hand the outcome on; the end of the session rolls the rest back."""
    if outcome:
        session.commit()
    return Told(bool(outcome), outcome.verdict.value)


SIDES: dict[str, type[LastWriterWins | CompareAndSwap]] = {"plain": LastWriterWins, "cas": CompareAndSwap}
