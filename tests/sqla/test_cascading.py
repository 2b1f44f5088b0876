"""A delete that cascades is a flush: what it means for the rest of the session, and what a failure leaves."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import event, select
from sqlalchemy.orm import Session

from cas_orm import ErrRecordVersionConflict, Expect, InvalidExpectation, Verdict
from cas_orm_sqla import try_delete_if_current
from tests.sqla.databases import Engines
from tests.sqla.rivals import bump
from tests.sqla.shop import Cart, CartLine, Order
from tests.sqla.watching import updates

by_key = pytest.mark.parametrize("by_key", [False, True], ids=["object", "by key"])


def _stored(session: Session) -> tuple[Cart, Order]:
    cart, order = Cart(name="a", lines=[CartLine(sku="x")]), Order(title="a")
    session.add_all([cart, order])
    session.commit()
    assert (cart.name, order.title) == ("a", "a")
    return cart, order


def _delete(session: Session, cart: Cart, by_key: bool) -> Any:
    if by_key:
        return try_delete_if_current(session, Cart, cart.id, expect=Expect(record_version=1))
    return cart.try_delete_if_current(session)


def _versions(session: Session) -> list[int]:
    with session.no_autoflush:
        return list(session.scalars(select(Cart.record_version)))


@by_key
def test_another_object_that_was_refused(db: Engines, by_key: bool) -> None:
    """Its fence stops the delete before any SQL; after a refresh the delete wins, and the flush writes it."""
    with Session(db.sync) as session:
        cart, order = _stored(session)
        key = order.id
        session.commit()
        assert (cart.name, order.title) == ("a", "a")
        bump(db, Order, key)
        order.title = "mine"
        assert not order.try_save_if_current(session, expect=Expect(record_version=1))
        with updates(db.sync) as sent, pytest.raises(ErrRecordVersionConflict) as caught:
            _delete(session, cart, by_key)
        assert (sent, caught.value.fenced, caught.value.model) == ([], True, "Order")
        assert cart not in session.deleted
        session.rollback()  # MariaDB would go on showing the old row
        session.refresh(order)
        order.title = "healed"
        assert _delete(session, cart, by_key).verdict is Verdict.WON
        session.commit()
        assert (session.scalars(select(CartLine)).all(), order.title) == ([], "healed")


@by_key
def test_an_assigned_version_of_another_object(db: Engines, by_key: bool) -> None:
    """What no flush would take stops the delete, too."""
    with Session(db.sync) as session:
        cart, order = _stored(session)
        order.record_version = 7
        with pytest.raises(InvalidExpectation):
            _delete(session, cart, by_key)
        session.expire(order)
        assert (_versions(session), cart.record_version) == ([1], 1)
        assert _delete(session, cart, by_key)


@by_key
def test_its_own_pending_changes_do_not_matter(db: Engines, by_key: bool) -> None:
    """They go with the row: nothing compares them with the row that has just been bumped."""
    with Session(db.sync) as session:
        cart, _ = _stored(session)
        key = cart.id
        cart.name = "pending"
        with session.no_autoflush:
            outcome = _delete(session, cart, by_key)
        assert outcome.verdict is Verdict.WON
        session.commit()
        assert session.get(Cart, key) is None


def test_by_key_is_not_fenced(db: Engines) -> None:
    """What the session's own object of the row was refused is nothing to a delete by key."""
    with Session(db.sync) as session:
        cart, _ = _stored(session)
        key = cart.id
        cart.name = "mine"
        assert not cart.try_save_if_current(session, expect=Expect(name="z"))
        assert try_delete_if_current(session, Cart, key, expect=Expect(record_version=1))
        session.commit()
        assert session.get(Cart, key) is None


def test_by_key_with_autoflush(db: Engines) -> None:
    """The session's own dirty object of the row is not flushed in between."""
    with Session(db.sync) as session:
        cart, _ = _stored(session)
        key = cart.id
        cart.name = "pending"
        assert try_delete_if_current(session, Cart, key, expect=Expect(record_version=1))
        session.commit()
        assert session.get(Cart, key) is None


@by_key
def test_a_listener_that_refuses_the_flush(db: Engines, by_key: bool) -> None:
    """The bump is taken back, in the row and in memory; the object is in its session, and may be written."""
    with Session(db.sync) as session:
        cart, _ = _stored(session)

        def refuse(*_: object) -> None:
            raise LookupError

        event.listen(session, "before_flush", refuse)
        with pytest.raises(LookupError):
            _delete(session, cart, by_key)
        event.remove(session, "before_flush", refuse)
        assert (cart in session.deleted, _versions(session)) == (False, [1])
        assert Expect.of(cart) == Expect(record_version=1, run_seq=0)
        cart.name = "b"
        session.commit()
        assert (cart.name, cart.record_version) == ("b", 2)


def test_by_key_of_a_row_that_is_not_held(db: Engines) -> None:
    """The object that the delete has loaded shows no version that its row never had."""
    with Session(db.sync) as session:
        cart, _ = _stored(session)
        key = cart.id
        session.expunge_all()

        def refuse(*_: object) -> None:
            raise LookupError

        event.listen(session, "before_flush", refuse)
        with pytest.raises(LookupError):
            try_delete_if_current(session, Cart, key, expect=Expect(record_version=1))
        event.remove(session, "before_flush", refuse)
        assert session.get_one(Cart, key).record_version == 1
        assert try_delete_if_current(session, Cart, key, expect=Expect(record_version=1))


@by_key
def test_a_rollback_gives_back_what_was_seen(db: Engines, by_key: bool) -> None:
    """Not the number that the row had for the moment of the delete: a rival may have it by then."""
    with Session(db.sync) as session:
        cart, _ = _stored(session)
        key = cart.id
        assert _delete(session, cart, by_key)
        session.rollback()
        bump(db, Cart, key, name="theirs")
        cart.name = "mine"
        outcome = cart.try_save_if_current(session)
        assert (outcome.verdict, outcome.expected["record_version"]) == (Verdict.STALE, 1)
        session.rollback()
