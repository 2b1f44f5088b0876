"""The verbs of a job, and its columns: for declarative classes and for mapped dataclasses. No logic here."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from sqlalchemy import JSON, Integer, String, Text
from sqlalchemy.orm import Mapped, Session, declared_attr, mapped_column

from cas_orm import Expect, Outcome
from cas_orm.lifecycle import JobOptions, Lifecycle, Move
from cas_orm.twins import raising
from cas_orm_sqla import lifecycle
from cas_orm_sqla.belief import Where
from cas_orm_sqla.mixins import CasDataclassMixin, CasMixin, CasVerbsMixin
from cas_orm_sqla.twins import hop
from cas_orm_sqla.types import State, UtcDateTime
from cas_orm_sqla.write import OnWon

__all__ = ["JobDataclassMixin", "JobMixin"]


class JobVerbsMixin(JobOptions, CasVerbsMixin):
    """Give a class that has the columns of a job the verbs of its lifecycle.

    Class options:
        cas_initial_state, cas_running_state, cas_terminal_states: the states.
        cas_transitions: the states that each may become.
        cas_max_attempts: how often a budget allows to start; None for ever.
        cas_gave_up: state and result of a job whose budget is spent; the state is terminal.
    """

    def try_start_if_current(
        self,
        session: Session,
        *,
        owner: str = "",
        expect: Expect | None = None,
        where: Where | None = None,
        on_won: OnWon | None = None,
    ) -> Outcome:
        """Take the job: running, a new generation, one attempt spent.

        Args:
            session: the Session that the object belongs to; nothing is flushed.
            owner: who works on it.
            expect: what else is believed; a generation in it replaces the last-seen one.
            where: a further condition over plain columns of the version's table.
            on_won: called with the outcome after the commit, when the verb won.

        Returns:
            The outcome; ``run_seq`` is the new generation.

        Raises:
            ConflictError: the object was refused before and has not been refreshed (``fenced``).
            MissingExpectation: the generation was never seen.
            InvalidExpectation: a belief does not fit.
            IllegalTransition: the loaded state does not become the running one.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
            TypeError: the wrong kind of session.
        """
        return lifecycle.move_object(
            self,
            session,
            lambda life, loaded: life.start(owner, loaded),
            expect=expect,
            where=where,
            on_won=on_won,
        )

    start_if_current = raising(try_start_if_current)
    astart_if_current = hop(start_if_current)
    atry_start_if_current = hop(try_start_if_current)

    def try_save_status_if_current(
        self,
        session: Session,
        status: object,
        *,
        logs: str | None = None,
        expect: Expect | None = None,
        where: Where | None = None,
        on_won: OnWon | None = None,
    ) -> Outcome:
        """Keep a checkpoint while the job is still this generation's. Sending it again is harmless.

        Args:
            session: the Session that the object belongs to; nothing is flushed.
            status: the checkpoint: anything that JSON can carry.
            logs: replaces the logs; None leaves them.
            expect: what else is believed; a generation in it replaces the last-seen one.
            where: a further condition over plain columns of the version's table.
            on_won: called with the outcome after the commit, when the verb won.

        Raises:
            ConflictError: the object was refused before and has not been refreshed (``fenced``).
            MissingExpectation: the generation was never seen.
            InvalidExpectation: a belief does not fit.
            IllegalTransition: ``expect`` names another state than the running one.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
            TypeError: the wrong kind of session.
        """
        return lifecycle.move_object(
            self,
            session,
            lambda life, loaded: life.save_status(status, logs, loaded),
            expect=expect,
            where=where,
            on_won=on_won,
        )

    save_status_if_current = raising(try_save_status_if_current)
    asave_status_if_current = hop(save_status_if_current)
    atry_save_status_if_current = hop(try_save_status_if_current)

    def try_finish_if_current(
        self,
        session: Session,
        state: str,
        result: str,
        *,
        logs: str | None = None,
        finished_at: datetime.datetime | None = None,
        expect: Expect | None = None,
        where: Where | None = None,
        on_won: OnWon | None = None,
    ) -> Outcome:
        """Close the job, if it is still this generation's and not closed. A lost answer is no failure.

        Args:
            session: the Session that the object belongs to; nothing is flushed.
            state: a terminal state.
            result: how it ended.
            logs: replaces the logs; None leaves them.
            finished_at: when it ended; by default the database's clock.
            expect: what else is believed; a generation in it replaces the last-seen one.
            where: a further condition over plain columns of the version's table.
            on_won: called with the outcome after the commit, when the verb won.

        Returns:
            The outcome; ALREADY_APPLIED when the row has this state and result in this generation.

        Raises:
            ConflictError: the object was refused before and has not been refreshed (``fenced``).
            MissingExpectation: the generation was never seen.
            InvalidExpectation: a belief does not fit.
            IllegalTransition: the state is not terminal, or the loaded one does not become it.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
            TypeError: the wrong kind of session.
        """

        def plan(life: Lifecycle, loaded: Mapping[str, object] | None) -> Move:
            return life.finish(state, result, logs=logs, finished_at=finished_at, loaded=loaded)

        return lifecycle.move_object(self, session, plan, expect=expect, where=where, on_won=on_won)

    finish_if_current = raising(try_finish_if_current)
    afinish_if_current = hop(finish_if_current)
    atry_finish_if_current = hop(try_finish_if_current)

    def try_heartbeat_if_current(
        self,
        session: Session,
        *,
        expect: Expect | None = None,
        where: Where | None = None,
        on_won: OnWon | None = None,
    ) -> Outcome:
        """Say that the worker is alive, while the job is its own; the version stays.

        Args:
            session: the Session that the object belongs to; nothing is flushed.
            expect: what else is believed; a generation in it replaces the last-seen one.
            where: a further condition over plain columns of the version's table.
            on_won: called with the outcome after the commit, when the verb won.

        Raises:
            ConflictError: the object was refused before and has not been refreshed (``fenced``).
            MissingExpectation: the generation was never seen.
            InvalidExpectation: a belief does not fit.
            IllegalTransition: ``expect`` names another state than the running one.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
            TypeError: the wrong kind of session.
        """
        return lifecycle.move_object(
            self,
            session,
            lambda life, _: life.heartbeat(),
            expect=expect,
            where=where,
            on_won=on_won,
        )

    heartbeat_if_current = raising(try_heartbeat_if_current)
    aheartbeat_if_current = hop(heartbeat_if_current)
    atry_heartbeat_if_current = hop(try_heartbeat_if_current)

    def try_requeue_if_current(
        self,
        session: Session,
        *,
        new_budget: bool = False,
        expect: Expect | None = None,
        where: Where | None = None,
        on_won: OnWon | None = None,
    ) -> Outcome:
        """Give the job back to the queue; whoever worked on it is superseded.

        Args:
            session: the Session that the object belongs to; nothing is flushed.
            new_budget: zero the attempts, and let a closed job run again: a person's decision.
            expect: what else is believed; a generation in it replaces the last-seen one.
            where: a further condition over plain columns of the version's table.
            on_won: called with the outcome after the commit, when the verb won.

        Returns:
            The outcome; ``run_seq`` is the new generation.

        Raises:
            ConflictError: the object was refused before and has not been refreshed (``fenced``).
            MissingExpectation: the generation was never seen.
            InvalidExpectation: a belief does not fit.
            IllegalTransition: a running job may not become an initial one.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
            TypeError: the wrong kind of session.
        """
        return lifecycle.move_object(
            self,
            session,
            lambda life, _: life.requeue(new_budget=new_budget),
            expect=expect,
            where=where,
            on_won=on_won,
        )

    requeue_if_current = raising(try_requeue_if_current)
    arequeue_if_current = hop(requeue_if_current)
    atry_requeue_if_current = hop(try_requeue_if_current)


class JobMixin(JobVerbsMixin, CasMixin):
    """Add a job's life: state, action, result, checkpoint, logs, owner, attempts and three times.

    Every verb believes the generation, so that a worker whose job was handed on changes nothing any more.
    """

    @declared_attr
    def state(cls) -> Mapped[str]:
        """Start in the class's own initial state."""
        return mapped_column(State(32), nullable=False, default=cls.cas_initial_state)

    action: Mapped[str] = mapped_column(State(32), nullable=False, default="start")
    result: Mapped[str] = mapped_column(State(32), nullable=False, default="")
    status: Mapped[Any] = mapped_column(JSON(none_as_null=True), nullable=True)
    logs: Mapped[str] = mapped_column(Text, nullable=False, default="")
    owner: Mapped[str] = mapped_column(String(255), nullable=False, default="")
    attempts: Mapped[int] = mapped_column(Integer, nullable=False, default=0)
    started_at: Mapped[datetime.datetime | None] = mapped_column(UtcDateTime)
    heartbeat_at: Mapped[datetime.datetime | None] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime.datetime | None] = mapped_column(UtcDateTime)


class JobDataclassMixin(JobVerbsMixin, CasDataclassMixin):
    """`JobMixin` for mapped dataclasses."""

    @declared_attr
    def state(cls) -> Mapped[str]:
        """Start in the class's own initial state."""
        return mapped_column(State(32), nullable=False, init=False, insert_default=cls.cas_initial_state)

    action: Mapped[str] = mapped_column(State(32), nullable=False, init=False, insert_default="start")
    result: Mapped[str] = mapped_column(State(32), nullable=False, init=False, insert_default="")
    status: Mapped[Any] = mapped_column(JSON(none_as_null=True), nullable=True, init=False)
    logs: Mapped[str] = mapped_column(Text, nullable=False, init=False, insert_default="")
    owner: Mapped[str] = mapped_column(String(255), nullable=False, init=False, insert_default="")
    attempts: Mapped[int] = mapped_column(Integer, nullable=False, init=False, insert_default=0)
    started_at: Mapped[datetime.datetime | None] = mapped_column(UtcDateTime, init=False)
    heartbeat_at: Mapped[datetime.datetime | None] = mapped_column(UtcDateTime, init=False)
    finished_at: Mapped[datetime.datetime | None] = mapped_column(UtcDateTime, init=False)
