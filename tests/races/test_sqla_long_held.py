"""AC-04 on SQLAlchemy: a process that holds its object over many commits, expired by them or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from cas_orm_sqla import AsyncCasSession, CasSession
from tests.races.actors_sqla import SqlaActor, door_engines
from tests.races.on import EVERYWHERE, on
from tests.races.stage import Stage, is_version_conflict
from tests.sqla.shop import Doc, Periodic, Schedule

pytestmark = pytest.mark.parametrize("expire", [True, False], ids=["expired", "kept"])


class Process:
    """One session for hours, with ordinary transactions, over objects that it loaded at the start."""

    def __init__(self, actor: SqlaActor, door: str, expire: bool) -> None:
        self.actor = actor
        made = door_engines(door)
        if actor.api.colour == "sync":
            self.session: Any = CasSession(made.sync, expire_on_commit=expire)
        else:
            self.session = AsyncCasSession(made.asynchronous, expire_on_commit=expire)

    def hop(self, step: Callable[[Session], Any]) -> Any:
        """Run sync code with the session, in the actor's thread and greenlet."""
        return self.actor.do(self._hop, step)

    def fails(self, step: Callable[[Session], Any]) -> BaseException | None:
        """Run it and return what it raised."""
        return self.actor.fails(self._hop, step)

    async def _hop(self, step: Callable[[Session], Any]) -> Any:
        if isinstance(self.session, AsyncSession):
            return await self.session.run_sync(step)
        return step(self.session)

    def close(self) -> None:
        """Close the session."""
        self.hop(lambda session: session.close())


def _hold(stage: Stage, process: Process) -> tuple[Any, Any, Any]:
    """Return a task that the process holds over two commits of other work, its key and its schedule's."""
    schedule = stage.insert(Schedule, cron="* * * * *")
    key = stage.insert(Periodic, args="old", schedule_id=schedule)
    held = process.hop(lambda session: session.get_one(Periodic, key))
    for title in "ab":

        def other_work(session: Session, title: str = title) -> None:
            session.add(Doc(title=title))
            session.commit()

        process.hop(other_work)
    return held, key, schedule


def _edit_and_cascade(stage: Stage, key: Any, schedule: Any = None) -> None:
    """A user edits the arguments, and deletes the schedule: the ORM empties the pointer."""

    def edit(session: Session) -> None:
        session.get_one(Periodic, key).args = "new"
        session.flush()
        if schedule is not None:
            session.delete(session.get_one(Schedule, schedule))
            session.flush()

    stage.early.do(stage.early.api.hop, edit)


def _switch_off(held: Any, how: str) -> Callable[[Session], Any]:
    def step(session: Session) -> Any:
        held.enabled = False
        if how == "verb":
            held.save_if_current(session)
        session.commit()

    return step


@pytest.mark.parametrize("how", ["verb", "flush"])
@on(*EVERYWHERE, "mariadb_rr")
def test_ac04_a_copy_held_for_hours(sqla: Stage, sqla_door: str, expire: bool, how: str) -> None:
    """AC-04: the switch is refused; edit and emptied key survive; reloaded, the next tick works."""
    process = Process(sqla.late, sqla_door, expire)  # type: ignore[arg-type]  # a SqlaActor
    held, key, schedule = _hold(sqla, process)
    _edit_and_cascade(sqla, key, schedule)
    assert is_version_conflict(process.fails(_switch_off(held, how)))
    row = sqla.row(Periodic, key)
    assert (row["args"], row["schedule_id"], row["enabled"]) == ("new", None, True)
    process.hop(lambda session: session.rollback())
    process.hop(lambda session: session.refresh(held))
    process.hop(_switch_off(held, how))
    row = sqla.row(Periodic, key)
    assert (row["args"], row["schedule_id"], row["enabled"]) == ("new", None, False)
    process.close()


@on(*EVERYWHERE)
def test_ac04_nobody_else_has_written(sqla: Stage, sqla_door: str, expire: bool) -> None:
    """The accepted twin: held over commits, and switched off."""
    process = Process(sqla.late, sqla_door, expire)  # type: ignore[arg-type]  # a SqlaActor
    held, key, _ = _hold(sqla, process)
    process.hop(_switch_off(held, "verb"))
    row = sqla.row(Periodic, key)
    assert (row["args"], row["enabled"], row["record_version"]) == ("old", False, 2)
    process.close()


@on(*EVERYWHERE)
def test_ac04_the_baseline_restores_the_old_copy(sqla: Stage, sqla_door: str, expire: bool) -> None:
    """AC-04, baseline: every column of the copy, written by primary key, puts the old arguments back."""
    process = Process(sqla.late, sqla_door, expire)  # type: ignore[arg-type]  # a SqlaActor
    held, key, _ = _hold(sqla, process)
    copy = {"args": "old", "enabled": False, "schedule_id": process.hop(lambda _: held.schedule_id)}
    _edit_and_cascade(sqla, key)
    table = Periodic.__table__

    def write_everything(session: Session) -> None:
        session.execute(update(table).where(table.c.id == key).values(copy))
        session.commit()

    process.hop(write_everything)
    assert sqla.row(Periodic, key)["args"] == "old"
    process.close()
