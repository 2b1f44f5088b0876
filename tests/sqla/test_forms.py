"""Every way to map a class: one bump, the changed columns, a guarded flush and delete, a belief."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import inspect
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from cas_orm import Expect, InvalidExpectation, Verdict
from cas_orm_sqla import delete_if_current, try_update_if_current
from tests.sqla.databases import Engines
from tests.sqla.forms import (
    Attributed,
    Castle,
    Keyless,
    Letter,
    Own,
    Paper,
    Spaced,
    Tower,
    Whole,
    Worker,
)
from tests.sqla.watching import afresh, loaded, rival, updates, version_of

#: How each is made, what is changed, and which columns that assigns in which table.
FORMS: dict[type[Any], tuple[dict[str, Any], dict[str, Any], list[tuple[str, set[str]]]]] = {
    Spaced: ({}, {"a % b": "x", "c.d": 7}, [("spaced %table", {"a % b", "c.d[e]", "rec ver%"})]),
    Keyless: ({"number": 7}, {"title": "x"}, [("keyless", {"title", "ver"})]),
    Own: ({}, {"title": "x"}, [("own", {"title", "edition"})]),
    Tower: ({"x": 1, "y": 2}, {"title": "x"}, [("tile", {"title", "record_version"})]),
    Castle: (
        {"x": 1, "y": 2},
        {"height": 3, "gates": 4},
        [("tile", {"record_version"}), ("tower", {"height"}), ("castle", {"gates"})],
    ),
    Worker: ({}, {"name": "x", "wage": 3}, [("worker", {"wage", "record_version"}), ("person", {"name"})]),
    Paper: ({}, {"title": "x"}, [("paper", {"title", "record_version"})]),
    Letter: ({}, {"title": "x"}, [("letter", {"title", "record_version"})]),
    Whole: ({}, {"size": 7}, [("whole", {"size", "record_version", "write_token"})]),
    Attributed: ({}, {"title": "x"}, [("attributed", {"title", "ver"})]),
}


def _insert(session: Session, model: type[Any], **more: Any) -> Any:
    obj = model()
    for name, value in (FORMS.get(model, ({},))[0] | more).items():
        setattr(obj, name, value)
    session.add(obj)
    session.commit()
    session.refresh(obj)
    return obj


def _change(obj: Any) -> dict[str, Any]:
    change = FORMS[type(obj)][1]
    for name, value in change.items():
        setattr(obj, name, value)
    return change


@pytest.mark.parametrize("model", FORMS)
def test_a_save_writes_what_changed(db: Engines, model: type[Any]) -> None:
    """The version's table first, then the tables with changes, and no second time at the next flush."""
    with Session(db.sync, expire_on_commit=False) as session:
        obj = _insert(session, model)
        _change(obj)
        with updates(db.sync) as sent:
            assert obj.save_if_current(session).record_version == 2
            assert not session.is_modified(obj)
            session.commit()
        assert sent == FORMS[model][2]
        shown = loaded(obj)
        assert shown == afresh(db.sync, obj, *shown)
        assert version_of(db.sync, obj) == 2


@pytest.mark.parametrize("model", FORMS)
def test_a_refused_save_leaves_all_as_set(db: Engines, model: type[Any]) -> None:
    """The object as the user left it, the row as the rival left it, in every table."""
    with Session(db.sync, expire_on_commit=False) as session:
        obj = _insert(session, model)
        rival(db.sync, obj)
        change = _change(obj)
        before = afresh(db.sync, obj, *change)
        outcome = obj.try_save_if_current(session)
        assert outcome.verdict is Verdict.STALE
        assert {name: getattr(obj, name) for name in change} == change
        assert afresh(db.sync, obj, *change) == before
        session.rollback()  # MariaDB shows this transaction the old row for ever
        session.refresh(obj)
        _change(obj)
        assert obj.save_if_current(session).record_version == 3


@pytest.mark.parametrize("model", FORMS)
def test_the_flush_is_guarded(db: Engines, model: type[Any]) -> None:
    """A plain flush bumps, and a stale one is refused."""
    with Session(db.sync, expire_on_commit=False) as session:
        obj = _insert(session, model)
        _change(obj)
        session.commit()
        assert version_of(db.sync, obj) == 2
        assert obj.save_if_current(session).record_version == 3
        session.commit()
        rival(db.sync, obj)
        name, value = next(iter(FORMS[model][1].items()))
        setattr(obj, name, value * 2)
        with pytest.raises(StaleDataError):
            session.flush()
        session.rollback()
        assert version_of(db.sync, obj) == 4


@pytest.mark.parametrize("model", FORMS)
def test_only_the_named_row(db: Engines, model: type[Any]) -> None:
    """A neighbour with the same version stays as it is, whatever the verb."""
    other = {"number": 8} if model is Keyless else {"x": 2, "y": 1} if "x" in FORMS[model][0] else {}
    with Session(db.sync, expire_on_commit=False) as session:
        neighbour, obj = _insert(session, model, **other), _insert(session, model)
        shown = loaded(neighbour)
        key = inspect(obj).identity
        change = _change(obj)
        obj.save_if_current(session)
        name, value = next(iter(change.items()))
        obj.update_if_current(session, expect=Expect(record_version=2), set={name: value * 2})
        outcome = try_update_if_current(
            session, model, key, expect=Expect(record_version=3), set={name: value * 3}
        )
        assert outcome.record_version == 4
        session.refresh(obj)
        assert getattr(obj, name) == value * 3
        delete_if_current(session, model, key, expect=Expect(record_version=4))
        session.commit()
        assert afresh(db.sync, neighbour, *shown) == shown
        assert neighbour.delete_if_current(session)
        session.commit()
        session.expunge_all()
        assert session.query(model).count() == 0


@pytest.mark.parametrize("model", FORMS)
def test_a_belief_names_attributes(db: Engines, model: type[Any]) -> None:
    """Columns of the version's table by their attribute names; those of another table are refused."""
    change = FORMS[model][1]
    owner = inspect(model).version_id_col.table
    with Session(db.sync, expire_on_commit=False) as session:
        for name, value in change.items():
            obj = _insert(session, model)
            before = getattr(obj, name)
            if any(c.table is owner for c in inspect(model).attrs[name].columns):
                assert obj.try_save_if_current(session, expect=Expect(**{name: before}))
                outcome = obj.try_save_if_current(session, expect=Expect(**{name: value}))
                assert outcome.verdict is Verdict.WRONG_STATE
                assert outcome.actual == {**outcome.actual, name: before}
            else:
                with pytest.raises(InvalidExpectation, match=f"{name} is a column of another table"):
                    obj.save_if_current(session, expect=Expect(**{name: before}))
            session.rollback()
            session.delete(session.get(model, inspect(obj).identity))
            session.commit()


@pytest.mark.parametrize("model", FORMS)
async def test_no_io_after_an_async_verb(db: Engines, model: type[Any]) -> None:
    """What was loaded is readable after a win and after a refusal."""
    async with AsyncSession(db.asynchronous, expire_on_commit=False) as session:
        obj = model()
        for name, value in FORMS[model][0].items():
            setattr(obj, name, value)
        session.add(obj)
        await session.commit()
        await session.refresh(obj)
        names = set(loaded(obj))
        _change(obj)
        assert await obj.asave_if_current(session)
        after = {name: getattr(obj, name) for name in names}
        await session.commit()
        assert after == afresh(db.sync, obj, *names)
        rival(db.sync, obj)
        _change(obj)
        assert not await obj.atry_save_if_current(session)
        assert FORMS[model][1].items() <= {name: getattr(obj, name) for name in names}.items()
        await session.rollback()
