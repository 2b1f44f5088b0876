"""Classes of jobs of other shapes than one plain table are claimed and swept as well."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import ForeignKey, String, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

from cas_orm import StaleCounts
from cas_orm_sqla import JobMixin, claim, requeue_stale
from tests.sqla.databases import Engines

HOUR = dt.timedelta(hours=1)
LONG_AGO = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)


class Base(DeclarativeBase):
    """The tables of these tests alone."""


class Owner(Base):
    """Whom a task belongs to."""

    __tablename__ = "js_owner"
    id: Mapped[int] = mapped_column(primary_key=True)
    tasks: Mapped[list[Task]] = relationship(back_populates="of", lazy="joined")


class Task(JobMixin, Base):
    """A job with subclasses of both kinds, and relationships that are loaded with it."""

    __tablename__ = "js_task"
    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "task"}
    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column("sort", String(9), default="task")
    of_id: Mapped[int | None] = mapped_column(ForeignKey(Owner.id))
    of: Mapped[Owner | None] = relationship(back_populates="tasks", lazy="joined")
    notes: Mapped[list[Note]] = relationship(lazy="joined")


class Note(Base):
    """Something that is written beside a task."""

    __tablename__ = "js_note"
    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey(Task.id))


class Place(Base):
    """Where a letter goes."""

    __tablename__ = "js_place"
    id: Mapped[int] = mapped_column(primary_key=True)


class Letter(JobMixin, Base):
    """A job that is loaded together with one other row."""

    __tablename__ = "js_letter"
    id: Mapped[int] = mapped_column(primary_key=True)
    to_id: Mapped[int | None] = mapped_column(ForeignKey(Place.id))
    to: Mapped[Place | None] = relationship(lazy="joined")


class Errand(Task):
    """In the same table."""

    __mapper_args__ = {"polymorphic_identity": "errand"}


class Journey(Task):
    """In a table of its own, too."""

    __tablename__ = "js_journey"
    __mapper_args__ = {"polymorphic_identity": "journey"}
    id: Mapped[int] = mapped_column(ForeignKey(Task.id), primary_key=True)
    goal: Mapped[str] = mapped_column(String(9), default="")


class Cell(JobMixin, Base):
    """A job with a key of two columns."""

    __tablename__ = "js_cell"
    row: Mapped[int] = mapped_column("r", primary_key=True, autoincrement=False)
    column: Mapped[int] = mapped_column("c", primary_key=True, autoincrement=False)


@pytest.fixture
def session(db: Engines) -> Iterator[Session]:
    """Yield a session in AUTOCOMMIT on tables that exist for one test."""
    Base.metadata.create_all(db.sync)
    try:
        with Session(db.sync.execution_options(isolation_level="AUTOCOMMIT")) as session:
            yield session
    finally:
        Base.metadata.drop_all(db.sync)


def add(session: Session, *objects: Any) -> None:
    """Insert the objects and forget them."""
    session.add_all(objects)
    session.flush()
    session.expunge_all()


@pytest.mark.parametrize("of", [Errand, Journey])
def test_a_subclass_is_claimed_alone(session: Session, of: type[Any]) -> None:
    """Its base's rows, and its siblings', wait; the base's claim takes them all, each as its own class."""
    add(session, Task(), Errand(), Journey(goal="home"))
    claimed = claim(session, of, 9)
    assert [type(job) for job in claimed] == [of]
    assert (claimed[0].state, claimed[0].attempts, claimed[0].run_seq) == ("running", 1, 1)
    rest = claim(session, Task, 9)
    assert {type(job) for job in rest} == {Task, Errand, Journey} - {of}
    assert session.scalars(select(Task.__table__.c.attempts)).all() == [1, 1, 1]


@pytest.mark.parametrize("of", [Errand, Journey])
def test_a_subclass_is_swept_alone(session: Session, of: type[Any]) -> None:
    """Its base's rows keep running."""
    stale = {"state": "running", "run_seq": 1, "heartbeat_at": LONG_AGO}
    add(session, Task(**stale), Errand(**stale), Journey(**stale))
    assert requeue_stale(session, of, HOUR) == StaleCounts(1, 0)
    table = Task.__table__.c
    waiting = select(table.sort).where(table.state == "pending")
    assert session.scalars(waiting).all() == [of.__name__.lower()]
    assert requeue_stale(session, Task, HOUR) == StaleCounts(2, 0)


def test_what_is_loaded_with_it(session: Session) -> None:
    """A relationship that is loaded by a join is loaded, but neither locked nor counted."""
    add(session, Owner(id=1, tasks=[Task(notes=[Note(), Note()]), Task(notes=[Note()]), Task()]))
    claimed = claim(session, Task, 2)
    assert [len(task.notes) for task in claimed] == [2, 1]
    assert {task.of_id for task in claimed} == {1}
    assert len(claim(session, Task, 2)) == 1


def test_two_letters_to_one_place(session: Session, db: Engines) -> None:
    """Another's claim neither hides the second, nor what is loaded with it."""
    if db.sync.dialect.name == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    add(session, Place(id=1), Letter(to_id=1), Letter(to_id=1))
    with Session(db.sync) as other:
        (first,) = claim(other, Letter, 1)
        (second,) = claim(session, Letter, 1)
        assert first.id != second.id
        assert second.__dict__["to"] is not None
        other.rollback()


def test_a_key_of_two_columns(session: Session) -> None:
    """In the order of the key; every column of the claimed objects is loaded."""
    add(session, Cell(row=2, column=1), Cell(row=1, column=2), Cell(row=1, column=1))
    claimed = claim(session, Cell, 2)
    assert [(cell.row, cell.column) for cell in claimed] == [(1, 1), (1, 2)]
    assert [cell.__dict__["attempts"] for cell in claimed] == [1, 1]
    session.connection().execute(Cell.__table__.update().values(heartbeat_at=LONG_AGO))
    assert requeue_stale(session, Cell, HOUR) == StaleCounts(2, 0)
