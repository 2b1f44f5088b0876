"""The models of the contract suite: the same names and columns as in ``tests/django/shop``."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, ForeignKey, String, Text
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from cas_orm_sqla import (
    CasMixin,
    CasVerbsMixin,
    JobMixin,
    RecordVersionMixin,
    RunSeqMixin,
    WorkflowRunMixin,
    WriteTokenMixin,
)

#: MySQL's own DATETIME drops the microseconds.
Moment = DateTime(timezone=True).with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")

__all__ = [
    "Cart",
    "CartLine",
    "Chore",
    "Customer",
    "Device",
    "Doc",
    "Flow",
    "Job",
    "Legacy",
    "Member",
    "Order",
    "Parcel",
    "Periodic",
    "Run",
    "Schedule",
    "Seat",
    "Slot",
    "Ticket",
]


class Base(DeclarativeBase):
    """The tables of the shop."""

    type_annotation_map = {str: String(50), dict[str, Any]: JSON, dt.datetime: Moment}


class Customer(Base):
    """A class without the library."""

    __tablename__ = "customer"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]


class Order(CasMixin, Base):
    """Version and generation, and one column of each kind; nothing points at it."""

    __tablename__ = "order"
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(default="")
    state: Mapped[str | None] = mapped_column(default="new")
    n: Mapped[int] = mapped_column(default=0)
    flag: Mapped[bool] = mapped_column(default=False)
    data: Mapped[dict[str, Any]] = mapped_column(default=dict)
    note: Mapped[str | None]
    weight: Mapped[float | None]
    due: Mapped[dt.datetime | None]
    customer_id: Mapped[int | None] = mapped_column(ForeignKey(Customer.id))
    customer: Mapped[Customer | None] = relationship()


class Doc(RecordVersionMixin, Base):
    """A version, no generation."""

    __tablename__ = "doc"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(default="")
    body: Mapped[str] = mapped_column(Text, default="")
    n: Mapped[int] = mapped_column(default=0)


class Run(RunSeqMixin, RecordVersionMixin, Base):
    """The two single mixins together."""

    __tablename__ = "run"

    id: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str | None]


class Ticket(WriteTokenMixin, CasMixin, Base):
    """Version, generation and write token: what settling needs."""

    __tablename__ = "ticket"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(default="")
    n: Mapped[int] = mapped_column(default=0)


class Legacy(CasVerbsMixin, Base):
    """Columns that were there before the library."""

    __tablename__ = "legacy"
    cas_version_field = "lock_version"
    cas_generation_field = "epoch"

    id: Mapped[int] = mapped_column(primary_key=True)
    lock_version: Mapped[int] = mapped_column("Ver No", BigInteger)
    epoch: Mapped[int] = mapped_column("order", BigInteger, default=0)
    title: Mapped[str] = mapped_column("The Title", default="")


class Device(CasMixin, Base):
    """Two columns that change all the time and are nobody's conflict."""

    __tablename__ = "device"
    cas_unversioned_fields = ("seen_at", "hits")

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(default="")
    hits: Mapped[int] = mapped_column(default=0)
    seen_at: Mapped[dt.datetime | None]


class Seat(CasMixin, Base):
    """A composite primary key."""

    __tablename__ = "seat"

    row: Mapped[str] = mapped_column(String(5), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    holder: Mapped[str] = mapped_column(default="")


class Parcel(CasMixin, Base):
    """A UUID that Python makes."""

    __tablename__ = "parcel"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    label: Mapped[str] = mapped_column(default="")


class Slot(RecordVersionMixin, Base):
    """A text key that the caller chooses."""

    __tablename__ = "slot"

    code: Mapped[str] = mapped_column(String(20), primary_key=True)
    label: Mapped[str] = mapped_column(default="")


class Cart(CasMixin, Base):
    """A parent: its delete cascades in the ORM."""

    __tablename__ = "cart"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(default="")
    lines: Mapped[list[CartLine]] = relationship(back_populates="cart", cascade="all, delete-orphan")


class CartLine(Base):
    """Goes with its cart."""

    __tablename__ = "cart_line"

    id: Mapped[int] = mapped_column(primary_key=True)
    cart_id: Mapped[int] = mapped_column(ForeignKey(Cart.id))
    sku: Mapped[str] = mapped_column(default="")
    cart: Mapped[Cart] = relationship(back_populates="lines")


class Member(RecordVersionMixin, Base):
    """An account that notes each login."""

    __tablename__ = "member"

    id: Mapped[int] = mapped_column(primary_key=True)
    username: Mapped[str] = mapped_column(default="")
    last_login: Mapped[dt.datetime | None]


class Schedule(Base):
    """What a periodic task points at; the ORM empties the pointers when it is deleted."""

    __tablename__ = "schedule"

    id: Mapped[int] = mapped_column(primary_key=True)
    cron: Mapped[str] = mapped_column(default="")
    tasks: Mapped[list[Periodic]] = relationship(back_populates="schedule")


class Periodic(RecordVersionMixin, Base):
    """A task that one process holds for hours."""

    __tablename__ = "periodic"

    id: Mapped[int] = mapped_column(primary_key=True)
    enabled: Mapped[bool] = mapped_column(default=True)
    args: Mapped[str] = mapped_column(default="")
    schedule_id: Mapped[int | None] = mapped_column(ForeignKey(Schedule.id))
    schedule: Mapped[Schedule | None] = relationship(back_populates="tasks")


class Job(JobMixin, Base):
    """A job as the mixin makes it."""

    __tablename__ = "job"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(default="")


class Chore(WriteTokenMixin, JobMixin, Base):
    """A job with states of its own, a budget of two attempts, and a write token."""

    __tablename__ = "chore"
    cas_initial_state = "new"
    cas_running_state = "busy"
    cas_terminal_states = ("ok", "bad", "dropped")
    cas_transitions = {"new": ("busy", "dropped"), "busy": ("new", "ok", "bad")}
    cas_max_attempts = 2
    cas_gave_up = ("bad", "gave_up")

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(default="")


class Flow(WorkflowRunMixin, Base):
    """A workflow run as the mixin makes it."""

    __tablename__ = "flow"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(default="")
