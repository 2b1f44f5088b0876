"""`CasSession`, `AsyncCasSession` and `guard`: a stale flush says which object lost, and to what."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest
from sqlalchemy import event, select, text
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker
from sqlalchemy.orm import Session, load_only, sessionmaker
from sqlalchemy.orm.exc import StaleDataError

from cas_orm import (
    ConflictError,
    ErrRecordVersionConflict,
    Expect,
    MissingExpectation,
    RecordMissing,
    Superseded,
    Verdict,
)
from cas_orm_sqla import AsyncCasSession, CasSession, guard, stale
from tests.sqla.databases import Engines
from tests.sqla.rivals import bump
from tests.sqla.shop import Cart, CartLine, Customer, Order, Seat

MOVES = {
    "stale": ("UPDATE {} SET record_version = 5 WHERE id = {}", ErrRecordVersionConflict, Verdict.STALE),
    "superseded": (
        "UPDATE {} SET record_version = 5, run_seq = 1 WHERE id = {}",
        Superseded,
        Verdict.SUPERSEDED,
    ),
    "missing": ("DELETE FROM {} WHERE id = {}", RecordMissing, Verdict.MISSING),
}


def _move(db: Engines, sql: str, key: int) -> None:
    table = db.sync.dialect.identifier_preparer.quote("order")
    with db.sync.begin() as connection:
        connection.execute(text(sql.format(table, key)))


def _two(session: Session) -> list[Order]:
    orders = [Order(title="a"), Order(title="b")]
    session.add_all(orders)
    session.commit()
    return orders


@pytest.mark.parametrize(("sql", "error", "verdict"), MOVES.values(), ids=MOVES)
def test_a_stale_flush_names_the_row(
    db: Engines, sql: str, error: type[ConflictError], verdict: Verdict
) -> None:
    """The right one of two, as the judged class and as SQLAlchemy's own."""
    with CasSession(db.sync) as session:
        winner, loser = _two(session)
        key = loser.id
        session.rollback()
        _move(db, sql, key)
        winner.n = loser.n = 1
        with pytest.raises(error) as caught:
            session.commit()
        refused: Any = caught.value
        assert isinstance(refused, StaleDataError)
        assert (refused.verdict, refused.key, refused.model, refused.fenced) == (verdict, key, "Order", False)
        assert dict(refused.expected) == {"record_version": 1, "run_seq": 0}
        assert "sqlalche.me" not in str(refused)
        assert str(pickle.loads(pickle.dumps(refused))) == str(refused)
        session.rollback()
        assert winner.save_if_current(session).record_version == 2
        if verdict is not Verdict.MISSING:
            session.refresh(loser)
            loser.n = 2
        session.commit()


def test_without_a_rival_nothing_is_raised(db: Engines) -> None:
    """The accepted twin."""
    with CasSession(db.sync) as session:
        first, second = _two(session)
        first.n = second.n = 1
        session.commit()
        assert (first.record_version, second.record_version) == (2, 2)


def test_no_free_connection(db: Engines) -> None:
    """A session on a connection of the caller's has no second one: the verdict stays open."""
    with db.sync.connect() as connection, CasSession(connection) as session:
        order = _two(session)[0]
        assert order.n == 0
        session.connection().execute(
            Order.__table__.update().where(Order.__table__.c.id == order.id).values(record_version=7)  # type: ignore[attr-defined]
        )
        order.n = 1
        with pytest.raises(ConflictError) as caught:
            session.flush()
        assert isinstance(caught.value, StaleDataError)
        assert caught.value.verdict is Verdict.UNDIAGNOSED
        session.rollback()


def test_a_stale_merge(db: Engines) -> None:
    """An older detached copy is refused by name; the session stays usable."""
    with CasSession(db.sync) as session:
        order = _two(session)[0]
        assert order.n == 0
        session.expunge(order)
        session.rollback()
        _move(db, MOVES["stale"][0], order.id)
        with pytest.raises(ErrRecordVersionConflict) as caught:
            session.merge(order)
        assert isinstance(caught.value, StaleDataError)
        assert caught.value.actual == {"record_version": 5, "run_seq": 0}
        assert session.is_active
        session.rollback()


def test_an_async_session_translates(db: Engines) -> None:
    """The same in a greenlet."""

    async def run() -> None:
        async with AsyncCasSession(db.asynchronous, expire_on_commit=False) as session:
            order = Order(title="a")
            session.add(order)
            await session.commit()
            _move(db, MOVES["stale"][0], order.id)
            order.n = 1
            with pytest.raises(ErrRecordVersionConflict) as caught:
                await session.commit()
            assert isinstance(caught.value, StaleDataError)
            assert caught.value.key == order.__dict__.get("id", caught.value.key)
            await session.rollback()
            await session.refresh(order)
            assert (await order.asave_if_current(session)).record_version == 6
            await session.commit()

    asyncio.run(run())


def test_guard_makes_a_new_factory(db: Engines) -> None:
    """Of the same kind, with the same options and events; the given one is untouched."""

    class Own(Session):
        """A session class of the user's."""

    plain = sessionmaker(db.sync, class_=Own, expire_on_commit=False, info={"a": 1})
    seen: list[str] = []
    event.listen(plain, "after_commit", lambda session: seen.append(type(session).__name__))
    guarded = guard(plain)
    with plain() as session:
        assert not isinstance(session, CasSession)
    with guarded() as session:
        assert isinstance(session, CasSession)
        assert isinstance(session, Own)
        assert (session.info["a"], session.expire_on_commit, session.get_bind()) == (1, False, db.sync)
        _two(session)
    assert len(seen) == 1

    async def run() -> None:
        asynchronous = async_sessionmaker(db.asynchronous, expire_on_commit=False)
        async with guard(asynchronous)() as session:
            assert isinstance(session, AsyncSession)
            assert isinstance(session.sync_session, CasSession)

    asyncio.run(run())
    with pytest.raises(TypeError):
        guard(Session)  # type: ignore[type-var]


def _stored(db: Engines, **values: Any) -> int:
    """Return the key of an order that is in the database and in no session."""
    with Session(db.sync) as session:
        order = Order(**values)
        session.add(order)
        session.commit()
        return order.id


def test_merging_changes_without_a_version_is_refused(db: Engines) -> None:
    """The newest must not win over what was written in between; the session goes on."""
    key = _stored(db, title="a", n=1)
    with CasSession(db.sync) as session:
        with pytest.raises(MissingExpectation):
            session.merge(Order(id=key, title="mine"))
        order = session.get_one(Order, key)
        assert (order.title, order in session.dirty) == ("a", False)
        with pytest.raises(MissingExpectation):
            session.merge(Order(id=key, customer=Customer(name="a")))
        session.commit()
        assert session.scalars(select(Customer)).all() == []


def test_what_may_be_merged(db: Engines) -> None:
    """A new object, one with the row's version, one that changes nothing, one of a stranger's class."""
    key = _stored(db, title="a", n=1)
    with CasSession(db.sync) as session:
        assert session.merge(Order(title="new")).title == "new"
        assert session.merge(Order(id=key + 1000, title="chosen")).title == "chosen"
        assert session.merge(Seat(row="A", number=1, holder="me")).holder == "me"
        same = session.merge(Order(id=key, title="a", n=1))
        assert not session.is_modified(same)
        session.commit()
        assert same.record_version == 1
        mine = session.merge(Order(id=key, record_version=1, title="mine"))
        session.commit()
        assert (mine.title, mine.record_version) == ("mine", 2)
        session.merge(Customer(id=1, name="a"))
        session.commit()
        session.merge(Customer(id=1, name="b"))
        session.commit()


@pytest.mark.parametrize("rival", [False, True], ids=["alone", "rival"])
def test_merging_an_expired_object_compares_what_it_last_saw(db: Engines, rival: bool) -> None:
    """The version is not on the object, but in its memory."""
    key = _stored(db, title="a")
    with Session(db.sync) as session:
        order = session.get_one(Order, key)
        session.commit()
    assert "record_version" not in order.__dict__
    order.title = "mine"
    if rival:
        bump(db, Order, key, title="theirs")
    with CasSession(db.sync) as session:
        if rival:
            with pytest.raises(ErrRecordVersionConflict) as caught:
                session.merge(order)
            assert dict(caught.value.expected) == {"record_version": 1}
        else:
            session.merge(order)
        session.commit()
        assert session.get_one(Order, key).title == ("theirs" if rival else "mine")


@pytest.mark.parametrize("rival", [False, True], ids=["alone", "rival"])
def test_merging_into_an_expired_object_compares(db: Engines, rival: bool) -> None:
    """The session's own object of the row is loaded for the comparison."""
    key = _stored(db, title="a")
    with Session(db.sync) as session:
        given = session.get_one(Order, key)
        session.expunge(given)
    given.title = "mine"
    with CasSession(db.sync) as session:
        held = session.get_one(Order, key)
        session.commit()
        assert "record_version" not in held.__dict__
        if rival:
            bump(db, Order, key, title="theirs")
            with pytest.raises(ErrRecordVersionConflict):
                session.merge(given)
        else:
            assert session.merge(given) is held
        session.commit()
        assert held.title == ("theirs" if rival else "mine")


def test_merging_old_values_whose_version_was_never_loaded(db: Engines) -> None:
    """What was loaded without its version would put its older values back."""
    key = _stored(db, title="a")
    with Session(db.sync) as session:
        given = session.scalars(select(Order).options(load_only(Order.title))).one()
        session.expunge(given)
    with CasSession(db.sync) as session:
        session.merge(given)
        session.commit()
        bump(db, Order, key, title="theirs")
        with pytest.raises(MissingExpectation):
            session.merge(given)
        session.commit()
        assert session.get_one(Order, key).title == "theirs"


def test_merging_a_refused_object_is_refused(db: Engines) -> None:
    """Not even with the current version: a refusal by a condition must not come in by another door."""
    key = _stored(db, title="a", state="new")
    with Session(db.sync) as session:
        order = session.get_one(Order, key)
        order.title = "mine"
        assert not order.try_save_if_current(session, expect=Expect(state="paid"))
        session.expunge(order)
    with CasSession(db.sync) as session:
        with pytest.raises(Superseded) as caught:
            session.merge(order)
        assert caught.value.fenced
    with Session(db.sync) as session:
        session.add(order)
        session.refresh(order)
        session.expunge(order)
    order.title = "healed"
    with CasSession(db.sync) as session:
        session.merge(order)
        session.commit()
        assert session.get_one(Order, key).title == "healed"


@pytest.mark.parametrize("given", ["detached", "expired", "without version", "built"])
def test_merging_what_was_stored_never_inserts_it_again(db: Engines, given: str) -> None:
    """Its row is gone; with or without a version at hand, it had one. The session goes on."""
    key = _stored(db, title="a")
    with Session(db.sync) as session:
        if given == "built":
            order = Order(id=key, title="mine", record_version=1)
        elif given == "without version":
            order = session.scalars(select(Order).options(load_only(Order.title))).one()
        else:
            order = session.get_one(Order, key)
            if given == "expired":
                session.commit()
        session.expunge_all()
        order.title = "mine"
    _move(db, MOVES["missing"][0], key)
    with CasSession(db.sync) as session:
        for _ in range(2):
            with pytest.raises(RecordMissing) as caught:
                session.merge(order)
        assert isinstance(caught.value, StaleDataError)
        assert (caught.value.key, caught.value.fenced) == (key, False)
        assert dict(caught.value.expected) == ({} if given == "without version" else {"record_version": 1})
        session.commit()
        assert session.scalars(select(Order)).all() == []
        assert session.merge(Order(id=key, title="new")).title == "new"
        session.commit()


def test_merging_several_checks_each(db: Engines) -> None:
    """SQLAlchemy 2.1 merges a list without calling ``merge``."""
    key, other = _stored(db, title="a"), _stored(db, title="b")
    with CasSession(db.sync) as session:
        with pytest.raises(MissingExpectation):
            session.merge_all([Order(id=key, title="mine", record_version=1), Order(id=other, title="mine")])
        session.rollback()
        with pytest.raises(ErrRecordVersionConflict):
            session.merge_all([Order(id=other, title="mine", record_version=7)])
        merged = session.merge_all([Order(id=k, title="ours", record_version=1) for k in (key, other)])
        session.commit()
        assert [(order.title, order.record_version) for order in merged] == [("ours", 2), ("ours", 2)]


def test_merging_what_was_rolled_back_inserts_it(db: Engines) -> None:
    """An object whose insert was undone was never stored: it keeps no version."""
    with Session(db.sync) as session:
        order = Order(title="a", run_seq=4)
        session.add(order)
        session.flush()
        assert order.record_version == 1
        session.rollback()
        assert order.record_version is None
    with CasSession(db.sync) as session:
        merged = session.merge(order)
        session.commit()
        assert (merged.title, merged.record_version, merged.run_seq) == ("a", 1, 4)


def test_an_expired_row_is_loaded_with_its_version(db: Engines) -> None:
    """A session's own object that was loaded without its version is compared all the same."""
    key = _stored(db, title="a")
    given = Order(id=key, title="mine", record_version=7)
    with CasSession(db.sync) as session:
        held = session.scalars(select(Order).options(load_only(Order.title))).one()
        assert "record_version" not in held.__dict__
        with pytest.raises(ErrRecordVersionConflict):
            session.merge(given)
        assert held.title == "a"


def test_a_cascaded_merge_is_checked(db: Engines) -> None:
    """The line's cart comes along with the line, and has no version."""
    with CasSession(db.sync) as session:
        cart = Cart(name="a", lines=[CartLine(sku="x")])
        session.add(cart)
        session.commit()
        key, line = cart.id, cart.lines[0].id
        session.rollback()
        with pytest.raises(MissingExpectation):
            session.merge(CartLine(id=line, sku="y", cart=Cart(id=key, name="mine")))
        with pytest.raises(ErrRecordVersionConflict) as caught:
            session.merge(CartLine(id=line, sku="y", cart=Cart(id=key, name="mine", record_version=9)))
        assert (caught.value.model, caught.value.key) == ("Cart", key)
        session.rollback()
        session.merge(CartLine(id=line, sku="y", cart=Cart(id=key, name="b", record_version=1)))
        session.commit()
        assert (cart.name, cart.record_version) == ("b", 2)


def test_an_async_merge(db: Engines) -> None:
    """The same in a greenlet."""
    key = _stored(db, title="a")

    async def run() -> None:
        async with AsyncCasSession(db.asynchronous) as session:
            with pytest.raises(MissingExpectation):
                await session.merge(Order(id=key, title="mine"))
            await session.merge(Order(id=key, title="mine", record_version=1))
            await session.commit()

    asyncio.run(run())


def test_on_a_plain_session_the_newest_wins(db: Engines) -> None:
    """Documented: no event tells of a merge. A version that the object has is compared there, too."""
    key = _stored(db, title="a")
    with Session(db.sync) as session:
        assert session.merge(Order(id=key, title="mine")).record_version == 1
        session.commit()
        with pytest.raises(StaleDataError):
            session.merge(Order(id=key, title="mine", record_version=1))


def test_the_second_connection_is_never_waited_for(db: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool that is used up, or may not be asked, leaves the verdict open; one with room finds it."""
    from sqlalchemy import create_engine

    for overflow, private, verdict in (
        (0, "_max_overflow", Verdict.UNDIAGNOSED),
        (1, "_max_overflow", Verdict.STALE),
        (-1, "_max_overflow", Verdict.STALE),
        (1, "gone_in_some_later_version", Verdict.UNDIAGNOSED),
    ):
        monkeypatch.setattr(stale, "_MAX_OVERFLOW", private)
        engine = create_engine(db.sync.url, pool_size=1, max_overflow=overflow, pool_timeout=1)
        with CasSession(engine) as session:
            order = _two(session)[0]
            assert order.n == 0
            session.rollback()
            assert order.n == 0
            session.rollback()
            order.n = 1
            bump(db, Order, _key_of(order))
            with pytest.raises(ConflictError) as caught:
                session.commit()
            assert caught.value.verdict is verdict
            session.rollback()
        engine.dispose()


def _key_of(obj: Any) -> Any:
    from sqlalchemy import inspect

    return inspect(obj).identity[0]
