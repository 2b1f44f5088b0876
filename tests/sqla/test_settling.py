"""A write whose answer was lost, applied or not, settled."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import async_sessionmaker
from sqlalchemy.orm import Session, sessionmaker

from cas_orm import Expect, UnknownOutcome, Verdict
from cas_orm_sqla import asettle, settle, write
from tests.sqla.databases import Engines
from tests.sqla.shop import Order, Ticket


def _lose_the_answer(monkeypatch: pytest.MonkeyPatch, *, applied: bool) -> None:
    """Let the next write come back with a lost connection, before or after the server did it."""
    execute = write._execute

    def lossy(*args: Any) -> bool:
        monkeypatch.setattr(write, "_execute", execute)
        if applied:
            execute(*args)
        raise DBAPIError("UPDATE", {}, Exception("gone"), connection_invalidated=True)

    monkeypatch.setattr(write, "_execute", lossy)


def _lost(
    db: Engines, monkeypatch: pytest.MonkeyPatch, *, applied: bool, autocommit: bool, version: bool = True
) -> tuple[int, UnknownOutcome]:
    """Return the key of a ticket at version 1, and the error of a save that was lost."""
    engine = db.sync.execution_options(isolation_level="AUTOCOMMIT") if autocommit else db.sync
    with Session(engine) as session:
        ticket = Ticket(title="a")
        session.add(ticket)
        session.commit()
        key = ticket.id
        ticket.title = "mine"
        _lose_the_answer(monkeypatch, applied=applied)
        with pytest.raises(UnknownOutcome) as caught:
            if version:
                ticket.save_if_current(session)
            else:
                ticket.update_if_current(session, expect=Expect(title="a"), set={"title": "mine"})
        if applied and not autocommit:
            session.rollback()
    return key, caught.value


def _row(db: Engines, key: int) -> tuple[str, int]:
    with Session(db.sync) as session:
        found = session.get_one(Ticket, key)
        return found.title, found.record_version


@pytest.mark.parametrize("applied", [True, False])
def test_in_autocommit_it_is_sent_again(db: Engines, monkeypatch: pytest.MonkeyPatch, applied: bool) -> None:
    """Applied before or applied now: once."""
    key, error = _lost(db, monkeypatch, applied=applied, autocommit=True)
    assert not error.in_transaction
    outcome = settle(sessionmaker(db.sync), error)
    assert (outcome.verdict, outcome.key, outcome.record_version) == (Verdict.WON, key, 2)
    assert _row(db, key) == ("mine", 2)


def test_a_pickled_error_is_settled_by_the_token(db: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sent again: the row's token tells."""
    key, error = _lost(db, monkeypatch, applied=True, autocommit=True)
    outcome = settle(sessionmaker(db.sync), pickle.loads(pickle.dumps(error)))
    assert (outcome.verdict, outcome.record_version) == (Verdict.WON, 2)
    assert _row(db, key) == ("mine", 2)


def test_a_pickled_error_over_an_unchanged_row_settles_nothing(
    db: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statement may still be waiting in the server, and cannot be sent again to make sure."""
    key, error = _lost(db, monkeypatch, applied=False, autocommit=True)
    with pytest.raises(UnknownOutcome):
        settle(sessionmaker(db.sync), pickle.loads(pickle.dumps(error)))
    assert _row(db, key) == ("a", 1)


@pytest.mark.parametrize("applied", [True, False])
def test_inside_a_transaction_nothing_is_sent_again(
    db: Engines, monkeypatch: pytest.MonkeyPatch, applied: bool
) -> None:
    """The transaction was lost with the connection; the rest of its work is not known here."""
    key, error = _lost(db, monkeypatch, applied=applied, autocommit=False)
    assert error.in_transaction
    assert not settle(sessionmaker(db.sync), error)
    assert _row(db, key) == ("a", 1)


@pytest.mark.parametrize(("rivals", "decidable"), [(1, True), (2, False)])
def test_rivals_since(db: Engines, monkeypatch: pytest.MonkeyPatch, rivals: int, decidable: bool) -> None:
    """One step with another token: ours never was. Two: ours may have been one of them."""
    key, error = _lost(db, monkeypatch, applied=False, autocommit=True)
    for _ in range(rivals):
        with Session(db.sync) as session:
            session.get_one(Ticket, key).n += 1
            session.commit()
    if decidable:
        assert settle(sessionmaker(db.sync), error).verdict is Verdict.STALE
    else:
        with pytest.raises(UnknownOutcome):
            settle(sessionmaker(db.sync), error)


def test_without_a_version(db: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that did not believe one is settled by the token as well, when it is there."""
    key, error = _lost(db, monkeypatch, applied=True, autocommit=True, version=False)
    assert settle(sessionmaker(db.sync), error).verdict is Verdict.WON
    assert _row(db, key) == ("mine", 2)
    key, error = _lost(db, monkeypatch, applied=False, autocommit=True, version=False)
    with pytest.raises(UnknownOutcome):
        settle(sessionmaker(db.sync), error)


def test_without_a_token(db: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    """A class without one cannot tell."""
    with Session(db.sync) as session:
        order = Order()
        session.add(order)
        session.commit()
        _lose_the_answer(monkeypatch, applied=False)
        with pytest.raises(UnknownOutcome) as caught:
            order.save_if_current(session)
    with pytest.raises(UnknownOutcome):
        settle(sessionmaker(db.sync), caught.value)
    with pytest.raises(TypeError):
        settle(sessionmaker(db.sync), ValueError())


def test_the_async_twin(db: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a factory of AsyncSession; the other kind is a TypeError."""
    key, error = _lost(db, monkeypatch, applied=True, autocommit=True)
    outcome = asyncio.run(asettle(async_sessionmaker(db.asynchronous), error))
    assert (outcome.verdict, outcome.record_version) == (Verdict.WON, 2)
    assert _row(db, key) == ("mine", 2)
