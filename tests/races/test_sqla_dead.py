"""A SQLAlchemy session whose transaction the engine has taken back: what it may still do."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import inspect
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from cas_orm import CasError, TransientConflict
from tests.contract.adapters.base import Api
from tests.races.on import on
from tests.races.stage import Stage
from tests.sqla.shop import Doc, Order

DEAD = ("postgres_rr", "postgres_serializable", "mariadb_snapshot")


async def write_and_lose(api: Api, held: Any) -> BaseException:
    """Write a first half, and let the guarded write be refused by the engine."""

    def first_half(session: Session) -> None:
        session.add(Doc(title="first half"))
        session.flush()

    await api.hop(first_half)
    held.title = "late"
    with pytest.raises(TransientConflict) as caught:
        await api.save_if_current(held)
    assert caught.value.transaction == "dead"
    return caught.value


def lost(stage: Stage) -> Any:
    """Return the key of an order that the late one has written too late, in a transaction of its own."""
    key = stage.insert(Order, title="a")
    stage.late.begin()
    winner, held = stage.held(Order, key)
    winner.title = "first"
    assert stage.early.do(stage.early.api.save_if_current, winner)
    stage.late.do(write_and_lose, stage.late.api, held)
    return key


def titles(session: Session) -> list[str]:
    """Return the titles that are there."""
    session.rollback()
    return [doc.title for doc in session.query(Doc)]


@on(*DEAD)
def test_the_second_half_is_never_committed_alone(sqla: Stage) -> None:
    """Whoever swallows the refusal and goes on without a rollback commits nothing."""
    lost(sqla)

    def second_half(session: Session) -> None:
        session.expunge_all()  # or the flush of the refused object would fail by itself
        session.add(Doc(title="second half"))
        session.commit()

    error = sqla.late.fails(sqla.late.api.hop, second_half)
    assert sqla.early.do(sqla.early.api.hop, titles) == []
    assert isinstance(error, CasError | SQLAlchemyError)
    sqla.late.give_up()


@on(*DEAD)
def test_after_a_rollback_the_session_goes_on(sqla: Stage) -> None:
    """The accepted twin: rolled back, the same session reads, writes and commits."""
    key = lost(sqla)
    late = sqla.late
    late.rollback()

    def again(session: Session) -> None:
        session.add(Doc(title="again"))
        session.get_one(Order, key, populate_existing=True).title = "again"
        session.commit()

    late.do(late.api.hop, again)
    assert sqla.row(Order, key)["title"] == "again"
    assert sqla.early.do(sqla.early.api.hop, titles) == ["again"]


@on("postgres")
def test_in_autocommit_a_refusal_takes_nothing_from_the_object(sqla: Stage) -> None:
    """There is no transaction that could be dead: the change stays as set, and the next attempt wins."""
    early, late = sqla.pair
    key = sqla.insert(Order, title="a")
    winner, held = sqla.held(Order, key)
    early.begin()
    early.do(early.api.save_if_current, winner)
    late.ask("SET lock_timeout = '50ms'")
    held.title = "mine"
    assert isinstance(late.fails(late.api.save_if_current, held), TransientConflict)
    early.rollback()
    assert inspect(held).dict.get("title") == "mine"  # nothing is loaded for this look
    assert late.do(late.api.save_if_current, held)
    assert sqla.row(Order, key)["title"] == "mine"
