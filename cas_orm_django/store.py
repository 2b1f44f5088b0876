"""Runs in a Django model: the coordinator's store. Written in sync; asyncio hops to Django's thread."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from asgiref.sync import sync_to_async
from django.core.exceptions import ValidationError
from django.db import models, router
from django.db.models import Q, QuerySet

from cas_orm import Expect, InvalidExpectation, Outcome
from cas_orm.runs import RunSnapshot, Transition, step_of, unmoved
from cas_orm_django.clock import DatabaseClock
from cas_orm_django.columns import columns_of
from cas_orm_django.verbs import try_update_if_current

__all__ = ["DjangoRunStore"]

logger = logging.getLogger("cas_orm")


class DjangoRunStore:
    """Keep runs in the rows of a model with `WorkflowRunMixin`.

    Args:
        model: the model.
        using: the database; by default the router's choice for writing, also for reads.

    Raises:
        InvalidExpectation: the model has no `WorkflowRunMixin`.
    """

    def __init__(self, model: type[models.Model], using: str | None = None) -> None:
        options: Any = model
        if not hasattr(model, "cas_failed_state"):
            raise InvalidExpectation(
                f"{model._meta.label} is not a workflow run: it has no WorkflowRunMixin "
                "[cas-invalid-expectation]"
            )
        self.label: str = model._meta.label
        self.terminal_states: tuple[str, ...] = tuple(options.cas_terminal_states)
        self._failed_state: str = options.cas_failed_state
        self._model = model
        self._using = using
        columns = columns_of(model)
        self._names = ("pk", columns.version_name, columns.generation_name or "run_seq", *_STATE)

    def load(self, run_id: str) -> RunSnapshot | None:
        """Return the run as it is on the primary; None when there is none, or no such key."""
        try:
            key = self._model._meta.pk.to_python(run_id)
        except ValidationError:
            return None
        row = self._rows().filter(pk=key).values_list(*self._names).first()
        return None if row is None else _snapshot(row)

    def commit(self, snapshot: RunSnapshot, transition: Transition) -> Outcome:
        """Write the transition over exactly this snapshot: one UPDATE.

        Raises:
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
        """
        expect, values = step_of(snapshot, transition)
        return self._write(snapshot, expect, {**values, "progressed_at": DatabaseClock()})

    def fail(self, snapshot: RunSnapshot, *, reason: str, older_than: timedelta | None = None) -> Outcome:
        """Fail the run, unless it is terminal or has moved since the snapshot; the version is not compared.

        Args:
            snapshot: the run as it was seen.
            reason: why, for the log.
            older_than: fail it only if it has made no progress for so long, by the database's clock.

        Raises:
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
        """
        expect = unmoved(snapshot, self.terminal_states)
        where = None if older_than is None else Q(progressed_at__lt=DatabaseClock(older_than))
        outcome = self._write(snapshot, expect, {"status": self._failed_state}, where)
        if outcome:
            logger.warning("%s %s: failed by force: %s", self.label, snapshot.run_id, reason)
        return outcome

    def stuck(self, older_than: timedelta) -> list[RunSnapshot]:
        """Return the runs that are not terminal and made no progress for so long, or never noted any."""
        late = Q(progressed_at__lt=DatabaseClock(older_than)) | Q(progressed_at=None)
        rows = self._rows().exclude(status__in=self.terminal_states).filter(late).order_by("pk")
        return [_snapshot(row) for row in rows.values_list(*self._names)]

    async def hop(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Call one of the above in the thread that owns the connections."""
        return await sync_to_async(fn, thread_sensitive=True)(*args)

    def _rows(self) -> QuerySet[Any]:
        return QuerySet(self._model, using=self._using or router.db_for_write(self._model))

    def _write(
        self, snapshot: RunSnapshot, expect: Expect, values: dict[str, object], where: Q | None = None
    ) -> Outcome:
        key = self._model._meta.pk.to_python(snapshot.run_id)
        return try_update_if_current(
            self._model, key, expect=expect, set=values, where=where, using=self._using
        )


_STATE = ("status", "node_states", "last_transition_seq", "state_checksum")


def _snapshot(row: tuple[Any, ...]) -> RunSnapshot:
    key, version, generation, *state = row
    return RunSnapshot(str(key), version, generation, *state)
