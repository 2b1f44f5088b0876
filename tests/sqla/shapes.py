"""Classes with one peculiarity of mapping each; they share the tables' metadata with the shop."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, Column, Computed, ForeignKey, Integer, String, Table, func
from sqlalchemy.ext.mutable import MutableDict
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    MappedAsDataclass,
    column_property,
    mapped_column,
    registry,
    relationship,
    synonym,
)

from cas_orm_sqla import CasDataclassMixin, CasMixin, CasVerbsMixin, RecordVersionMixin
from tests.sqla.shop import Base, Customer


class Item(CasMixin, Base):
    """The root of two tables; it owns the version."""

    __tablename__ = "item"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(default="")
    kind: Mapped[str] = mapped_column(default="")
    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "item"}


class Book(Item):
    """The child table."""

    __tablename__ = "book"

    id: Mapped[int] = mapped_column(ForeignKey(Item.id), primary_key=True)
    pages: Mapped[int] = mapped_column(default=0)
    __mapper_args__ = {"polymorphic_identity": "book"}


class Voucher(Item):
    """The same table as its parent."""

    amount: Mapped[int | None]
    __mapper_args__ = {"polymorphic_identity": "voucher"}


class Invoice(CasMixin, Base):
    """Columns that the database or the mapping computes, and a JSON that tells of its changes."""

    __tablename__ = "invoice"

    id: Mapped[int] = mapped_column(primary_key=True)
    net: Mapped[int] = mapped_column(default=0)
    tax: Mapped[int] = mapped_column(default=0)
    gross: Mapped[int] = mapped_column(Computed("net + tax", persisted=True))
    touched: Mapped[int] = mapped_column(default=0, onupdate=func.abs(-7))
    stamp: Mapped[str] = mapped_column(default="made", onupdate=lambda: "changed")
    payload: Mapped[dict[str, Any]] = mapped_column(MutableDict.as_mutable(JSON), default=dict)
    memo: Mapped[str] = mapped_column(default="", deferred=True)
    customer_id: Mapped[int | None] = mapped_column(ForeignKey(Customer.id))
    customer: Mapped[Customer | None] = relationship()
    netto: Mapped[int] = synonym("net")
    double: Mapped[int] = column_property(net * 2)  # type: ignore[operator]  # a column at this point


class DataBase(MappedAsDataclass, DeclarativeBase):
    """A base of mapped dataclasses."""

    metadata = Base.metadata


class Point(CasDataclassMixin, DataBase):
    """A mapped dataclass."""

    __tablename__ = "point"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    x: Mapped[int] = mapped_column(default=0)


class Peculiar(RecordVersionMixin, Base):
    """Mapper arguments of its own, which a mixin's would have lost."""

    __tablename__ = "peculiar"
    __mapper_args__ = {"eager_defaults": True}

    id: Mapped[int] = mapped_column(primary_key=True)
    n: Mapped[int] = mapped_column("n%un", default=0)


class Plain(CasVerbsMixin):
    """Mapped imperatively below."""

    cas_version_field = "ver"
    cas_generation_field = "gen"

    def __init__(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, value)


plain_table = Table(
    "plain",
    Base.metadata,
    Column("id", Integer, primary_key=True),
    Column("a version", BigInteger, nullable=False),
    Column("gen", BigInteger, nullable=False, default=0),
    Column("n", Integer, default=0),
    Column("title", String(50), default=""),
)
registry(metadata=Base.metadata).map_imperatively(
    Plain, plain_table, properties={"ver": plain_table.c["a version"]}
)
