"""SQLAlchemy: two sessions, one row, a barrier; what a refused verb and a refused flush leave behind."""

from __future__ import annotations

from threading import Barrier
from typing import Any

import pytest
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from cas_orm import ErrRecordVersionConflict, Outcome, Verdict
from tests.contract.adapters.base import Api
from tests.races.actors_sqla import SqlaActor
from tests.races.on import on
from tests.races.stage import Stage
from tests.sqla.shop import Doc, Order

DOORS = ("postgres", "mariadb", "mariadb_rr", "sqlite")


async def write(
    api: Api, order: Any, how: str, who: int, barrier: Barrier
) -> Outcome | StaleDataError | None:
    """Write when the other is about to; the winner commits at once, so that nobody waits for long."""
    order.n = who
    barrier.wait(30)
    if how == "verb":
        outcome = await api.try_save_if_current(order)
        if outcome:
            await api.hop(Session.commit)
        return outcome
    try:
        await api.plain_save(order)
        await api.hop(Session.commit)
    except StaleDataError as error:
        return error
    return None


def race(stage: Stage, hows: tuple[str, str], mode: str) -> tuple[Any, list[Any], list[Any], int]:
    """Return the key, what each holds, how it ended for each, and which one lost."""
    key = stage.insert(Order, title="a")
    if mode == "transaction":
        for actor in stage.pair:
            actor.begin()
    held, barrier = stage.held(Order, key), Barrier(2)
    racing = [
        actor.start(write, actor.api, held[n], hows[n], n + 1, barrier) for n, actor in enumerate(stage.pair)
    ]
    ends = [running.result(30) for running in racing]
    lost = [isinstance(end, StaleDataError) or (end is not None and not end) for end in ends]
    assert sorted(lost) == [False, True]
    return key, held, ends, lost.index(True)


@pytest.mark.parametrize("mode", ["autocommit", "transaction"])
@pytest.mark.parametrize("hows", [("verb", "verb"), ("verb", "flush"), ("flush", "flush")], ids="-".join)
@on(*DOORS)
def test_one_of_two_wins_and_the_other_goes_on(
    sqla: Stage, sqla_door: str, hows: tuple[str, str], mode: str
) -> None:
    """The row is the winner's; the loser's session is as its way of writing promises, and heals."""
    if mode == "transaction" and sqla_door == "sqlite":
        pytest.skip("two transactions cannot both have read and write on SQLite")
    for _ in range(4):
        key, held, ends, loser = race(sqla, hows, mode)
        actor, order = sqla.pair[loser], held[loser]
        assert isinstance(actor, SqlaActor)
        row = sqla.row(Order, key)
        assert (row["n"], row["record_version"]) == (2 - loser, 2)
        if hows[loser] == "verb":
            refused_verb(actor, order, ends[loser], loser + 1)
        else:
            actor.do(actor.api.hop, Session.rollback)
        actor.do(heal, actor.api, order)
        assert sqla.row(Order, key)["n"] == 9
        for one in sqla.pair:
            if one._exit is not None:
                one.rollback()


def refused_verb(actor: SqlaActor, order: Any, outcome: Outcome, who: int) -> None:
    """Nothing was taken from the object, nothing is loaded behind its back, and every flush says no."""
    assert outcome.verdict is Verdict.STALE
    assert (order.n, order.title, order.record_version) == (who, "a", 1)  # read outside of any greenlet
    assert actor.session.is_active
    for step in (Session.flush, Session.commit, lambda session: session.query(Doc).all()):
        error = actor.fails(actor.api.hop, step)
        assert isinstance(error, ErrRecordVersionConflict)
        assert error.fenced
    assert (order.n, order.record_version) == (who, 1)


async def heal(api: Api, order: Any) -> None:
    """Read the row as it is now, under a lock where a snapshot is older; write it, commit."""
    await api.hop(lambda session: session.refresh(order, with_for_update=True))
    order.n = 9
    assert (await api.save_if_current(order)).record_version == 3
    await api.hop(Session.commit)
