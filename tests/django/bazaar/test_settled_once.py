"""Settling a write that believed no version: it would match twice, so it is never sent again."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from django.db.models import F

from cas_orm import Expect, UnknownOutcome, Verdict
from cas_orm_django import settle, update_if_current
from tests.django import tables
from tests.django.bazaar.faults import answers_lost, through_a_proxy
from tests.django.shop.models import Ticket

on_servers = pytest.mark.parametrize("database", ["postgres", "mariadb"])
BELIEFS = [{"expect": Expect(run_seq=0)}, {"expect": Expect(title="a")}]
each_belief = pytest.mark.parametrize("belief", BELIEFS, ids=["generation", "column"])
ONE_MORE = {"n": F("n") + 1}


def lost(alias: str, key: int, *, executed: bool = True, **belief: Any) -> UnknownOutcome:
    """Return what a write by key raises when its answer is lost."""
    with answers_lost(alias, executed=executed), pytest.raises(UnknownOutcome) as caught:
        update_if_current(Ticket, key, set=ONE_MORE, **belief)
    return caught.value


@on_servers
@each_belief
def test_an_applied_write_is_not_repeated(alias: str, belief: Any) -> None:
    """The row carries its token: won, and raised once, however often it is settled."""
    key = Ticket.objects.create(title="a").pk
    error = lost(alias, key, **belief)
    for _ in range(2):
        outcome = settle(error)
        assert (outcome.verdict, outcome.record_version, outcome.run_seq) == (Verdict.WON, 2, 0)
    row = tables.row(Ticket, key, alias)
    assert (row["n"], row["record_version"]) == (1, 2)


@on_servers
@each_belief
def test_a_rivals_write_after_it_survives(alias: str, belief: Any) -> None:
    """Whoever wrote since keeps what he wrote; whether ours was applied before is unknown."""
    key = Ticket.objects.create(title="a").pk
    error = lost(alias, key, **belief)
    Ticket.objects.filter(pk=key).update(n=50)
    with pytest.raises(UnknownOutcome):
        settle(error)
    row = tables.row(Ticket, key, alias)
    assert (row["n"], row["record_version"]) == (50, 3)


@on_servers
def test_a_write_that_never_arrived_stays_unknown(alias: str) -> None:
    """Nothing is written while settling: without a version the row cannot tell."""
    key = Ticket.objects.create().pk
    error = lost(alias, key, executed=False, expect=Expect(run_seq=0))
    with pytest.raises(UnknownOutcome):
        settle(error)
    row = tables.row(Ticket, key, alias)
    assert (row["n"], row["record_version"]) == (0, 1)


@on_servers
def test_the_answer_swallowed_for_real(alias: str) -> None:
    """The server has committed, its answer never arrives: raised once."""
    key = Ticket.objects.create().pk
    with through_a_proxy(alias) as proxy:
        proxy.swallow.set()
        with pytest.raises(UnknownOutcome) as caught:
            update_if_current(Ticket, key, expect=Expect(run_seq=0), set=ONE_MORE)
        assert proxy.swallowed.is_set()
    assert settle(caught.value).verdict is Verdict.WON
    assert tables.row(Ticket, key, alias)["n"] == 1


@on_servers
@pytest.mark.parametrize("executed", [False, True])
def test_a_believed_version_is_sent_again(alias: str, executed: bool) -> None:
    """The accepted twin: applied or not, it is won, and raised once."""
    key = Ticket.objects.create().pk
    error = lost(alias, key, executed=executed, expect=Expect(record_version=1))
    assert settle(error).verdict is Verdict.WON
    row = tables.row(Ticket, key, alias)
    assert (row["n"], row["record_version"]) == (1, 2)


@on_servers
@pytest.mark.parametrize("executed", [False, True])
def test_an_object_that_believes_the_generation_only(alias: str, executed: bool) -> None:
    """The verb on an object: settled by the token as well, never repeated."""
    ticket = Ticket.objects.create()
    with answers_lost(alias, executed=executed), pytest.raises(UnknownOutcome) as caught:
        ticket.update_if_current(expect=Expect(run_seq=0), set=ONE_MORE)
    if executed:
        assert settle(caught.value).verdict is Verdict.WON
    else:
        with pytest.raises(UnknownOutcome):
            settle(caught.value)
    assert tables.row(Ticket, ticket.pk, alias)["n"] == int(executed)


@on_servers
def test_a_pickled_error_is_settled_by_the_token(alias: str) -> None:
    """The statement does not travel, the token does."""
    key = Ticket.objects.create().pk
    error = pickle.loads(pickle.dumps(lost(alias, key, expect=Expect(run_seq=0))))
    assert settle(error, using=alias).verdict is Verdict.WON
    assert tables.row(Ticket, key, alias)["n"] == 1
