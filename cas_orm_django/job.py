"""The mixin of jobs: columns, and the verbs of the lifecycle as one-line calls. No logic lives here."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.db import models

from cas_orm import Expect, Outcome
from cas_orm.lifecycle import JobOptions, Lifecycle, Move
from cas_orm.twins import raising, writes
from cas_orm_django import lifecycle
from cas_orm_django.fields import InitialStateField, StateField
from cas_orm_django.mixins import CasMixin
from cas_orm_django.twins import hop

if TYPE_CHECKING:
    from cas_orm_django.belief import Where
    from cas_orm_django.write import OnWon

__all__ = ["JobMixin"]


class JobMixin(JobOptions, CasMixin):
    """Add a job's life: state, action, result, checkpoint, logs, owner, attempts and three times.

    Every verb believes the generation, so that a worker whose job was handed on changes nothing any more.

    Class options:
        cas_initial_state, cas_running_state, cas_terminal_states: the states.
        cas_transitions: the states that each may become.
        cas_max_attempts: how often a budget allows to start; None for ever.
        cas_gave_up: state and result of a job whose budget is spent; the state is terminal.
    """

    state = InitialStateField(max_length=32, default="pending", db_default="pending", editable=False)
    action = StateField(max_length=32, default="start", db_default="start", editable=False)
    result = StateField(max_length=32, default="", db_default="", blank=True, editable=False)
    status = models.JSONField(null=True, blank=True, editable=False)
    logs = models.TextField(default="", db_default="", blank=True, editable=False)
    owner = models.CharField(max_length=255, default="", db_default="", blank=True, editable=False)
    attempts = models.IntegerField(default=0, db_default=0, editable=False)
    started_at = models.DateTimeField(null=True, editable=False)
    heartbeat_at = models.DateTimeField(null=True, editable=False)
    finished_at = models.DateTimeField(null=True, editable=False)

    class Meta(CasMixin.Meta):
        abstract = True

    @writes
    def try_start_if_current(
        self,
        *,
        owner: str = "",
        expect: Expect | None = None,
        where: Where | None = None,
        on_won: OnWon | None = None,
        using: str | None = None,
    ) -> Outcome:
        """Take the job: running, a new generation, one attempt spent.

        Args:
            owner: who works on it.
            expect: what else is believed; a generation in it replaces the last-seen one.
            where: a further condition over plain columns of the version's table.
            on_won: called with the outcome after the commit, when the verb won.
            using: the database; only the router's own choice is accepted.

        Returns:
            The outcome; ``run_seq`` is the new generation.

        Raises:
            ConflictError: the object was refused before and has not been reloaded (``fenced``).
            MissingExpectation: the generation was never seen.
            InvalidExpectation: a belief does not fit.
            IllegalTransition: the loaded state does not become the running one.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
        """
        return lifecycle.move_object(
            self,
            lambda life, loaded: life.start(owner, loaded),
            expect=expect,
            where=where,
            on_won=on_won,
            using=using,
        )

    start_if_current = raising(try_start_if_current)
    astart_if_current = hop(start_if_current)
    atry_start_if_current = hop(try_start_if_current)

    @writes
    def try_save_status_if_current(
        self,
        status: object,
        *,
        logs: str | None = None,
        expect: Expect | None = None,
        where: Where | None = None,
        on_won: OnWon | None = None,
        using: str | None = None,
    ) -> Outcome:
        """Keep a checkpoint while the job is still this generation's. Sending it again is harmless.

        Args:
            status: the checkpoint: anything that JSON can carry.
            logs: replaces the logs; None leaves them.
            expect: what else is believed; a generation in it replaces the last-seen one.
            where: a further condition over plain columns of the version's table.
            on_won: called with the outcome after the commit, when the verb won.
            using: the database; only the router's own choice is accepted.

        Raises:
            ConflictError: the object was refused before and has not been reloaded (``fenced``).
            MissingExpectation: the generation was never seen.
            InvalidExpectation: a belief does not fit.
            IllegalTransition: ``expect`` names another state than the running one.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
        """
        return lifecycle.move_object(
            self,
            lambda life, loaded: life.save_status(status, logs, loaded),
            expect=expect,
            where=where,
            on_won=on_won,
            using=using,
        )

    save_status_if_current = raising(try_save_status_if_current)
    asave_status_if_current = hop(save_status_if_current)
    atry_save_status_if_current = hop(try_save_status_if_current)

    @writes
    def try_finish_if_current(
        self,
        state: str,
        result: str,
        *,
        logs: str | None = None,
        finished_at: datetime.datetime | None = None,
        expect: Expect | None = None,
        where: Where | None = None,
        on_won: OnWon | None = None,
        using: str | None = None,
    ) -> Outcome:
        """Close the job, if it is still this generation's and not closed. A lost answer is no failure.

        Args:
            state: a terminal state.
            result: how it ended.
            logs: replaces the logs; None leaves them.
            finished_at: when it ended; by default the database's clock.
            expect: what else is believed; a generation in it replaces the last-seen one.
            where: a further condition over plain columns of the version's table.
            on_won: called with the outcome after the commit, when the verb won.
            using: the database; only the router's own choice is accepted.

        Returns:
            The outcome; ALREADY_APPLIED when the row has this state and result in this generation.

        Raises:
            ConflictError: the object was refused before and has not been reloaded (``fenced``).
            MissingExpectation: the generation was never seen.
            InvalidExpectation: a belief does not fit.
            IllegalTransition: the state is not terminal, or the loaded one does not become it.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
        """

        def plan(life: Lifecycle, loaded: Mapping[str, object] | None) -> Move:
            return life.finish(state, result, logs=logs, finished_at=finished_at, loaded=loaded)

        return lifecycle.move_object(self, plan, expect=expect, where=where, on_won=on_won, using=using)

    finish_if_current = raising(try_finish_if_current)
    afinish_if_current = hop(finish_if_current)
    atry_finish_if_current = hop(try_finish_if_current)

    @writes
    def try_heartbeat_if_current(
        self,
        *,
        expect: Expect | None = None,
        where: Where | None = None,
        on_won: OnWon | None = None,
        using: str | None = None,
    ) -> Outcome:
        """Say that the worker is alive, while the job is its own; the version stays.

        Args:
            expect: what else is believed; a generation in it replaces the last-seen one.
            where: a further condition over plain columns of the version's table.
            on_won: called with the outcome after the commit, when the verb won.
            using: the database; only the router's own choice is accepted.

        Raises:
            ConflictError: the object was refused before and has not been reloaded (``fenced``).
            MissingExpectation: the generation was never seen.
            InvalidExpectation: a belief does not fit.
            IllegalTransition: ``expect`` names another state than the running one.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
        """
        return lifecycle.move_object(
            self,
            lambda life, _: life.heartbeat(),
            expect=expect,
            where=where,
            on_won=on_won,
            using=using,
        )

    heartbeat_if_current = raising(try_heartbeat_if_current)
    aheartbeat_if_current = hop(heartbeat_if_current)
    atry_heartbeat_if_current = hop(try_heartbeat_if_current)

    @writes
    def try_requeue_if_current(
        self,
        *,
        new_budget: bool = False,
        expect: Expect | None = None,
        where: Where | None = None,
        on_won: OnWon | None = None,
        using: str | None = None,
    ) -> Outcome:
        """Give the job back to the queue; whoever worked on it is superseded.

        Args:
            new_budget: zero the attempts, and let a closed job run again: a person's decision.
            expect: what else is believed; a generation in it replaces the last-seen one.
            where: a further condition over plain columns of the version's table.
            on_won: called with the outcome after the commit, when the verb won.
            using: the database; only the router's own choice is accepted.

        Returns:
            The outcome; ``run_seq`` is the new generation.

        Raises:
            ConflictError: the object was refused before and has not been reloaded (``fenced``).
            MissingExpectation: the generation was never seen.
            InvalidExpectation: a belief does not fit.
            IllegalTransition: a running job may not become an initial one.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
        """
        return lifecycle.move_object(
            self,
            lambda life, _: life.requeue(new_budget=new_budget),
            expect=expect,
            where=where,
            on_won=on_won,
            using=using,
        )

    requeue_if_current = raising(try_requeue_if_current)
    arequeue_if_current = hop(requeue_if_current)
    atry_requeue_if_current = hop(try_requeue_if_current)
