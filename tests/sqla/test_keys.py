"""A key is a value of each of its columns' own types: nothing is left to the database to coerce."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import uuid
from typing import Any

import pytest
from sqlalchemy import VARBINARY, LargeBinary, Numeric
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from cas_orm import Expect, InvalidExpectation, Verdict
from cas_orm_sqla import (
    RecordVersionMixin,
    try_delete_if_current,
    try_finish_if_current,
    try_update_if_current,
)
from cas_orm_sqla.types import State
from tests.sqla.databases import Engines
from tests.sqla.shop import Base, Job, Order, Parcel, Seat, Slot


class OwnBase(DeclarativeBase):
    """A registry apart, on the same tables' metadata."""

    metadata = Base.metadata


class Color(enum.Enum):
    """A key that is one of a few."""

    RED = "r"


#: MariaDB has no keys of BLOBs.
Binary = VARBINARY(16).with_variant(LargeBinary(16), "postgresql")


class Keyed(RecordVersionMixin, OwnBase):
    """One column of each other kind in its key."""

    __tablename__ = "keyed"

    state: Mapped[str] = mapped_column(State(20), primary_key=True)
    day: Mapped[dt.date] = mapped_column(primary_key=True)
    price: Mapped[decimal.Decimal] = mapped_column(Numeric(8, 2), primary_key=True)
    raw: Mapped[bytes] = mapped_column(Binary, primary_key=True)
    color: Mapped[Color] = mapped_column(primary_key=True)
    n: Mapped[int] = mapped_column(default=0)


WHOLE = ("abc", dt.date(2024, 2, 3), decimal.Decimal("1.50"), b"x", Color.RED)
UUID = uuid.UUID(int=7)

WRONG: list[tuple[type[Any], Any]] = [
    (Order, "1"),
    (Order, 1.0),
    (Order, True),
    (Order, 2**64),
    (Order, (1, 2)),
    (Order, ()),
    (Order, None),
    (Order, Order.id),
    (Slot, 0),
    (Slot, b"abc"),
    (Slot, None),
    (Parcel, str(UUID)),
    (Parcel, UUID.hex),
    (Parcel, 7),
    (Seat, "A"),
    (Seat, ("A",)),
    (Seat, (0, 1)),
    (Seat, ("A", "1")),
    (Seat, (None, 1)),
    *((Keyed, (*WHOLE[:i], wrong, *WHOLE[i + 1 :])) for i, wrong in enumerate((0, "2024", "1.5", 0, 1))),
    (Keyed, (WHOLE[0], dt.datetime(2024, 2, 3), *WHOLE[2:])),
]
WRITES: dict[str, Any] = {
    "update": lambda s, m, k: try_update_if_current(s, m, k, expect=Expect(record_version=1), set={}),
    "delete": lambda s, m, k: try_delete_if_current(s, m, k, expect=Expect(record_version=1)),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize(("model", "key"), WRONG)
def test_a_key_of_another_type_is_refused(model: type[Any], key: object, write: str) -> None:
    """Before any SQL: the session is bound to nothing."""
    with Session() as session, pytest.raises(InvalidExpectation):
        WRITES[write](session, model, key)


@pytest.mark.parametrize("write", WRITES)
def test_a_key_of_its_own_type_is_accepted(db: Engines, write: str) -> None:
    """The accepted twins, one of each kind; a list is as good as a tuple."""
    rows: list[tuple[Any, Any]] = [
        (Slot(code="abc"), "abc"),
        (Parcel(id=UUID), UUID),
        (Seat(row="A", number=1), ["A", 1]),
        (Keyed(**dict(zip(("state", "day", "price", "raw", "color"), WHOLE, strict=True))), WHOLE),
    ]
    with Session(db.sync) as session:
        session.add_all([row for row, _ in rows])
        session.commit()
        for row, key in rows:
            outcome = WRITES[write](session, type(row), key)
            assert outcome.verdict is Verdict.WON, (key, outcome)
        session.rollback()


def test_a_number_for_a_text_touches_nothing(db: Engines) -> None:
    """MariaDB finds 'abc' equal to 0: neither as a key nor as a belief may it get there."""
    with Session(db.sync) as session:
        slot, job = Slot(code="abc"), Job(state="running")
        session.add_all([slot, job])
        session.commit()
        with pytest.raises(InvalidExpectation):
            try_update_if_current(session, Slot, 0, expect=Expect(label=""), set={"label": "x"})
        with pytest.raises(InvalidExpectation):
            job.try_update_if_current(session, expect=Expect(state=0), set={"name": "x"})
        with pytest.raises(InvalidExpectation):
            try_finish_if_current(session, Job, str(job.id), "done", "", expect=Expect(run_seq=0))
        assert (slot.record_version, job.record_version) == (1, 1)
        session.rollback()


def test_state_columns_take_their_own_type_only() -> None:
    """A type that only chooses its column is looked through; one with values of its own is not judged."""
    from cas_orm_sqla.kinds import typed

    assert typed(State(20), "running") == "running"
    with pytest.raises(ValueError, match="takes str"):
        typed(State(20), 0)
