"""What importing the package takes: no greenlet, no asyncio, no database's dialect."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cas_orm_sqla

ROOT = Path(__file__).parents[2]

PREPARED = """
import sys


class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"greenlet", "django"}:
            raise ModuleNotFoundError(name)
        return None


sys.meta_path.insert(0, Blocker())
sys.path.insert(0, sys.argv[1])
"""

USED = """
from datetime import timedelta

from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

import cas_orm_sqla as cas
from cas_orm import Expect


class Base(DeclarativeBase):
    pass


class Task(cas.JobMixin, Base):
    __tablename__ = "task"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(default="")


class Run(cas.WorkflowRunMixin, Base):
    __tablename__ = "run"
    id: Mapped[int] = mapped_column(primary_key=True)


engine = create_engine("sqlite://")
Base.metadata.create_all(engine)
factory = cas.guard(sessionmaker(engine))
with factory() as session:
    assert isinstance(session, cas.CasSession)
    session.add_all([Task(id=1), Run(id=1)])
    session.commit()
    (task,) = cas.claim(session, Task, 1)
    task.finish_if_current(session, "done", "ok")
    assert not task.try_save_if_current(session, expect=Expect(name="other"))
    session.rollback()
    assert cas.try_update_if_current(session, Task, 1, expect=Expect(record_version=1), set={"name": "a"})
    session.commit()
    cas.requeue_stale(session, Task, timedelta(1))


def work(session):
    session.get(Task, 1).name = "b"


cas.retry_on_conflict(factory, work)
cas.SqlaRunStore(factory, Run).load("1")
try:
    cas.settle(factory, ValueError())
except TypeError:
    pass
try:
    cas.guard(Session)
except TypeError:
    pass
heavy = ("greenlet", "sqlalchemy.ext.asyncio", "sqlalchemy.dialects.mysql")
print([name for name in heavy if name in sys.modules])
"""

ONE = """
import sqlalchemy.orm
before = set(sys.modules)
import cas_orm_sqla
tops = {name for name in set(sys.modules) - before if not name.startswith("cas_orm_sqla")}
assert not tops - set(sys.stdlib_module_names) - {"__future__"}, tops
from cas_orm_sqla import CasMixin
print([room for room in sys.argv[2:] if f"cas_orm_sqla.{room}" in sys.modules])
"""


def _run(code: str, *args: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-I", "-c", PREPARED + code, str(ROOT), *args],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout.strip(), done.stderr


def test_everything_but_the_async_twins_works_without_greenlet() -> None:
    """SQLAlchemy 2.1 does not bring it, and its asyncio cannot be imported without."""
    assert _run(USED) == ("[]", "")


def test_a_mixin_brings_no_jobs() -> None:
    """The package itself imports nothing; a mixin leaves out what it does not need."""
    assert _run(ONE, "asynchronous", "claiming", "job", "lifecycle", "retry", "settling", "store") == (
        "[]",
        "",
    )


def test_every_public_name_resolves() -> None:
    """And no other does."""
    assert sorted(cas_orm_sqla.__all__) == cas_orm_sqla.__all__
    assert set(cas_orm_sqla.__all__) <= set(dir(cas_orm_sqla))
    assert all(getattr(cas_orm_sqla, name).__name__ == name for name in cas_orm_sqla.__all__)
    assert not hasattr(cas_orm_sqla, "nothing_of_ours")
