"""SQLAlchemy: a connection lost in flight is never a loss; the outcome is unknown until it is settled."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import async_sessionmaker
from sqlalchemy.orm import sessionmaker

from cas_orm import Outcome, UnknownOutcome, Verdict
from cas_orm_sqla import asettle, settle
from tests.contract.adapters.base import Api
from tests.races.actors import actors
from tests.races.actors_sqla import SqlaActor, SqlaSeat, open_door
from tests.races.on import SERVERS, on
from tests.races.proxy import Proxy
from tests.races.stage import Stage
from tests.sqla.shop import Order, Ticket

MODES = pytest.mark.parametrize("mode", ["autocommit", "transaction"])
PICKLED = pytest.mark.parametrize("pickled", [False, True], ids=["same-process", "pickled"])


@pytest.fixture(params=["sync", "async"])
def detoured(request: pytest.FixtureRequest, door: str, sqla_door: str, between: Proxy) -> Iterator[Stage]:
    """Yield a stage whose late actor reaches the server through the proxy."""
    through = open_door(sqla_door, port=between.port)
    cast = [SqlaActor(sqla_door, door, request.param, made) for made in (None, through, None)]
    with actors(*cast):
        yield Stage(*cast)


async def write(api: Api, thing: Any) -> Outcome:
    """Write one column under the last-seen version."""
    thing.n = 7
    return await api.try_save_if_current(thing)


async def settled(api: SqlaSeat, error: BaseException) -> Outcome:
    """Settle over a factory of the seat's kind, on fresh connections."""
    if api.colour == "sync":
        return settle(sessionmaker(api.engines.sync), error)
    return await asettle(async_sessionmaker(api.engines.asynchronous), error)


def killed_while_waiting(stage: Stage, model: type[Any], mode: str) -> tuple[Any, BaseException | None]:
    """Let the server end the late one's connection while it waits for the early one, still open."""
    early, late = stage.pair
    key = stage.insert(model)
    if mode == "transaction":
        late.begin()
    winner, held = stage.held(model, key)
    early.begin()
    early.do(early.api.save_if_current, winner)
    me = late.identity()
    waiting = late.blocks(write, late.api, held)
    late.kill_from_outside(me)
    error = waiting.exception(30)
    if mode == "transaction":
        late.give_up()
    return key, error


@on(*SERVERS)
def test_killed_and_the_rival_rolls_back(sqla: Stage) -> None:
    """In AUTOCOMMIT the same statement with the same token is sent again, and wins."""
    key, error = killed_while_waiting(sqla, Ticket, "autocommit")
    assert isinstance(error, UnknownOutcome)
    assert (error.code, error.in_transaction) == ("cas-unknown-outcome", False)
    sqla.early.rollback()
    outcome = sqla.late.do(settled, sqla.late.api, error)
    assert (outcome.verdict, outcome.record_version) == (Verdict.WON, 2)
    row = sqla.row(Ticket, key)
    assert (row["n"], row["record_version"]) == (7, 2)


@on(*SERVERS)
def test_a_pickled_error_writes_nothing(sqla: Stage) -> None:
    """It carries no statement, and the row is as believed: the first one may be on its way still."""
    key, error = killed_while_waiting(sqla, Ticket, "autocommit")
    sqla.early.rollback()
    thawed = pickle.loads(pickle.dumps(error))
    assert isinstance(sqla.late.fails(settled, sqla.late.api, thawed), UnknownOutcome)
    assert sqla.row(Ticket, key)["record_version"] == 1


@PICKLED
@MODES
@on(*SERVERS)
def test_killed_and_the_rival_commits(sqla: Stage, mode: str, pickled: bool) -> None:
    """Settling tells the loss with its verdict, whatever the session's mode was."""
    key, error = killed_while_waiting(sqla, Ticket, mode)
    assert isinstance(error, UnknownOutcome)
    assert error.in_transaction is (mode == "transaction")
    sqla.early.commit()
    outcome = sqla.late.do(settled, sqla.late.api, pickle.loads(pickle.dumps(error)) if pickled else error)
    assert (outcome.verdict, outcome.actual["record_version"]) == (Verdict.STALE, 2)
    assert sqla.row(Ticket, key)["n"] == 0


@on(*SERVERS)
def test_killed_inside_the_callers_transaction(sqla: Stage) -> None:
    """The whole transaction is gone: settling writes nothing, even though the row is as believed."""
    key, error = killed_while_waiting(sqla, Ticket, "transaction")
    assert isinstance(error, UnknownOutcome)
    sqla.early.rollback()
    assert not sqla.late.do(settled, sqla.late.api, error)
    row = sqla.row(Ticket, key)
    assert (row["n"], row["record_version"]) == (0, 1)


@MODES
@on(*SERVERS)
def test_the_session_after_a_lost_connection(sqla: Stage, mode: str) -> None:
    """Rolled back and reloaded, on a fresh connection, session and object go on."""
    key, error = killed_while_waiting(sqla, Ticket, mode)
    assert isinstance(error, UnknownOutcome)
    sqla.early.rollback()
    late = sqla.late
    late.do(late.api.hop, lambda session: session.rollback())
    again = late.do(late.api.load, Ticket, key)
    assert late.do(write, late.api, again).verdict is Verdict.WON
    assert sqla.row(Ticket, key)["n"] == 7


@on(*SERVERS)
def test_without_a_token_it_stays_unknown(sqla: Stage) -> None:
    """Expected + 1 proves nothing: settling re-raises."""
    _, error = killed_while_waiting(sqla, Order, "autocommit")
    assert isinstance(error, UnknownOutcome)
    sqla.early.commit()
    assert isinstance(sqla.late.fails(settled, sqla.late.api, error), UnknownOutcome)


def prepared(stage: Stage) -> tuple[Any, Any]:
    """Return a ticket that the late one holds, on a connection that has such a statement prepared.

    Some drivers ask the server about a statement before they send it; that answer is not the one to lose.
    """
    late = stage.late
    other, key = stage.insert(Ticket), stage.insert(Ticket)
    late.do(write, late.api, late.do(late.api.load, Ticket, other))
    return key, late.do(late.api.load, Ticket, key)


@PICKLED
@on(*SERVERS)
def test_the_answer_was_lost(detoured: Stage, between: Proxy, pickled: bool) -> None:
    """The server had committed: settling finds the token, reports the win and writes nothing twice."""
    late = detoured.late
    key, held = prepared(detoured)
    between.swallow.set()
    error = late.fails(write, late.api, held)
    assert between.swallowed.is_set()
    assert isinstance(error, UnknownOutcome)
    between.swallow.clear()
    outcome = late.do(settled, late.api, pickle.loads(pickle.dumps(error)) if pickled else error)
    assert (outcome.verdict, outcome.record_version) == (Verdict.WON, 2)
    row = detoured.row(Ticket, key)
    assert (row["n"], row["record_version"]) == (7, 2)


@pytest.mark.parametrize(("rivals", "decidable"), [(0, True), (1, False)])
@on(*SERVERS)
def test_the_answer_was_lost_and_the_row_moved_on(
    detoured: Stage, between: Proxy, rivals: int, decidable: bool
) -> None:
    """Once somebody else has written over ours, nobody can tell from the row: settling says so."""
    late, witness = detoured.late, detoured.witness
    key, held = prepared(detoured)
    between.swallow.set()
    error = late.fails(write, late.api, held)
    between.swallow.clear()
    assert isinstance(error, UnknownOutcome)
    for _ in range(rivals):
        witness.do(witness.api.save_if_current, witness.do(witness.api.load, Ticket, key))
    if decidable:
        assert late.do(settled, late.api, error).verdict is Verdict.WON
    else:
        assert isinstance(late.fails(settled, late.api, error), UnknownOutcome)


@on(*SERVERS)
def test_the_connection_is_lost_before_the_statement(detoured: Stage, between: Proxy) -> None:
    """Nothing reached the server: settling sends it now, once."""
    late = detoured.late
    key = detoured.insert(Ticket)
    held = late.do(late.api.load, Ticket, key)
    between.cut()
    error = late.fails(write, late.api, held)
    assert isinstance(error, UnknownOutcome)
    assert detoured.row(Ticket, key)["record_version"] == 1
    assert late.do(settled, late.api, error).verdict is Verdict.WON
    assert detoured.row(Ticket, key)["record_version"] == 2


@on(*SERVERS)
def test_a_zombie_statement(detoured: Stage, between: Proxy) -> None:
    """The client is gone, its statement still waits: whoever runs first, the row takes one step."""
    early, late = detoured.pair
    key = detoured.insert(Ticket)
    winner, held = detoured.held(Ticket, key)
    early.begin()
    early.do(early.api.save_if_current, winner)
    waiting = late.blocks(write, late.api, held)
    between.cut()
    error = waiting.exception(30)
    assert isinstance(error, UnknownOutcome)
    settling = late.start(settled, late.api, error)
    early.rollback()
    assert settling.result(30).verdict is Verdict.WON
    row = detoured.row(Ticket, key)
    assert (row["n"], row["record_version"]) == (7, 2)


@on(*SERVERS)
def test_the_commit_is_lost(detoured: Stage, between: Proxy) -> None:
    """The verb had won and the COMMIT's answer was lost: the token in the row tells that it was applied."""
    late = detoured.late
    key = detoured.insert(Ticket)
    late.begin()
    held = late.do(late.api.load, Ticket, key)
    told: list[Outcome] = []
    held.n = 7
    outcome = late.do(late.api.save_if_current, held, on_won=told.append)
    assert outcome.provisional
    between.swallow.set()
    error = late.fails(late._end(), None, None, None)
    assert between.swallowed.is_set()
    assert error is not None
    between.swallow.clear()
    assert told == []
    late.do(late.api.hop, lambda session: session.rollback())
    row = detoured.row(Ticket, key)
    assert (row["n"], row["record_version"]) == (7, 2)
    again = late.do(late.api.load, Ticket, key)
    assert late.do(write, late.api, again).record_version == 3
