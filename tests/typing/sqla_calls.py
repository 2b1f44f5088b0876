"""Public calls of the SQLAlchemy adapter, as its users write them. For mypy and pyright; never executed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar, assert_type

from sqlalchemy import Engine, func
from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session, async_sessionmaker
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, Session, mapped_column, sessionmaker

from cas_orm import Expect, Outcome, RetryPolicy, StaleCounts, UnknownOutcome, one_of
from cas_orm_sqla import (
    AsyncCasSession,
    CasDataclassMixin,
    CasMixin,
    CasSession,
    CasVerbsMixin,
    JobMixin,
    WriteTokenMixin,
    aclaim,
    adelete_if_current,
    anew_generation_if_current,
    arequeue_stale,
    aretry_on_conflict,
    asettle,
    atry_delete_if_current,
    atry_new_generation_if_current,
    atry_update_if_current,
    aupdate_if_current,
    claim,
    delete_if_current,
    finish_if_current,
    guard,
    new_generation_if_current,
    requeue_stale,
    retry_on_conflict,
    settle,
    start_if_current,
    try_delete_if_current,
    try_new_generation_if_current,
    try_update_if_current,
    update_if_current,
)


class Base(DeclarativeBase):
    pass


class Invoice(WriteTokenMixin, CasMixin, Base):
    __tablename__ = "invoice"

    id: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str]
    tries: Mapped[int] = mapped_column(default=0)


class Job(JobMixin, Base):
    __tablename__ = "job"

    id: Mapped[int] = mapped_column(primary_key=True)


class Contract(CasVerbsMixin, Base):
    __tablename__ = "contract"
    cas_version_field: ClassVar[str | None] = "revision"

    id: Mapped[int] = mapped_column(primary_key=True)
    revision: Mapped[int]


class DataBase(MappedAsDataclass, DeclarativeBase):
    pass


class Point(CasDataclassMixin, DataBase):
    __tablename__ = "point"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    x: Mapped[int] = mapped_column(default=0)


belief = Expect(run_seq=3, state=one_of("pending", "running"))


def celebrate(outcome: Outcome) -> None:
    print(outcome.key)


def on_objects(session: Session, invoice: Invoice) -> None:
    assert_type(invoice.save_if_current(session), Outcome)
    assert_type(
        invoice.save_if_current(session, expect=belief, update_fields=["state"], where=Invoice.tries < 3),
        Outcome,
    )
    assert_type(invoice.try_save_if_current(session, on_won=celebrate), Outcome)
    assert_type(invoice.update_if_current(session, expect=belief, set={"tries": Invoice.tries + 1}), Outcome)
    assert_type(invoice.try_update_if_current(session, expect=belief, set={"state": func.now()}), Outcome)
    assert_type(invoice.new_generation_if_current(session, set={"state": "running"}), Outcome)
    assert_type(invoice.try_new_generation_if_current(session), Outcome)
    assert_type(invoice.delete_if_current(session), Outcome)
    assert_type(invoice.try_delete_if_current(session, expect=belief), Outcome)
    assert_type(Expect.of(invoice, "state"), Expect)
    assert_type(invoice.record_version, int)
    assert_type(invoice.run_seq, int)
    assert_type(invoice.write_token, bytes | None)


def on_dataclasses(session: Session) -> None:
    point = Point(x=3)
    assert_type(point.record_version, int)
    assert_type(point.save_if_current(session), Outcome)


async def on_objects_async(session: AsyncSession, invoice: Invoice) -> None:
    assert_type(await invoice.asave_if_current(session), Outcome)
    assert_type(await invoice.atry_save_if_current(session, expect=belief), Outcome)
    assert_type(await invoice.aupdate_if_current(session, expect=belief, set={"state": "done"}), Outcome)
    assert_type(await invoice.atry_update_if_current(session, expect=belief, set={"state": "done"}), Outcome)
    assert_type(await invoice.anew_generation_if_current(session), Outcome)
    assert_type(await invoice.atry_new_generation_if_current(session), Outcome)
    assert_type(await invoice.adelete_if_current(session), Outcome)
    assert_type(await invoice.atry_delete_if_current(session), Outcome)


def lifecycle(session: Session, job: Job, key: int, now: datetime) -> None:
    assert_type(job.start_if_current(session, owner="me"), Outcome)
    assert_type(job.save_status_if_current(session, "half done", logs="…"), Outcome)
    assert_type(job.try_finish_if_current(session, "done", "ok", finished_at=now), Outcome)
    assert_type(job.heartbeat_if_current(session), Outcome)
    assert_type(job.requeue_if_current(session, new_budget=True), Outcome)
    assert_type(start_if_current(session, Job, key, owner="me", expect=Expect(run_seq=1)), Outcome)
    assert_type(finish_if_current(session, Job, key, "done", "ok", expect=Expect(run_seq=1)), Outcome)


async def lifecycle_async(session: AsyncSession, job: Job) -> None:
    assert_type(await job.astart_if_current(session, owner="me"), Outcome)
    assert_type(await job.atry_finish_if_current(session, "done", "ok"), Outcome)


def by_key(session: Session, key: int) -> None:
    assert_type(update_if_current(session, Invoice, key, expect=belief, set={"state": "done"}), Outcome)
    assert_type(try_update_if_current(session, Invoice, (key,), expect=belief, set={"tries": 1}), Outcome)
    assert_type(new_generation_if_current(session, Invoice, key, expect=belief), Outcome)
    assert_type(
        try_new_generation_if_current(session, Invoice, key, expect=belief, set={"state": "x"}), Outcome
    )
    assert_type(delete_if_current(session, Invoice, key, expect=belief), Outcome)
    assert_type(
        try_delete_if_current(session, Invoice, key, expect=belief, where=Invoice.tries == 0), Outcome
    )


async def by_key_async(session: AsyncSession, key: int) -> None:
    assert_type(await aupdate_if_current(session, Invoice, key, expect=belief, set={"state": "x"}), Outcome)
    assert_type(await atry_update_if_current(session, Invoice, key, expect=belief, set={}), Outcome)
    assert_type(await anew_generation_if_current(session, Invoice, key, expect=belief), Outcome)
    assert_type(await atry_new_generation_if_current(session, Invoice, key, expect=belief), Outcome)
    assert_type(await adelete_if_current(session, Invoice, key, expect=belief), Outcome)
    assert_type(await atry_delete_if_current(session, Invoice, key, expect=belief), Outcome)


def sessions(engine: Engine) -> None:
    factory = sessionmaker(engine)
    assert_type(guard(factory), sessionmaker[Session])
    assert_type(guard(async_sessionmaker()), async_sessionmaker[AsyncSession])
    with CasSession(engine) as session:
        assert_type(session, CasSession)
    assert_type(AsyncCasSession().sync_session, Session)


def work(session: Session) -> int:
    return len(session.new)


async def awork(session: AsyncSession) -> str:
    return str(len(session.new))


def retrying(factory: sessionmaker[Session]) -> None:
    assert_type(retry_on_conflict(factory, work), int)
    assert_type(retry_on_conflict(factory, work, RetryPolicy(max_retries=3)), int)


async def retrying_async(factory: async_sessionmaker[AsyncSession]) -> None:
    assert_type(await aretry_on_conflict(factory, awork, policy=RetryPolicy()), str)


def settling(factory: sessionmaker[Session], error: UnknownOutcome) -> None:
    assert_type(settle(factory, error), Outcome)


async def settling_async(factory: async_sessionmaker[AsyncSession], error: UnknownOutcome) -> None:
    assert_type(await asettle(factory, error), Outcome)


async def scoped(session: async_scoped_session[AsyncSession], invoice: Invoice) -> None:
    assert_type(await invoice.asave_if_current(session()), Outcome)


def sets(session: Session) -> None:
    assert_type(claim(session, Job, 5, owner="w1", where=Job.id > 7, on_won=celebrate), list[Job])
    counts = requeue_stale(session, Job, timedelta(minutes=5), where=Job.id > 7, on_won=celebrate)
    assert_type(counts, StaleCounts)
    assert_type(counts.requeued + counts.gave_up, int)


async def sets_async(session: AsyncSession) -> None:
    assert_type(await aclaim(session, Job, 5), list[Job])
    assert_type(await arequeue_stale(session, Job, timedelta(minutes=5)), StaleCounts)
