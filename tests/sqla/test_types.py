"""Columns of every type: what is sent, what is believed, and what the object shows afterwards."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import func, inspect
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from cas_orm import Expect, InvalidExpectation, Verdict, not_one_of, one_of
from tests.sqla.databases import Engines
from tests.sqla.sample import Apart, Color, Counted, Mood, Sample, Virtual
from tests.sqla.watching import afresh, loaded, rival, updates

#: Two values of every attribute that has exact equality in SQL.
EXACT: dict[str, tuple[Any, Any]] = {
    "small": (1, 2),
    "big": (2**40, 2**62),
    "flag": (True, False),
    "text": ("a", "A%b"),
    "blob": (b"\x00a", b"b"),
    "price": (Decimal("1.10"), Decimal("2.25")),
    "day": (dt.date(2030, 1, 2), dt.date(2031, 1, 2)),
    "clock": (dt.time(1, 2, 3), dt.time(4, 5, 6)),
    "span": (dt.timedelta(hours=1), dt.timedelta(days=2)),
    "number": (uuid.UUID(int=1), uuid.UUID(int=2)),
    "native": (Color.RED, Color.BLUE),
    "stored": (Color.RED, Color.BLUE),
    "mood": (Mood.GOOD, Mood.BAD),
    "word": ("yes", "no"),
    "secret": ("abc", "abd"),
    "cost": (Decimal("1.50"), Decimal("2.50")),
}
#: Written like the others, never believed.
INEXACT: dict[str, tuple[Any, Any]] = {
    "ratio": (0.5, 0.25),
    "rough": (0.5, 0.25),
    "share": (0.5, 0.25),
    "data": ({"a": 1}, {"a": 2}),
    "rows": ([1], [1, 2]),
    "parsed": ({"a": [1]}, "plain"),
}
MOMENTS = (dt.datetime(2030, 1, 2, 3, 4, 5, 678, dt.UTC), dt.datetime(2031, 1, 2, tzinfo=dt.UTC))
ALL = EXACT | INEXACT | {"moment": MOMENTS}


def _insert(session: Session, model: type[Any] = Sample, **values: Any) -> Any:
    obj = model(**values)
    session.add(obj)
    session.commit()
    session.refresh(obj)
    return obj


@pytest.mark.parametrize("name", ALL)
def test_a_save_writes_the_one_column(db: Engines, name: str) -> None:
    """Value, then another, then NULL: each time this column and the version, and nothing afterwards."""
    first, second = ALL[name]
    with Session(db.sync, expire_on_commit=False) as session:
        obj = _insert(session, **{name: first})
        for value in (second, None, first):
            setattr(obj, name, value)
            with updates(db.sync) as sent:
                assert obj.save_if_current(session).verdict is Verdict.WON
                assert not session.is_modified(obj)
                session.commit()
            assert sent == [("sample", {name, "record_version"})]
            shown = loaded(obj)
            assert getattr(obj, name) == value
            if name == "moment" and value is not None:  # SQLite reads it without its zone
                shown["moment"] = value.replace(tzinfo=afresh(db.sync, obj, "moment")["moment"].tzinfo)
            assert shown == afresh(db.sync, obj, *shown)


@pytest.mark.parametrize("name", ALL)
def test_a_refused_save_leaves_the_value(db: Engines, name: str) -> None:
    """On the object, and nowhere else."""
    first, second = ALL[name]
    with Session(db.sync, expire_on_commit=False) as session:
        obj = _insert(session, **{name: first})
        rival(db.sync, obj)
        setattr(obj, name, second)
        assert obj.try_save_if_current(session).verdict is Verdict.STALE
        assert getattr(obj, name) == second
        assert inspect(obj).attrs[name].history.has_changes()
        session.refresh(obj)
        assert getattr(obj, name) == afresh(db.sync, obj, name)[name] != second


@pytest.mark.parametrize("name", ALL)
def test_an_update_shows_on_the_object(db: Engines, name: str) -> None:
    """``set`` binds through the type; what the object shows is what a reader sees, and stays guarded."""
    first, second = ALL[name]
    with Session(db.sync, expire_on_commit=False) as session:
        obj = _insert(session, **{name: first})
        with updates(db.sync) as sent:
            obj.update_if_current(session, expect=Expect(record_version=1), set={name: second})
            session.commit()
        assert sent == [("sample", {name, "record_version"})]
        assert getattr(obj, name) == second
        obj.update_if_current(session, expect=Expect(record_version=2), set={name: None})
        session.commit()
        shown = loaded(obj)
        assert shown == afresh(db.sync, obj, *shown)


@pytest.mark.parametrize("name", EXACT)
def test_a_belief_binds_through_the_type(db: Engines, name: str) -> None:
    """The value wins, another one is refused by name; sets and NULL alike."""
    first, second = EXACT[name]
    with Session(db.sync, expire_on_commit=False) as session:
        obj = _insert(session, **{name: first})
        for belief in (first, one_of(second, first), one_of(None, first), not_one_of(second, None)):
            assert obj.try_save_if_current(session, expect=Expect(**{name: belief}))
        for belief in (second, None, one_of(second, None), not_one_of(first)):
            outcome = obj.try_save_if_current(session, expect=Expect(**{name: belief}))
            assert outcome.verdict is Verdict.WRONG_STATE
            assert outcome.actual is not None
            assert outcome.actual[name] == first
            session.refresh(obj)
        assert obj.save_if_current(session, expect=Expect.of(obj, name))
        session.commit()
        rival(db.sync, obj)
        assert obj.try_save_if_current(session, expect=Expect(**{name: first})).verdict is Verdict.STALE


@pytest.mark.parametrize("name", INEXACT)
def test_no_belief_about_what_has_no_equality(db: Engines, name: str) -> None:
    """Floats and JSON, decorated or not; even with an innocent value, even with NULL."""
    with Session(db.sync, expire_on_commit=False) as session:
        obj = _insert(session)
        for belief in (1, "x", None, one_of(1, None)):
            with pytest.raises(InvalidExpectation, match=f"{name}: a .* has no exact equality"):
                obj.save_if_current(session, expect=Expect(**{name: belief}))
        with pytest.raises(InvalidExpectation, match="no exact equality"):
            Expect.of(obj, name)
        assert obj.save_if_current(session)


WRONG: list[tuple[str, Any]] = [
    ("small", "1"),
    ("small", True),
    ("small", Decimal(1)),
    ("big", 2**63),
    ("flag", 1),
    ("text", 0),
    ("text", Color.RED),
    ("blob", "a"),
    ("price", "1.10"),
    ("price", True),
    ("day", "2030-01-02"),
    ("clock", "01:02:03"),
    ("span", 3600),
    ("moment", dt.date(2030, 1, 2)),
    ("moment", "2030-01-02"),
    ("number", str(uuid.UUID(int=1))),
    ("native", "RED"),
    ("native", "r"),
    ("native", Mood.GOOD),
    ("stored", "r"),
    ("mood", "GOOD"),
    ("word", "maybe"),
    ("word", 1),
    ("secret", func.lower("A")),
]


@pytest.mark.parametrize(
    ("name", "value"), WRONG, ids=[f"{n}-{type(v).__name__}{i}" for i, (n, v) in enumerate(WRONG)]
)
def test_no_belief_of_another_type(db: Engines, name: str, value: Any) -> None:
    """What the database would coerce, or never find, is refused before any SQL; alone and in a set."""
    with Session(db.sync) as session:
        obj = _insert(session)
        for belief in (value, one_of(value, None)):
            with pytest.raises(InvalidExpectation, match=name):
                obj.save_if_current(session, expect=Expect(**{name: belief}))
        assert obj.save_if_current(session)


def test_a_text_that_is_a_member(db: Engines) -> None:
    """A text equals a member of its StrEnum, and is compared as that member; a member is a text elsewhere."""
    with Session(db.sync) as session:
        obj = _insert(session, mood=Mood.GOOD, text="good")
        assert obj.save_if_current(session, expect=Expect(mood="good"))
        assert obj.save_if_current(session, expect=Expect(text=Mood.GOOD))
        travelled = Expect.from_json(Expect(mood=Mood.GOOD).to_json())
        assert obj.save_if_current(session, expect=travelled)
        session.commit()
        rival(db.sync, obj)
        assert obj.try_save_if_current(session, expect=Expect(mood="good")).verdict is Verdict.STALE


def test_a_datetime_as_read(db: Engines) -> None:
    """Only what was read from the row can be compared, with its zone where the database keeps one."""
    with Session(db.sync) as session:
        obj = _insert(session, moment=MOMENTS[0])
        belief = Expect.of(obj, "moment")
        assert obj.save_if_current(session, expect=belief)
        with pytest.raises(InvalidExpectation, match="moment"):
            Expect(moment=MOMENTS[0])
        with pytest.raises(InvalidExpectation, match="day"):
            obj.save_if_current(session, expect=Expect.read(2, 0, {"day": MOMENTS[0]}))
        session.commit()
        rival(db.sync, obj, moment=MOMENTS[1])
        assert obj.try_save_if_current(session, expect=belief).verdict is Verdict.WRONG_STATE


def test_a_change_in_place(db: Engines) -> None:
    """Mutable values tell of it, also those that came by ``set`` or by RETURNING."""
    with Session(db.sync, expire_on_commit=False) as session:
        obj = _insert(session, data={"n": 0}, rows=[0])
        obj.data["n"] = 1
        obj.save_if_current(session)
        obj.update_if_current(session, expect=Expect(record_version=2), set={"data": {"n": 2}, "rows": [1]})
        obj.data["n"] = 3
        obj.rows.append(2)
        assert session.is_modified(obj)
        with updates(db.sync) as sent:
            obj.save_if_current(session)
            session.commit()
        assert sent == [("sample", {"data", "rows", "record_version"})]
        assert afresh(db.sync, obj, "data", "rows") == {"data": {"n": 3}, "rows": [1, 2]}
        obj.data["n"] = 4
        rival(db.sync, obj)
        assert obj.try_save_if_current(session).verdict is Verdict.STALE
        assert obj.data == {"n": 4}


def test_expressions(db: Engines) -> None:
    """In ``set`` and as assigned attributes: the object shows what the database made of them."""
    with Session(db.sync, expire_on_commit=False) as session:
        obj = _insert(session, small=4, text="a", price=Decimal("1.50"), cost=Decimal("1.50"))
        obj.update_if_current(
            session,
            expect=Expect(small=4),
            set={
                "small": Sample.small + 1,
                "text": func.upper(Sample.text),
                "price": Sample.price * 2,
                "cost": Sample.cost,
                "flag": True,
            },
        )
        shown = {name: getattr(obj, name) for name in ("small", "text", "price", "cost", "flag")}
        assert shown == {"small": 5, "text": "A", "price": Decimal(3), "cost": Decimal("1.50"), "flag": True}
        obj.small = Sample.small + 10
        obj.text = "b"
        obj.save_if_current(session)
        assert (obj.small, obj.text, obj.record_version) == (15, "b", 3)
        session.commit()
        with updates(db.sync) as sent:
            session.flush()
        assert sent == []


def test_what_an_update_changes_by_itself(db: Engines) -> None:
    """onupdate, a trigger, computed columns: the object shows them as a fresh reader sees them."""
    with Session(db.sync, expire_on_commit=False) as session:
        obj = _insert(session, Counted)
        shown = ("n", "stored", "stamp", "lower", "fired", "double", "record_version")
        for n in (5, 6):
            obj.n = n
            with updates(db.sync) as sent:
                obj.save_if_current(session)
                session.commit()
            assert sent == [("counted", {"n", "stamp", "lower", "record_version"})]
            assert {name: getattr(obj, name) for name in shown} == afresh(db.sync, obj, *shown)
        assert (obj.stored, obj.stamp, obj.lower, obj.fired, obj.double) == (7, "changed", "changed", 2, 12)
        obj.stamp = "mine"
        obj.save_if_current(session)
        assert (obj.stamp, obj.fired) == ("mine", 3)


@pytest.mark.parametrize("name", ["stored", "double"])
def test_what_is_computed_is_not_written(db: Engines, name: str) -> None:
    """A clear refusal, by ``set`` and by ``update_fields``; a stored one can be believed."""
    with Session(db.sync) as session:
        obj = _insert(session, Counted)
        for call in (
            lambda: obj.update_if_current(session, expect=Expect(n=0), set={name: 1}),
            lambda: obj.save_if_current(session, update_fields=[name]),
        ):
            with pytest.raises(InvalidExpectation, match=f"{name} is computed"):
                call()
        assert obj.save_if_current(session, expect=Expect(stored=1))
        with pytest.raises(InvalidExpectation, match="double is computed by an expression"):
            obj.save_if_current(session, expect=Expect(double=0))


def test_a_virtual_column(db: Engines) -> None:
    """Computed at every read, in step after a save; believed like any other."""
    if db.sync.dialect.name == "postgresql":
        with db.sync.connect() as connection:
            if connection.dialect.server_version_info < (18,):
                pytest.skip("PostgreSQL has virtual columns since 18")
    Apart.metadata.create_all(db.sync)
    try:
        with Session(db.sync, expire_on_commit=False) as session:
            obj = _insert(session, Virtual)
            obj.n = 4
            obj.save_if_current(session, expect=Expect(more=1))
            assert (obj.more, obj.record_version) == (5, 2)
            assert obj.try_save_if_current(session, expect=Expect(more=1)).verdict is Verdict.WRONG_STATE
    finally:
        Apart.metadata.drop_all(db.sync)


async def test_no_io_after_an_async_verb(db: Engines) -> None:
    """What is loaded is shown without a query; what only the database knows is expired."""
    async with AsyncSession(db.asynchronous, expire_on_commit=False) as session:
        for model, change in ((Sample, {"small": 3}), (Counted, {"n": 3})):
            obj = model()
            session.add(obj)
            await session.commit()
            await session.refresh(obj)
            names = set(loaded(obj))
            for name, value in change.items():
                setattr(obj, name, value)
            assert await obj.asave_if_current(session)
            still = names & set(loaded(obj))
            assert {"record_version", *change} <= still
            if db.sync.dialect.update_returning:  # only what a trigger of SQLite does is not handed back
                assert names - still <= {"fired"}
            await session.commit()
            assert {n: getattr(obj, n) for n in still} == afresh(db.sync, obj, *still)
            column = getattr(model, *change)
            assert await obj.aupdate_if_current(
                session, expect=Expect(record_version=2), set={next(iter(change)): column + 4}
            )
            still = names & set(loaded(obj))
            assert "record_version" in still
            await session.commit()
            assert {n: getattr(obj, n) for n in still} == afresh(db.sync, obj, *still)
            await session.refresh(obj)
            assert {n: getattr(obj, n) for n in names} == afresh(db.sync, obj, *names)
            await session.commit()
            rival(db.sync, obj)
            for name, value in change.items():
                setattr(obj, name, value)
            assert not await obj.atry_save_if_current(session)
            shown = {n: getattr(obj, n) for n in names}
            assert change.items() <= shown.items()
            await session.rollback()
