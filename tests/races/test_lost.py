"""A connection lost in flight is never a loss: the outcome is unknown until it is settled."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from django.db import connections

from cas_orm import Outcome, UnknownOutcome, Verdict
from cas_orm_django import settle
from tests.django import tables
from tests.django.shop.models import Order, Ticket
from tests.races.actors import Actor
from tests.races.on import SERVERS, on


def write(thing: Ticket | Order) -> Outcome:
    """Write one column under the last-seen version."""
    thing.n = 7
    return thing.try_save_if_current()


def lost_while_waiting(door: str, pair: list[Actor], model: type[Any]) -> tuple[Any, BaseException | None]:
    """Kill the late one's connection while it waits for the early one, whose transaction stays open."""
    early, late = pair
    key = model.objects.using(door).create().pk
    winner, held = (
        early.do(model.objects.using(door).get, pk=key),
        late.do(model.objects.using(door).get, pk=key),
    )
    early.begin()
    early.do(winner.save_if_current)
    me = late.identity()
    waiting = late.blocks(write, held)
    late.kill_from_outside(me)
    return held, waiting.exception(30)


@on(*SERVERS)
def test_killed_by_the_server_then_settled_as_won(door: str, pair: list[Actor]) -> None:
    """The rival rolls back: settling sends the same statement with the same token, and it wins."""
    held, error = lost_while_waiting(door, pair, Ticket)
    assert isinstance(error, UnknownOutcome)
    assert error.code == "cas-unknown-outcome"
    pair[0].rollback()
    outcome = pair[1].do(settle, error)
    assert (outcome.verdict, outcome.record_version) == (Verdict.WON, 2)
    row = tables.row(Ticket, held.pk, door)
    assert (row["n"], row["record_version"]) == (7, 2)


@on(*SERVERS)
def test_killed_by_the_server_then_settled_as_lost(door: str, pair: list[Actor]) -> None:
    """The rival commits: settling tells the loss with its verdict."""
    held, error = lost_while_waiting(door, pair, Ticket)
    assert isinstance(error, UnknownOutcome)
    pair[0].commit()
    outcome = pair[1].do(settle, error)
    assert outcome.verdict is Verdict.STALE
    assert tables.row(Ticket, held.pk, door)["n"] == 0


@pytest.mark.parametrize("pickled", [False, True], ids=["same-process", "pickled"])
@on(*SERVERS)
def test_settled_as_superseded(door: str, pair: list[Actor], pickled: bool) -> None:
    """The rival handed the row over: the loss is a superseded one, and says so."""
    early, late = pair
    key = Ticket.objects.using(door).create().pk
    winner, held = (a.do(Ticket.objects.using(door).get, pk=key) for a in pair)
    early.begin()
    early.do(winner.new_generation_if_current)
    me = late.identity()
    waiting = late.blocks(write, held)
    late.kill_from_outside(me)
    error = waiting.exception(30)
    assert isinstance(error, UnknownOutcome)
    early.commit()
    outcome = settle(pickle.loads(pickle.dumps(error)) if pickled else error, using=door)
    assert outcome.verdict is Verdict.SUPERSEDED
    assert tables.row(Ticket, key, door)["n"] == 0


@on(*SERVERS)
def test_without_a_token_it_stays_unknown(door: str, pair: list[Actor]) -> None:
    """Expected + 1 proves nothing: settling re-raises."""
    _, error = lost_while_waiting(door, pair, Order)
    assert isinstance(error, UnknownOutcome)
    pair[0].commit()
    with pytest.raises(UnknownOutcome):
        settle(error)


@on(*SERVERS)
def test_the_object_after_an_unknown_outcome(door: str, pair: list[Actor]) -> None:
    """The object claims nothing; a reload makes it usable, on a fresh connection."""
    held, error = lost_while_waiting(door, pair, Ticket)
    assert isinstance(error, UnknownOutcome)
    pair[0].rollback()
    late = pair[1]
    late.do(connections.close_all)
    late.do(held.refresh_from_db)
    assert late.do(write, held).verdict is Verdict.WON


@on(*SERVERS)
def test_a_lost_delete_that_can_be_told(door: str, pair: list[Actor]) -> None:
    """Killed while it waited, the delete is sent again and wins."""
    early, late = pair
    key = Ticket.objects.using(door).create().pk
    winner, held = (a.do(Ticket.objects.using(door).get, pk=key) for a in pair)
    early.begin()
    early.do(winner.save_if_current)
    me = late.identity()
    waiting = late.blocks(held.delete_if_current)
    late.kill_from_outside(me)
    error = waiting.exception(30)
    assert isinstance(error, UnknownOutcome)
    early.rollback()
    assert late.do(settle, error).verdict is Verdict.WON
    assert tables.row(Ticket, key, door) is None


@on(*SERVERS)
def test_lost_inside_the_callers_transaction(door: str, pair: list[Actor]) -> None:
    """The whole transaction is gone: settling reads the token only and writes nothing."""
    early, late = pair
    key = Ticket.objects.using(door).create().pk
    winner, held = (a.do(Ticket.objects.using(door).get, pk=key) for a in pair)
    early.begin()
    early.do(winner.save_if_current)
    me = late.identity()
    late.begin()
    waiting = late.blocks(write, held)
    late.kill_from_outside(me)
    error = waiting.exception(30)
    assert isinstance(error, UnknownOutcome)
    late.give_up()
    early.rollback()
    try:
        assert not settle(error)
    except UnknownOutcome:
        pass
    row = tables.row(Ticket, key, door)
    assert (row["n"], row["record_version"]) == (0, 1)
    late.do(connections.close_all)
    assert late.do(write, late.do(Ticket.objects.using(door).get, pk=key)).verdict is Verdict.WON
