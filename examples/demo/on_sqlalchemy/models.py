"""The job, once as any class, once with compare-and-swap."""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from cas_orm_sqla import CasMixin


class Base(DeclarativeBase):
    """The tables of this side."""

    type_annotation_map: ClassVar = {str: String(32)}


class JobColumns:
    """What both have."""

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    action: Mapped[str] = mapped_column(default="start")
    state: Mapped[str] = mapped_column(default="running")
    result: Mapped[str] = mapped_column(default="")
    logs: Mapped[str] = mapped_column(Text, default="")


class PlainJob(JobColumns, Base):
    """A class as SQLAlchemy maps it: a flush overwrites whatever is there."""

    __tablename__ = "cas_demo_last"


class GuardedJob(CasMixin, JobColumns, Base):
    """The same with ``record_version`` and ``run_seq``."""

    __tablename__ = "cas_demo_swap"
