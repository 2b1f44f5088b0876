"""Eight columns, one of them a text of 200 bytes: guarded by mixin, by version_id_col, and not at all."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, declared_attr, mapped_column

from cas_orm_sqla import CasMixin

TEXTS = ("x" * 200, "y" * 200)


class Base(DeclarativeBase):
    """The tables of the measurements."""


class _Columns:
    id: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(String(32), default="running")
    name: Mapped[str] = mapped_column(String(64), default="a job")
    text: Mapped[str] = mapped_column(Text, default=TEXTS[0])
    count: Mapped[int] = mapped_column(default=0)
    flag: Mapped[bool] = mapped_column(default=False)


class _Numbers:
    record_version: Mapped[int] = mapped_column(BigInteger, default=1)
    run_seq: Mapped[int] = mapped_column(BigInteger, default=0)


class Guarded(CasMixin, _Columns, Base):
    """With the mixin."""

    __tablename__ = "bench_sqla_guarded"


class Counted(_Numbers, _Columns, Base):
    """With SQLAlchemy's own version counter."""

    __tablename__ = "bench_sqla_counted"

    @declared_attr.directive
    def __mapper_args__(cls) -> dict[str, Any]:
        return {"version_id_col": cls.__table__.c.record_version}  # type: ignore[attr-defined]


class Plain(_Numbers, _Columns, Base):
    """Unguarded: two plain integers."""

    __tablename__ = "bench_sqla_plain"
