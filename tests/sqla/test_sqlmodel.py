"""SQLModel classes, mapped as the guide says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import pytest
from sqlalchemy import BigInteger, inspect
from sqlalchemy.exc import ArgumentError

from cas_orm import Expect, InvalidExpectation, Verdict
from cas_orm_sqla import CasVerbsMixin, delete_if_current, try_update_if_current
from tests.sqla.databases import Engines
from tests.sqla.watching import afresh, loaded, rival, updates, version_of

pytest.importorskip("sqlmodel", reason="sqlmodel is not installed")
from sqlmodel import Field, Session, SQLModel
from sqlmodel.ext.asyncio.session import AsyncSession


class CasFields(CasVerbsMixin, SQLModel):
    """The fields, in a base that is not a table."""

    cas_version_field: ClassVar[str | None] = "record_version"
    cas_generation_field: ClassVar[str | None] = "run_seq"

    record_version: int = Field(default=1, sa_type=BigInteger)
    run_seq: int = Field(default=0, sa_type=BigInteger)


class Hero(CasFields, table=True):
    """One table."""

    __tablename__ = "sqlmodel_hero"

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(default="", max_length=50)
    power: int = 0


class Lair(CasFields, table=True):
    """Another one, with the same base."""

    __tablename__ = "sqlmodel_lair"

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(default="", max_length=50)


class Change(SQLModel):
    """What a client may send."""

    name: str | None = None


@pytest.fixture
def tables(db: Engines) -> Iterator[Engines]:
    mine = [Hero.__table__, Lair.__table__]
    SQLModel.metadata.create_all(db.sync, tables=mine)
    yield db
    SQLModel.metadata.drop_all(db.sync, tables=mine)


@pytest.mark.parametrize("model", [Hero, Lair])
def test_a_save(tables: Engines, model: type[Hero | Lair]) -> None:
    """The changed column and the version; nothing at the next flush; a fresh reader sees the same."""
    assert inspect(model).version_id_col is model.__table__.c.record_version
    with Session(tables.sync, expire_on_commit=False) as session:
        obj = model(name="a")
        session.add(obj)
        session.commit()
        obj.name = "b"
        with updates(tables.sync) as sent:
            assert obj.save_if_current(session, expect=Expect(name="a")).record_version == 2
            session.commit()
        assert sent == [(model.__tablename__, {"name", "record_version"})]
        shown = loaded(obj)
        assert shown == afresh(tables.sync, obj, *shown)
        obj.name = "c"
        session.commit()
        assert version_of(tables.sync, obj) == 3


def test_a_refused_save(tables: Engines) -> None:
    """The object stays as set, and is itself again after a refresh."""
    with Session(tables.sync) as session:
        hero = Hero(name="a")
        session.add(hero)
        session.commit()
        session.refresh(hero)
        session.commit()
        rival(tables.sync, hero, power=3)
        hero.sqlmodel_update(Change(name="b").model_dump(exclude_unset=True))
        assert hero.try_save_if_current(session).verdict is Verdict.STALE
        assert hero.name == "b"
        session.rollback()
        session.refresh(hero)
        assert (hero.name, hero.power) == ("a", 3)
        assert hero.save_if_current(session).record_version == 3


def test_numbers_that_a_client_sends(tables: Engines) -> None:
    """A version in the payload neither survives an insert nor passes a save."""
    with Session(tables.sync) as session:
        hero = Hero.model_validate({"name": "a", "record_version": 77})
        session.add(hero)
        session.commit()
        assert hero.record_version == 1
        hero.sqlmodel_update({"name": "b", "record_version": 77})
        with pytest.raises(InvalidExpectation, match="written by the library alone"):
            hero.save_if_current(session)


def test_by_key(tables: Engines) -> None:
    """Update, hand-over and delete without loading."""
    with Session(tables.sync) as session:
        hero = Hero(name="a")
        session.add(hero)
        session.commit()
        assert hero.new_generation_if_current(session).run_seq == 1
        belief = Expect(run_seq=1, power=0)
        assert try_update_if_current(session, Hero, hero.id, expect=belief, set={"power": Hero.power + 1})
        assert not try_update_if_current(session, Hero, hero.id, expect=belief, set={"power": 9})
        assert delete_if_current(session, Hero, hero.id, expect=Expect(record_version=3))


async def test_the_async_session_of_sqlmodel(tables: Engines) -> None:
    """After a win and after a refusal nothing needs a query."""
    async with AsyncSession(tables.asynchronous, expire_on_commit=False) as session:
        hero = Hero(name="a")
        session.add(hero)
        await session.commit()
        hero.name = "b"
        assert await hero.asave_if_current(session)
        assert hero.model_dump() == {
            "id": hero.id,
            "name": "b",
            "power": 0,
            "record_version": 2,
            "run_seq": 0,
        }
        await session.commit()
        rival(tables.sync, hero)
        hero.name = "c"
        assert not await hero.atry_save_if_current(session)
        assert hero.model_dump() == {
            "id": hero.id,
            "name": "c",
            "power": 0,
            "record_version": 2,
            "run_seq": 0,
        }


def test_a_generation_without_a_version() -> None:
    """Refused when the class is made."""
    with pytest.raises(ArgumentError, match="has a generation but no version"):

        class Half(CasVerbsMixin, SQLModel, table=True):
            __tablename__ = "sqlmodel_half"
            cas_generation_field: ClassVar[str | None] = "run_seq"

            id: int | None = Field(default=None, primary_key=True)
            run_seq: int = Field(default=0, sa_type=BigInteger)
