"""Runs in a mapped class: the coordinator's store. Written in sync; an AsyncSession runs the same code."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import inspect, or_, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from cas_orm import Expect, InvalidExpectation, Outcome, UnknownOutcome
from cas_orm.engine import Fault
from cas_orm.flow import refused_by_engine
from cas_orm.runs import RunSnapshot, Transition, step_of, unmoved
from cas_orm_sqla.belief import Where
from cas_orm_sqla.clock import Ago, DatabaseClock
from cas_orm_sqla.columns import columns_of
from cas_orm_sqla.engine_errors import fault_of
from cas_orm_sqla.verbs import try_update_if_current

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

__all__ = ["SqlaRunStore"]

logger: Final = logging.getLogger("cas_orm")
#: The session behind an AsyncSession, while its greenlet runs a method of the store.
_INNER: Final[ContextVar[Session | None]] = ContextVar("cas_orm_sqla_store", default=None)


class SqlaRunStore:
    """Keep runs in the rows of a class with `WorkflowRunMixin`, each statement in a session of its own.

    Args:
        session_factory: makes the sessions; those of an ``async_sessionmaker`` are for `AsyncCoordinator`.
        model: the mapped class.

    Raises:
        InvalidExpectation: the class has no `WorkflowRunMixin`, or a key of several columns.
    """

    def __init__(self, session_factory: Callable[[], Session | AsyncSession], model: type[Any]) -> None:
        if not hasattr(model, "cas_failed_state"):
            raise InvalidExpectation(
                f"{model.__name__} is not a workflow run: it has no WorkflowRunMixin "
                "[cas-invalid-expectation]"
            )
        self._columns = columns = columns_of(model)
        self.label = columns.label
        self.terminal_states: tuple[str, ...] = tuple(model.cas_terminal_states)
        self._factory = session_factory
        self._model = model
        if len(inspect(model).primary_key) != 1:
            raise InvalidExpectation(
                f"{columns.label}: a run has one column for its key, which travels as text "
                "[cas-invalid-expectation]"
            )
        (self._key,) = inspect(model).primary_key
        generation = columns.generation
        assert generation is not None  # the mixin has one
        state = [columns.own[name].column for name in _STATE]
        self._selected = (self._key, columns.version.column, generation.column, *state)

    def load(self, run_id: str) -> RunSnapshot | None:
        """Return the run, or None when there is none, or no such key."""
        try:
            key = self._typed(run_id)
        except ValueError:
            return None
        with self._session() as session:
            row = session.execute(self._query().where(self._key == key)).one_or_none()
        return None if row is None else _snapshot(row)

    def commit(self, snapshot: RunSnapshot, transition: Transition) -> Outcome:
        """Write the transition over exactly this snapshot: one UPDATE, committed.

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
        progressed = self._columns.own["progressed_at"].column
        where = None if older_than is None else progressed < Ago(older_than)
        outcome = self._write(snapshot, expect, {"status": self._model.cas_failed_state}, where)
        if outcome:
            logger.warning("%s %s: failed by force: %s", self.label, snapshot.run_id, reason)
        return outcome

    def stuck(self, older_than: timedelta) -> list[RunSnapshot]:
        """Return the runs that are not terminal and made no progress for so long, or never noted any."""
        own = self._columns.own
        status, progressed = own["status"].column, own["progressed_at"].column
        late = or_(progressed < Ago(older_than), progressed.is_(None))
        query = self._query().where(status.not_in(self.terminal_states), late).order_by(self._key)
        with self._session() as session:
            return [_snapshot(row) for row in session.execute(query)]

    async def hop(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Call one of the above in a new AsyncSession's greenlet; with sync sessions, in a thread."""
        session = self._factory()
        if isinstance(session, Session):
            session.close()
            from asyncio import to_thread

            return await to_thread(fn, *args)

        def inside(inner: Session) -> Any:
            before = _INNER.set(inner)
            try:
                return fn(*args)
            finally:
                _INNER.reset(before)

        async with session:
            return await session.run_sync(inside)

    @contextmanager
    def _session(self) -> Iterator[Session]:
        inner = _INNER.get()
        if inner is not None:
            yield inner
            return
        session = self._factory()
        if not isinstance(session, Session):
            raise TypeError("a store of AsyncSessions is for AsyncCoordinator, not for Coordinator")
        with session:
            yield session

    def _query(self) -> Any:
        return select(*self._selected)

    def _typed(self, run_id: str) -> Any:
        kind = self._key.type.python_type
        return run_id if kind is str else kind(run_id)

    def _write(
        self, snapshot: RunSnapshot, expect: Expect, values: dict[str, Any], where: Where | None = None
    ) -> Outcome:
        key = self._typed(snapshot.run_id)
        with self._session() as session:
            outcome = try_update_if_current(session, self._model, key, expect=expect, set=values, where=where)
            try:
                session.commit()
            except DBAPIError as error:
                self._raise_lost_commit(session, snapshot, error)
        return replace(outcome, provisional=False)

    def _raise_lost_commit(self, session: Session, snapshot: RunSnapshot, error: DBAPIError) -> None:
        """Raise what a COMMIT that failed means: refused by the engine, or nobody knows."""
        fault = fault_of(session.get_bind(self._columns.mapper).dialect.name, error)
        conflict = refused_by_engine(fault, error)
        if conflict is not None:
            raise conflict from error
        if fault is not Fault.UNKNOWN:
            raise error
        raise UnknownOutcome(
            f"{self.label} {snapshot.run_id}: the connection was lost during COMMIT [cas-unknown-outcome]",
            model=self.label,
            key=snapshot.run_id,
            in_transaction=True,
        ) from error


_STATE = ("status", "node_states", "last_transition_seq", "state_checksum")


def _snapshot(row: Any) -> RunSnapshot:
    key, version, generation, *state = row
    return RunSnapshot(str(key), version, generation, *state)
