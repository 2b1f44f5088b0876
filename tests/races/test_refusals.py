"""Deadlocks, lock time limits, vetoes: the engine refuses, object and transaction stay truthful."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connections
from sqlalchemy import select

from cas_orm import ConflictError, Expect, Outcome, TransientConflict, Verdict
from tests.contract.adapters.base import Api
from tests.contract.adapters.sqla import SqlaApi
from tests.django.shop.models import Order
from tests.races.on import SERVERS, on
from tests.races.stage import Stage
from tests.races.test_isolation import save_titled


def deadlock(stage: Stage, keys: list[Any]) -> tuple[list[list[Any]], list[Any], int]:
    """Let both write the rows in opposite order; return what they hold, the errors, the victim."""
    model = stage.models.Order
    for actor in stage.pair:
        actor.begin()
    held = [[actor.do(actor.api.load, model, key) for key in keys] for actor in stage.pair]
    for n, actor in enumerate(stage.pair):
        actor.do(actor.api.insert, stage.models.Doc, title=f"before {n}")
        assert actor.do(save_titled, actor.api, held[n][n], f"actor {n}")
    waiting = stage.early.blocks(save_titled, stage.early.api, held[0][1], "actor 0")
    other = stage.late.start(save_titled, stage.late.api, held[1][0], "actor 1")
    errors = [waiting.exception(30), other.exception(30)]
    return held, errors, 0 if errors[0] else 1


@on("postgres", "mariadb", "mariadb_rr")
def test_deadlock_by_opposite_order(stage: Stage) -> None:
    """One is sacrificed, told so, and its transaction is dead as a whole; the other wins both rows."""
    model = stage.models.Order
    keys = [stage.insert(model, title="a") for _ in range(2)]
    _, errors, loser = deadlock(stage, keys)
    victim, winner = stage.pair[loser], stage.pair[1 - loser]
    assert sorted(type(e).__name__ for e in errors) == ["NoneType", "TransientConflict"]
    assert errors[loser].transaction == "dead"
    assert victim.do(victim.knows_that_it_is_over)
    victim.rollback()
    winner.commit()
    assert [stage.row(model, key)["title"] for key in keys] == [f"actor {1 - loser}"] * 2
    assert stage.witness.do(titles, stage.witness.api) == [f"before {1 - loser}"]


async def titles(api: Api) -> list[str]:
    """Return the titles of all documents."""

    def of_sqla(session: Any) -> list[str]:
        return list(session.scalars(select(api.models.Doc.title)))

    if isinstance(api, SqlaApi):
        return list(await api.hop(of_sqla))
    return list(await api.hop(lambda: [doc.title for doc in api.models.Doc.objects.all()]))


@on("postgres", "mariadb")
def test_the_victim_of_a_deadlock_heals(stage: Stage) -> None:
    """After the rollback the victim's objects are as before its transaction: a reload and a retry win."""
    keys = [stage.insert(stage.models.Order, title="a") for _ in range(2)]
    held, _, loser = deadlock(stage, keys)
    victim = stage.pair[loser]
    victim.rollback()
    stage.pair[1 - loser].rollback()
    for order in held[loser]:
        victim.do(victim.api.reload, order)
        assert victim.do(save_titled, victim.api, order, "retried").record_version == 2


@pytest.mark.parametrize("mode", ["autocommit", "transaction"])
@on(*SERVERS)
def test_lock_time_limit(stage: Stage, door: str, mode: str) -> None:
    """A lock that is not granted in time: transient, with the truth about the transaction."""
    early, late = stage.pair
    key = stage.insert(stage.models.Order, title="a")
    winner, held = stage.held(stage.models.Order, key)
    early.begin()
    early.do(save_titled, early.api, winner, "first")
    if mode == "transaction":
        late.begin()
        late.do(late.api.insert, stage.models.Doc, title="before")
    late.ask("SET lock_timeout = '50ms'" if door == "postgres" else "SET innodb_lock_wait_timeout = 0")
    error = late.fails(save_titled, late.api, held, "late")
    assert isinstance(error, TransientConflict)
    assert not error.fenced
    if mode == "transaction":
        assert error.transaction == ("dead" if door == "postgres" else "open")
        assert late.do(late.knows_that_it_is_over) is (door == "postgres")
        late.rollback()
    early.rollback()
    late.do(late.api.reload, held)
    assert late.do(save_titled, late.api, held, "late").verdict is Verdict.WON
    assert stage.witness.do(titles, stage.witness.api) == []


@contextmanager
def veto(alias: str) -> Iterator[None]:
    """Put a trigger on the orders that makes every UPDATE affect zero rows."""
    make = {
        "sqlite": [
            "CREATE TRIGGER veto BEFORE UPDATE ON shop_order BEGIN SELECT RAISE(IGNORE); END",
        ],
        "postgresql": [
            "CREATE FUNCTION veto() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
            "CREATE TRIGGER veto BEFORE UPDATE ON shop_order FOR EACH ROW EXECUTE FUNCTION veto()",
        ],
    }
    drop = {
        "sqlite": ["DROP TRIGGER veto"],
        "postgresql": ["DROP TRIGGER veto ON shop_order", "DROP FUNCTION veto"],
    }
    vendor = connections[alias].vendor
    with connections[alias].cursor() as cursor:
        for sql in make[vendor]:
            cursor.execute(sql)
    try:
        yield
    finally:
        with connections[alias].cursor() as cursor:
            for sql in drop[vendor]:
                cursor.execute(sql)


@on("sqlite", "postgres")
def test_a_vetoing_trigger(door: str) -> None:
    """Refused although the row looks as believed: UNDIAGNOSED, and nothing is claimed about the row."""
    order = Order.objects.using(door).create(title="a")
    with veto(door):
        outcome = order.try_save_if_current()
        assert isinstance(outcome, Outcome)
        assert (outcome.verdict, outcome.actual) == (Verdict.UNDIAGNOSED, None)
        with pytest.raises(ConflictError) as caught:
            outcome.or_raise()
        assert type(caught.value) is ConflictError
        assert caught.value.code == "cas-undiagnosed"
    order.refresh_from_db()
    assert order.save_if_current(expect=Expect(title="a"))


@on("postgres")
def test_a_database_error_is_not_a_conflict(door: str) -> None:
    """What is wrong with the data is Django's own error, and the object stays as it was."""
    from django.db import DataError

    order = Order.objects.using(door).create(title="a")
    order.title = "x" * 500
    with pytest.raises(DataError):
        order.save_if_current()
    assert order.record_version == 1
    order.title = "b"
    assert order.save_if_current().record_version == 2
