"""Jobs of SQLAlchemy: options that contradict each other, tables, claims on objects that a session holds."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, Integer, event, inspect, select, text
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, Session, mapped_column

from cas_orm import ErrRecordVersionConflict
from cas_orm_sqla import CasMixin, JobDataclassMixin, JobMixin, claim
from tests.sqla.databases import Engines
from tests.sqla.shop import Job


def made(**options: Any) -> type[Any]:
    """Map a class of jobs with these options."""
    base = type("Base", (DeclarativeBase,), {})
    key = mapped_column(Integer, primary_key=True)
    return type("Made", (JobMixin, base), {**options, "__tablename__": "made", "id": key})


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"cas_gave_up": ("dead", "gave_up")}, "cas_gave_up"),
        ({"cas_terminal_states": ("done", "running")}, "terminal"),
        ({"cas_initial_state": "new"}, "no edge from 'new'"),
        ({"cas_max_attempts": 0}, "cas_max_attempts"),
    ],
)
def test_options_that_contradict_each_other(options: dict[str, Any], named: str) -> None:
    """The class is refused when it is mapped, by the name of what is wrong; the defaults are not."""
    with pytest.raises(ArgumentError, match=named):
        made(**options)
    assert made(cas_max_attempts=1).__table__.name == "made"


def collation(engine: Engine, table: str) -> dict[str, str | None]:
    """Return what the server says of the collations of a table's texts; only MariaDB compares loosely."""
    if engine.dialect.name != "mariadb":
        return {}
    names = "SELECT column_name, collation_name FROM information_schema.columns"
    with engine.connect() as connection:
        where = f" WHERE table_schema = DATABASE() AND table_name = '{table}'"
        return {row[0]: row[1] for row in connection.execute(text(names + where))}


def test_tables_of_jobs(db: Engines) -> None:
    """Made on each database by create_all: states compare exactly, times keep their microseconds."""

    class Base(MappedAsDataclass, DeclarativeBase):
        pass

    class Errand(JobDataclassMixin, Base):
        __tablename__ = "errand"
        id: Mapped[int] = mapped_column(primary_key=True, init=False)

    Base.metadata.create_all(db.sync)
    try:
        with Session(db.sync) as session:
            session.add(Errand())
            session.commit()
            (errand,) = claim(session, Errand, 1)
            session.commit()
            found = session.execute(select(Errand.started_at, Errand.state, Errand.attempts)).one()
            assert (errand.started_at, errand.state, errand.attempts) == tuple(found)
            assert found[0].tzinfo is not None
            for other in ("RUNNING", "Running"):
                assert session.execute(select(Errand.id).where(Errand.state == other)).all() == []
        columns = {c["name"]: c for c in inspect(db.sync).get_columns("errand")}
        kinds = collation(db.sync, "errand")
        if kinds:
            assert {kinds[name] for name in ("state", "action", "result")} == {"utf8mb4_bin"}
            assert columns["heartbeat_at"]["type"].fsp == 6
    finally:
        Base.metadata.drop_all(db.sync)


def autocommit(db: Engines) -> Session:
    """Return a session whose statements commit at once."""
    return Session(db.sync.execution_options(isolation_level="AUTOCOMMIT"))


@pytest.fixture
def key(db: Engines) -> int:
    """Insert a job."""
    with Session(db.sync) as session:
        job = Job(name="as it was")
        session.add(job)
        session.commit()
        return job.id


def elsewhere(db: Engines, **values: Any) -> None:
    """Change the jobs as a stranger does, and raise their versions."""
    with db.sync.begin() as connection:
        rises = {"record_version": Job.__table__.c.record_version + 1}
        connection.execute(Job.__table__.update().values(**values, **rises))


def test_an_old_object_in_the_session(db: Engines, key: int) -> None:
    """It is brought up to date before it is started, so that it can vouch for what it shows."""
    with autocommit(db) as session:
        held = session.get_one(Job, key)
        elsewhere(db, name="edited", run_seq=4)
        (job,) = claim(session, Job, 1)
        assert job is held
        assert (job.name, job.run_seq, job.record_version) == ("edited", 5, 3)
        job.name = "mine"
        assert job.save_if_current(session).record_version == 4


def test_an_expired_object_in_the_session(db: Engines, key: int) -> None:
    """What a commit has expired is loaded with the lock."""
    with Session(db.sync) as session:
        held = session.get_one(Job, key)
        session.commit()
        elsewhere(db, name="edited")
        (job,) = claim(session, Job, 1)
        assert job is held
        assert (job.name, job.state, job.record_version) == ("edited", "running", 3)
        session.commit()


def test_a_refused_object_in_the_session(db: Engines, key: int) -> None:
    """The claim is its reload."""
    with autocommit(db) as session:
        held = session.get_one(Job, key)
        assert not held.try_start_if_current(session, where=Job.name == "another")
        (job,) = claim(session, Job, 1)
        assert (job is held, job.run_seq) == (True, 1)
        assert job.heartbeat_if_current(session)


def test_pending_changes_stay(db: Engines, key: int) -> None:
    """They are neither flushed nor lost; a later save of an object that was not current is refused."""
    for edit, refused in ((None, False), ("edited", True)):
        with autocommit(db) as session:
            held = session.get_one(Job, key)
            held.name = "mine"
            if edit is not None:
                elsewhere(db, name=edit)
            (job,) = claim(session, Job, 1)
            assert (job is held, job.name, job.state) == (True, "mine", "running")
            with db.sync.connect() as connection:
                stored = connection.execute(select(Job.__table__.c.name)).scalar_one()
            assert stored == (edit or "as it was")
            if refused:
                with pytest.raises(ErrRecordVersionConflict):
                    job.try_save_if_current(session)
            else:
                assert job.save_if_current(session)
            assert job.requeue_if_current(session, new_budget=True) if not refused else True
            session.expunge_all()
        elsewhere(db, state="pending", name="as it was")


def test_a_claim_of_a_refused_object_with_changes(db: Engines, key: int) -> None:
    """It would lose them; the job waits for somebody else."""
    with autocommit(db) as session:
        held = session.get_one(Job, key)
        held.name = "mine"
        assert not held.try_start_if_current(session, where=Job.name == "another")
        assert claim(session, Job, 1) == []
    with autocommit(db) as session:
        assert [job.id for job in claim(session, Job, 1)] == [key]


def test_nothing_waits_for_the_commit_of_autocommit(db: Engines, key: int) -> None:
    """The library's own transaction has ended: another session sees the job, in the hook already."""
    seen: list[str] = []

    def look(_: object) -> None:
        with db.sync.connect() as connection:
            seen.append(connection.execute(select(Job.__table__.c.state)).scalar_one())

    with autocommit(db) as session:
        claim(session, Job, 1, on_won=look)
    assert seen == ["running"]


def test_a_class_without_jobs_is_no_job() -> None:
    """The options of jobs are asked only of jobs."""

    class Base(DeclarativeBase):
        pass

    class Plain(CasMixin, Base):
        __tablename__ = "plain"
        id: Mapped[int] = mapped_column(primary_key=True)

    assert inspect(Plain).version_id_col is not None


def begun(db: Engines, session: Session) -> list[str]:
    """Claim, and return what was sent before the jobs were read."""
    sent: list[str] = []

    def collect(_connection: Any, _cursor: Any, sql: str, *_: Any) -> None:
        sent.append(sql)

    event.listen(db.sync, "before_cursor_execute", collect)
    try:
        claim(session, Job, 1)
    finally:
        event.remove(db.sync, "before_cursor_execute", collect)
    return sent[: next(i for i, sql in enumerate(sent) if sql.startswith("SELECT"))]


def test_how_its_own_transaction_begins(db: Engines, key: int) -> None:
    """On MariaDB as READ COMMITTED, so that it locks what it claims and not all that it has passed."""
    level = ["SET TRANSACTION ISOLATION LEVEL READ COMMITTED"] if db.sync.dialect.name == "mariadb" else []
    begin = "BEGIN IMMEDIATE" if db.sync.dialect.name == "sqlite" else "BEGIN"
    with autocommit(db) as session:
        assert begun(db, session) == [*level, begin]


def test_in_the_sessions_transaction(db: Engines, key: int) -> None:
    """Nothing but a savepoint: the isolation level is the session's own."""
    with Session(db.sync) as session:
        assert [sql.split()[0] for sql in begun(db, session) if "BEGIN" not in sql] == ["SAVEPOINT"]
        session.rollback()
