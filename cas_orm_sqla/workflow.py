"""The columns of workflow runs: what the coordinator loads and commits."""

from __future__ import annotations

import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, String
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from cas_orm.runs import WorkflowOptions
from cas_orm_sqla.clock import DatabaseClock
from cas_orm_sqla.mixins import CasDataclassMixin, CasMixin
from cas_orm_sqla.types import State, UtcDateTime

__all__ = ["WorkflowRunDataclassMixin", "WorkflowRunMixin"]


class WorkflowRunMixin(WorkflowOptions, CasMixin):
    """Add a workflow run's columns: status, node states, transition number, checksum and time of progress.

    Only committed ticks write node states, transition number, checksum and progress. Other actors speak to a
    run through its status.

    Class options:
        cas_initial_state: the status of a new run.
        cas_terminal_states: the statuses that nothing leaves.
        cas_failed_state: the status of a run that is failed by force.
    """

    @declared_attr
    def status(cls) -> Mapped[str]:
        """Start in the class's own initial state."""
        return mapped_column(State(32), nullable=False, default=cls.cas_initial_state)

    node_states: Mapped[dict[str, Any]] = mapped_column(JSON, nullable=False, default=dict)
    last_transition_seq: Mapped[int] = mapped_column(BigInteger, nullable=False, default=0)
    state_checksum: Mapped[str] = mapped_column(String(64), nullable=False, default="")
    progressed_at: Mapped[datetime.datetime | None] = mapped_column(UtcDateTime, default=DatabaseClock())


class WorkflowRunDataclassMixin(WorkflowOptions, CasDataclassMixin):
    """`WorkflowRunMixin` for mapped dataclasses."""

    @declared_attr
    def status(cls) -> Mapped[str]:
        """Start in the class's own initial state."""
        return mapped_column(State(32), nullable=False, init=False, insert_default=cls.cas_initial_state)

    node_states: Mapped[dict[str, Any]] = mapped_column(JSON, nullable=False, init=False, insert_default=dict)
    last_transition_seq: Mapped[int] = mapped_column(BigInteger, nullable=False, init=False, insert_default=0)
    state_checksum: Mapped[str] = mapped_column(String(64), nullable=False, init=False, insert_default="")
    progressed_at: Mapped[datetime.datetime | None] = mapped_column(
        UtcDateTime, init=False, insert_default=DatabaseClock()
    )
