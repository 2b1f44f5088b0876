"""The job, once as any class, once with compare-and-swap."""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from cas_orm_sqla import JobMixin


class Base(DeclarativeBase):
    """The tables of this side."""

    type_annotation_map: ClassVar = {str: String(32)}


class PlainJob(Base):
    """A class as SQLAlchemy maps it: a flush overwrites whatever is there."""

    __tablename__ = "cas_demo_last"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    action: Mapped[str] = mapped_column(default="start")
    state: Mapped[str] = mapped_column(default="pending")
    result: Mapped[str] = mapped_column(default="")
    logs: Mapped[str] = mapped_column(Text, default="")


class GuardedJob(JobMixin, Base):
    """A job with the library's verbs: the mixin brings the columns, version and generation among them."""

    __tablename__ = "cas_demo_swap"

    cas_terminal_states = ("done", "canceled")
    cas_transitions: ClassVar = {
        "pending": ("running", "canceled"),
        "running": ("pending", "done", "canceled"),
    }

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
