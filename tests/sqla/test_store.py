"""What cannot be a store of runs, or not in this colour."""

from __future__ import annotations

import pytest
from sqlalchemy.ext.asyncio import async_sessionmaker
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, sessionmaker

from cas_orm import Coordinator, InvalidExpectation, WakeUp
from cas_orm.queues.memory import MemoryQueue
from cas_orm_sqla import SqlaRunStore, WorkflowRunMixin
from tests.sqla.databases import Engines
from tests.sqla.shop import Flow, Order


class Apart(DeclarativeBase):
    """Never created."""


class Wide(WorkflowRunMixin, Apart):
    """A run with a key of two columns."""

    __tablename__ = "wide"

    a: Mapped[int] = mapped_column(primary_key=True)
    b: Mapped[int] = mapped_column(primary_key=True)


@pytest.mark.parametrize("model", [Order, Wide])
def test_no_class_of_runs(model: type[object]) -> None:
    """Without the mixin, or with a key that does not travel as one text."""
    with pytest.raises(InvalidExpectation):
        SqlaRunStore(sessionmaker(), model)


def test_a_store_of_async_sessions_is_for_the_async_coordinator(db: Engines) -> None:
    """The sync one says so."""
    store = SqlaRunStore(async_sessionmaker(db.asynchronous), Flow)
    with pytest.raises(TypeError, match="AsyncCoordinator"):
        Coordinator(store, lambda run: None, MemoryQueue()).handle(WakeUp("1"))
