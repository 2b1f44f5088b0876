"""A class with one attribute of each column type, and those that the database or the mapping computes."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    DDL,
    JSON,
    BigInteger,
    Computed,
    Date,
    Enum,
    FetchedValue,
    Float,
    Identity,
    Integer,
    Interval,
    LargeBinary,
    Numeric,
    Sequence,
    SmallInteger,
    String,
    Time,
    Uuid,
    event,
    func,
)
from sqlalchemy.ext.mutable import MutableDict, MutableList
from sqlalchemy.orm import DeclarativeBase, Mapped, column_property, mapped_column
from sqlalchemy.types import TypeDecorator

from cas_orm_sqla import CasMixin, RecordVersionMixin
from tests.sqla.shop import Base, Moment


class Color(enum.Enum):
    """Its values differ from its names."""

    RED = "r"
    BLUE = "b"


class Mood(enum.StrEnum):
    """Its members are texts."""

    GOOD = "good"
    BAD = "bad"


class Backwards(TypeDecorator[str]):
    """A text that is stored backwards."""

    impl = String(50)
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        return None if value is None else value[::-1]

    def process_result_value(self, value: str | None, dialect: Any) -> str | None:
        return None if value is None else value[::-1]


class Cents(TypeDecorator[Decimal]):
    """An amount that is stored as an integer."""

    impl = Integer
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Any) -> int | None:
        return None if value is None else int(value * 100)

    def process_result_value(self, value: int | None, dialect: Any) -> Decimal | None:
        return None if value is None else Decimal(value) / 100


class Percent(TypeDecorator[float]):
    """Behind the decoration there is a float."""

    impl = Float
    cache_ok = True


class Parsed(TypeDecorator[Any]):
    """Behind the decoration there is a JSON."""

    impl = JSON
    cache_ok = True


class Sample(CasMixin, Base):
    """One attribute of each type."""

    __tablename__ = "sample"

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    small: Mapped[int | None] = mapped_column(SmallInteger)
    big: Mapped[int | None] = mapped_column(BigInteger)
    flag: Mapped[bool | None]
    text: Mapped[str | None]
    blob: Mapped[bytes | None] = mapped_column(LargeBinary)
    price: Mapped[Decimal | None] = mapped_column(Numeric(10, 2))
    day: Mapped[dt.date | None] = mapped_column(Date)
    clock: Mapped[dt.time | None] = mapped_column(Time)
    span: Mapped[dt.timedelta | None] = mapped_column(Interval)
    moment: Mapped[dt.datetime | None] = mapped_column(Moment)
    number: Mapped[uuid.UUID | None] = mapped_column(Uuid)
    native: Mapped[Color | None] = mapped_column(Enum(Color, name="sample_native"))
    stored: Mapped[Color | None] = mapped_column(
        Enum(Color, name="sample_stored", native_enum=False, values_callable=lambda e: [m.value for m in e])
    )
    mood: Mapped[Mood | None] = mapped_column(Enum(Mood, name="sample_mood"))
    word: Mapped[str | None] = mapped_column(Enum("yes", "no", name="sample_word"))
    secret: Mapped[str | None] = mapped_column(Backwards)
    cost: Mapped[Decimal | None] = mapped_column(Cents)
    ratio: Mapped[float | None]
    rough: Mapped[Any] = mapped_column(Numeric(10, 2, asdecimal=False), nullable=True)
    share: Mapped[float | None] = mapped_column(Percent)
    data: Mapped[dict[str, Any] | None] = mapped_column(MutableDict.as_mutable(JSON(none_as_null=True)))
    rows: Mapped[list[Any] | None] = mapped_column(MutableList.as_mutable(JSON(none_as_null=True)))
    parsed: Mapped[Any] = mapped_column(Parsed(none_as_null=True), nullable=True)
    half: Mapped[int | None] = column_property(small / 2)  # type: ignore[operator]


class Counted(RecordVersionMixin, Base):
    """A key from a sequence, where there are sequences; and what an UPDATE changes by itself."""

    __tablename__ = "counted"

    id: Mapped[int] = mapped_column(Sequence("counted_id_seq"), primary_key=True)
    n: Mapped[int] = mapped_column(default=0)
    stored: Mapped[int] = mapped_column(Computed("n + 1", persisted=True))
    stamp: Mapped[str] = mapped_column(default="made", onupdate=lambda: "changed")
    lower: Mapped[str] = mapped_column(default="MADE", onupdate=func.lower("CHANGED"))
    fired: Mapped[int] = mapped_column(server_default="0", server_onupdate=FetchedValue())
    double: Mapped[int] = column_property(n * 2)  # type: ignore[operator]  # a column at this point


event.listen(
    Counted.__table__,
    "after_create",
    DDL(
        "CREATE TRIGGER counted_fired AFTER UPDATE ON counted WHEN NEW.fired = OLD.fired BEGIN "
        "UPDATE counted SET fired = OLD.fired + 1 WHERE id = OLD.id; END"
    ).execute_if(dialect="sqlite"),
)
event.listen(
    Counted.__table__,
    "after_create",
    DDL(
        "CREATE FUNCTION counted_fired() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "NEW.fired := OLD.fired + 1; RETURN NEW; END $$"
    ).execute_if(dialect="postgresql"),
)
event.listen(
    Counted.__table__,
    "after_create",
    DDL(
        "CREATE TRIGGER counted_fired BEFORE UPDATE ON counted FOR EACH ROW EXECUTE FUNCTION counted_fired()"
    ).execute_if(dialect="postgresql"),
)
event.listen(
    Counted.__table__,
    "after_create",
    DDL(
        "CREATE TRIGGER counted_fired BEFORE UPDATE ON counted FOR EACH ROW SET NEW.fired = OLD.fired + 1"
    ).execute_if(dialect=("mysql", "mariadb")),
)


class Apart(DeclarativeBase):
    """Tables that not every database can have; a test makes and drops them."""


class Virtual(RecordVersionMixin, Apart):
    """A column that is computed at every read."""

    __tablename__ = "virtual"

    id: Mapped[int] = mapped_column(primary_key=True)
    n: Mapped[int] = mapped_column(default=0)
    more: Mapped[int] = mapped_column(Computed("n + 1", persisted=False))
