"""The server did the work and its answer was lost: settling writes nothing twice."""

from __future__ import annotations

import pickle

import pytest

from cas_orm import Expect, UnknownOutcome, Verdict
from cas_orm_django import settle
from tests.django import tables
from tests.django.shop.models import Ticket
from tests.races.actors import Actor
from tests.races.on import SERVERS, on
from tests.races.proxy import Proxy
from tests.races.test_lost import write


@pytest.mark.parametrize("pickled", [False, True], ids=["same-process", "pickled"])
@on(*SERVERS)
def test_the_answer_was_lost(door: str, pair: list[Actor], proxy: Proxy, pickled: bool) -> None:
    """The server had committed: settling finds the token, reports the win and writes nothing twice."""
    late = pair[1]
    key = Ticket.objects.using(door).create().pk
    held = late.do(Ticket.objects.using(door).get, pk=key)
    proxy.swallow.set()
    error = late.fails(write, held)
    assert proxy.swallowed.is_set()
    assert isinstance(error, UnknownOutcome)
    proxy.swallow.clear()
    # A pickle carries the token, not the statement.
    outcome = settle(pickle.loads(pickle.dumps(error)), using=door) if pickled else settle(error)
    assert outcome.verdict is Verdict.WON
    row = tables.row(Ticket, key, door)
    assert (row["n"], row["record_version"]) == (7, 2)


@on(*SERVERS)
def test_the_answer_was_lost_and_the_row_moved_on(door: str, pair: list[Actor], proxy: Proxy) -> None:
    """Two steps further nobody can tell from the row: settling says so."""
    late = pair[1]
    key = Ticket.objects.using(door).create().pk
    held = late.do(Ticket.objects.using(door).get, pk=key)
    proxy.swallow.set()
    error = late.fails(write, held)
    proxy.swallow.clear()
    assert isinstance(error, UnknownOutcome)
    for _ in range(2):
        Ticket.objects.using(door).get(pk=key).save_if_current()
    with pytest.raises(UnknownOutcome):
        settle(error)


@on(*SERVERS)
def test_a_zombie_statement(door: str, pair: list[Actor], proxy: Proxy) -> None:
    """The client is gone, its statement still waits: whoever runs first, the row takes one step."""
    early, late = pair
    key = Ticket.objects.using(door).create().pk
    winner, held = (
        early.do(Ticket.objects.using(door).get, pk=key),
        late.do(Ticket.objects.using(door).get, pk=key),
    )
    early.begin()
    early.do(winner.save_if_current)
    waiting = late.blocks(write, held)
    proxy.cut()
    error = waiting.exception(30)
    assert isinstance(error, UnknownOutcome)
    settling = late.start(settle, error)
    early.rollback()
    assert settling.result(30).verdict is Verdict.WON
    row = tables.row(Ticket, key, door)
    assert (row["n"], row["record_version"]) == (7, 2)


@on(*SERVERS)
def test_a_lost_update_by_key(door: str, pair: list[Actor], proxy: Proxy) -> None:
    """The by-key form settles as well."""
    from cas_orm_django import update_if_current

    late = pair[1]
    key = Ticket.objects.using(door).create().pk
    late.do(Ticket.objects.using(door).count)
    proxy.swallow.set()
    error = late.fails(
        update_if_current, Ticket, key, expect=Expect(record_version=1), set={"n": 7}, using=door
    )
    proxy.swallow.clear()
    assert isinstance(error, UnknownOutcome)
    assert settle(error).verdict is Verdict.WON
    assert tables.row(Ticket, key, door)["record_version"] == 2


@on(*SERVERS)
def test_a_lost_delete_that_cannot_be_told(door: str, pair: list[Actor], proxy: Proxy) -> None:
    """The row is gone, and nobody can say by whose hand."""
    late = pair[1]
    key = Ticket.objects.using(door).create().pk
    held = late.do(Ticket.objects.using(door).get, pk=key)
    proxy.swallow.set()
    error = late.fails(held.delete_if_current)
    proxy.swallow.clear()
    assert isinstance(error, UnknownOutcome)
    with pytest.raises(UnknownOutcome):
        settle(error)
