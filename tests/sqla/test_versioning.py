"""What SQLAlchemy promises of a version column, kept on classes of ours.

The behaviors are those that the project's own tests of versioning describe, told again for our mixins, and
next to each what we refuse beyond it. Those tests themselves run in the nox session ``upstream``. Versions
that the server or the program makes are not ours: the library alone counts.
"""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import BigInteger, ForeignKey, create_engine, delete, func, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    Session,
    foreign,
    mapped_column,
    registry,
    relationship,
    remote,
)
from sqlalchemy.orm.exc import StaleDataError

from cas_orm import ErrRecordVersionConflict, InvalidExpectation, UnsupportedBackend
from cas_orm_sqla import CasMixin, CasSession, CasVerbsMixin, RecordVersionMixin
from tests.sqla.databases import Engines
from tests.sqla.rivals import bump
from tests.sqla.shapes import Book, Item
from tests.sqla.shop import Base, Cart, CartLine, Customer, Device, Order, Parcel, Slot


class OwnBase(DeclarativeBase):
    """A registry apart, on the same tables' metadata."""

    metadata = Base.metadata
    type_annotation_map = Base.type_annotation_map


class Node(CasMixin, OwnBase):
    """Points at another of its kind, in every way that a flush can write such a pointer."""

    __tablename__ = "node"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    parent_id: Mapped[int | None]
    other_id: Mapped[int | None]
    children: Mapped[list[Node]] = relationship(
        primaryjoin=lambda: remote(foreign(Node.parent_id)) == Node.id, overlaps="parent,later"
    )
    parent: Mapped[Node | None] = relationship(
        primaryjoin=lambda: foreign(Node.parent_id) == remote(Node.id), overlaps="children,later"
    )
    followers: Mapped[list[Node]] = relationship(
        primaryjoin=lambda: remote(foreign(Node.other_id)) == Node.id, post_update=True, overlaps="other"
    )
    other: Mapped[Node | None] = relationship(
        primaryjoin=lambda: foreign(Node.other_id) == remote(Node.id), post_update=True, overlaps="followers"
    )


class Percent(CasVerbsMixin, OwnBase):
    """A version whose name has to be quoted, as an identifier and as a parameter."""

    __tablename__ = "percent"
    cas_version_field = "version"

    id: Mapped[int] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column("_ver%no", BigInteger)
    n: Mapped[int] = mapped_column(default=0)


class Owner(RecordVersionMixin, OwnBase):
    """Goes with one badge, by its own key."""

    __tablename__ = "owner"

    code: Mapped[str] = mapped_column(primary_key=True)
    badge: Mapped[Badge | None] = relationship(cascade="all, delete-orphan")


class Badge(RecordVersionMixin, OwnBase):
    """Its key is its owner's."""

    __tablename__ = "badge"

    code: Mapped[str] = mapped_column(ForeignKey("owner.code"), primary_key=True)
    text: Mapped[str] = mapped_column(default="")


def _order(session: Session, **values: Any) -> Order:
    order = Order(**values)
    session.add(order)
    session.commit()
    return order


def _key(session: Session, obj: Any) -> int:
    """Return the key, with the transaction that it took to load it ended."""
    key: int = obj.id
    session.commit()
    return key


# -- inserts and updates -------------------------------------------------------------------------------------


def test_each_of_several_updates_counts(db: Engines) -> None:
    """One flush, several rows, one more for each."""
    with Session(db.sync) as session:
        orders = [Order(title="a"), Order(title="b")]
        session.add_all(orders)
        session.commit()
        for order in orders:
            order.n = 7
        session.commit()
        assert session.execute(select(Order.n, Order.record_version)).all() == [(7, 2), (7, 2)]


def test_no_net_change_does_not_count(db: Engines) -> None:
    """A flush that has nothing to write writes nothing; a rival's write is then nobody's loss."""
    with Session(db.sync) as session:
        order = _order(session, title="a")
        key = _key(session, order)
        assert order.title == "a"
        bump(db, Order, key)
        order.title = "a"
        session.commit()
        assert order.record_version == 2


def test_no_version_is_not_a_version(db: Engines) -> None:
    """No row without one: neither the flush nor the table takes NULL."""
    with Session(db.sync) as session:
        order = _order(session)
        assert order.n == 0
        order.record_version = None  # type: ignore[assignment]
        with pytest.raises(InvalidExpectation):
            session.flush()
        session.expire(order)
        with pytest.raises(IntegrityError):
            session.execute(insert(Order.__table__).values(title="a", record_version=None))
        session.rollback()
        order.n = 1
        session.commit()
        assert order.record_version == 2


def test_a_bulk_insert_starts_at_one(db: Engines) -> None:
    """By mappings, and by statement."""
    with Session(db.sync) as session:
        session.bulk_insert_mappings(Order, [{"title": "a"}, {"title": "b"}])
        session.execute(insert(Order), [{"title": "c"}])
        assert session.execute(select(Order.title, Order.record_version).order_by(Order.title)).all() == [
            ("a", 1),
            ("b", 1),
            ("c", 1),
        ]


def test_a_bulk_update_compares_and_counts(db: Engines) -> None:
    """Rows by key with their version; on a plain Session, too."""
    with Session(db.sync) as session:
        orders = [_order(session), _order(session)]
        rows = [{"id": _key(session, o), "n": 7, "record_version": 1} for o in orders]
        session.bulk_update_mappings(Order, rows)
        session.commit()
        assert [(o.n, o.record_version) for o in orders] == [(7, 2), (7, 2)]
        session.rollback()
        with pytest.raises(StaleDataError):
            session.bulk_update_mappings(Order, rows)
        session.rollback()


def test_a_key_of_another_type(db: Engines) -> None:
    """The key goes through its type on the way into the WHERE."""
    with Session(db.sync) as session:
        parcel = Parcel(label="a")
        session.add(parcel)
        session.commit()
        parcel.label = "b"
        session.commit()
        assert parcel.record_version == 2


def test_a_name_that_has_to_be_quoted(db: Engines) -> None:
    """A flush, a verb and a bulk UPDATE bind a version called ``_ver%no``."""
    with CasSession(db.sync) as session:
        obj = Percent()
        session.add(obj)
        session.commit()
        obj.n = 1
        session.commit()
        assert obj.save_if_current(session).record_version == 3
        session.execute(update(Percent).values(n=5))
        session.commit()
        assert obj.version == 4
        session.delete(obj)
        session.commit()


# -- refusals ------------------------------------------------------------------------------------------------


def test_a_stale_update_then_the_session_goes_on(db: Engines) -> None:
    """After the rollback the objects are what the rows are, and may be written again."""
    with Session(db.sync) as session, Session(db.sync) as rival:
        order = _order(session, title="a")
        key = _key(session, order)
        assert order.title == "a"
        session.rollback()
        theirs = rival.get_one(Order, key)
        theirs.title = "theirs"
        rival.commit()
        order.title = "mine"
        with pytest.raises(StaleDataError):
            session.commit()
        session.rollback()
        assert session.get_one(Order, key) is order
        assert (order.title, order.record_version) == ("theirs", 2)
        order.title = "again"
        session.commit()
        assert order.record_version == 3


def test_one_stale_delete_of_two(db: Engines) -> None:
    """Neither row is deleted."""
    with Session(db.sync) as session:
        first, second = _order(session), _order(session)
        key = _key(session, first)
        assert (first.n, second.n) == (0, 0)
        session.commit()
        bump(db, Order, key)
        session.delete(first)
        session.delete(second)
        with pytest.raises(StaleDataError):
            session.commit()
        session.rollback()
        assert session.scalar(select(func.count()).select_from(Order)) == 2
        session.refresh(first)
        session.delete(first)
        session.delete(second)
        session.commit()
        assert session.scalar(select(func.count()).select_from(Order)) == 0


@pytest.mark.parametrize("change", ["update", "delete"])
def test_the_program_does_not_choose_the_version(db: Engines, change: str) -> None:
    """SQLAlchemy takes an assigned version as the next one; here it is refused, loaded or expired."""
    with Session(db.sync) as session:
        order = _order(session)
        for load in (True, False):
            if load:
                assert order.n == 0
            order.record_version = 5
            if change == "delete":
                session.delete(order)
            with pytest.raises(InvalidExpectation):
                session.flush()
            session.rollback()
        assert order.record_version == 1


def test_a_lock_compares_a_loaded_object(db: Engines) -> None:
    """``get(with_for_update=…)`` of an object that is older than its row is refused; a refresh heals."""
    with Session(db.sync) as session:
        order = _order(session)
        key = _key(session, order)
        assert order.n == 0
        session.commit()
        session.get_one(Order, key)
        session.expire_on_commit = False
        session.commit()
        bump(db, Order, key)
        with pytest.raises(StaleDataError):
            session.get(Order, key, with_for_update=True)
        session.refresh(order, with_for_update=True)
        assert session.get(Order, key, with_for_update=True) is order
        session.close()
        found = session.get(Order, key, with_for_update=True)
        assert found is not None and found.record_version == 2


def test_a_lock_on_a_stranger_compares_nothing(db: Engines) -> None:
    """A class without a version has none to compare."""
    with Session(db.sync, expire_on_commit=False) as session:
        session.add(customer := Customer(name="a"))
        session.commit()
        assert session.get(Customer, customer.id, with_for_update=True) is customer


def test_a_lock_that_would_wait(db: Engines) -> None:
    """NOWAIT is an error of the database's; once the rival has committed a refresh sees its version."""
    if db.sync.dialect.name == "sqlite":
        pytest.skip("no row locks")
    with Session(db.sync) as session, Session(db.sync) as rival:
        order = _order(session)
        theirs = rival.get_one(Order, _key(session, order), with_for_update=True)
        theirs.n = 1
        with pytest.raises(DBAPIError):
            session.refresh(order, with_for_update={"nowait": True})
        session.rollback()
        rival.commit()
        session.refresh(order, with_for_update={"nowait": True})
        assert order.record_version == theirs.record_version == 2


@pytest.mark.parametrize("held", [True, False])
def test_merge_compares_the_version_that_is_given(db: Engines, held: bool) -> None:
    """The right one is written, an older one refused, whether the session holds the row's object or not."""
    with Session(db.sync) as session:
        order = _order(session)
        key = _key(session, order)
        merged = session.merge(Order(id=key, title="b", record_version=1))
        assert merged is order
        session.commit()
        assert order.record_version == 2
        if not held:
            session.close()
        with pytest.raises(StaleDataError):
            session.merge(Order(id=key, title="c", record_version=1))
        assert session.is_active
        session.commit()
        assert session.get_one(Order, key).title == "b"


@pytest.mark.parametrize("change", ["update", "delete"])
def test_a_database_that_cannot_count(db: Engines, change: str) -> None:
    """SQLAlchemy warns and writes without the check; here the flush is refused. Inserts need no count."""
    engine = create_engine(db.sync.url)
    with Session(engine, expire_on_commit=False) as session:
        order = _order(session)
        engine.dispose()
        engine = create_engine(db.sync.url)
        engine.dialect.supports_sane_rowcount = False
        session.bind = engine
        _order(session)
        order.n = 1
        if change == "delete":
            session.delete(order)
        with pytest.raises(UnsupportedBackend, match="rows"):
            session.flush()
        session.rollback()
        with pytest.raises(UnsupportedBackend, match="rows"):
            order.save_if_current(session)
    engine.dispose()


# -- relationships -------------------------------------------------------------------------------------------


def _nodes(session: Session, *, insert: bool = True) -> tuple[Node, Node]:
    first, second = Node(id=1), Node(id=2)
    if insert:
        session.add_all([first, second])
        session.flush()
    return first, second


POINTERS = {
    "o2m": (lambda a, b: a.children.append(b), (1, 2)),
    "m2o": (lambda a, b: setattr(a, "parent", b), (2, 1)),
    "o2m later": (lambda a, b: a.followers.append(b), (1, 2)),
    "m2o later": (lambda a, b: setattr(a, "other", b), (2, 1)),
}


@pytest.mark.parametrize(("point", "versions"), POINTERS.values(), ids=POINTERS)
def test_the_row_that_holds_the_pointer_counts(db: Engines, point: Any, versions: tuple[int, int]) -> None:
    """The other end does not, and neither does when both are inserted with it."""
    with Session(db.sync) as session:
        first, second = _nodes(session)
        point(first, second)
        session.flush()
        assert (first.record_version, second.record_version) == versions
    with Session(db.sync) as session:
        first, second = _nodes(session, insert=False)
        point(first, second)
        session.add_all([first, second])
        session.flush()
        assert (first.record_version, second.record_version) == (1, 1)


@pytest.mark.parametrize(("point", "versions"), POINTERS.values(), ids=POINTERS)
def test_a_pointer_into_a_stale_row_is_refused(db: Engines, point: Any, versions: tuple[int, int]) -> None:
    """The late UPDATE of a pointer is compared like any other."""
    with Session(db.sync) as session:
        nodes = _nodes(session)
        stale = nodes[versions.index(2)]
        point(*nodes)
        with session.no_autoflush:
            table: Any = Node.__table__
            session.connection().execute(update(table).where(table.c.id == stale.id).values(record_version=3))
        with pytest.raises(StaleDataError):
            session.flush()
        session.rollback()


@pytest.mark.parametrize("rival", [False, True], ids=["alone", "rival"])
def test_a_collection_without_backref_compares_what_was_seen(db: Engines, rival: bool) -> None:
    """Only the flush knows that it writes the child; its expired version is not compared with itself."""
    with Session(db.sync) as session:
        first, second = _nodes(session)
        session.commit()
        if rival:
            bump(db, Node, 2)
        first.children.append(second)
        assert "record_version" not in second.__dict__
        if rival:
            with pytest.raises(StaleDataError):
                session.commit()
        else:
            session.commit()
            assert second.record_version == 2
        session.rollback()


@pytest.mark.parametrize("rival", [False, True], ids=["alone", "rival"])
def test_an_orphan_is_compared_with_what_was_seen(db: Engines, rival: bool) -> None:
    """Only the flush knows that it deletes it, and its version is expired."""
    with Session(db.sync, expire_on_commit=False) as session:
        badge = Badge(code="a")
        owner = Owner(code="a", badge=badge)
        session.add(owner)
        session.commit()
        session.expire(badge)
        if rival:
            bump(db, Badge, "a")
        owner.badge = None
        assert badge not in session.deleted
        assert "record_version" not in badge.__dict__
        if rival:
            with pytest.raises(StaleDataError):
                session.commit()
            session.rollback()
        else:
            session.commit()
        assert len(session.scalars(select(Badge.code)).all()) == rival


def test_a_refused_child_is_not_written_for_its_parent(db: Engines) -> None:
    """The fence stands in a flush that nobody asked to write the object; after a refresh it is written."""
    with Session(db.sync) as session:
        first, second = _nodes(session)
        session.commit()
        assert (first.children, second.parent_id) == ([], None)
        bump(db, Node, 2)
        assert not second.try_save_if_current(session)
        first.children.append(second)
        with pytest.raises(ErrRecordVersionConflict) as caught:
            session.commit()
        assert caught.value.fenced
        session.rollback()
        session.refresh(second)
        first.children.append(second)
        session.commit()
        assert (second.parent_id, second.record_version) == (1, 3)


def test_a_delete_after_a_late_pointer(db: Engines) -> None:
    """The UPDATE that takes the pointer back counts, and the DELETE compares with what it has counted."""
    with Session(db.sync) as session:
        first, second = _nodes(session)
        first.other = second
        session.commit()
        assert first.record_version == 1 + 1
        session.delete(first)
        session.commit()
        assert session.scalars(select(Node.id)).all() == [2]


def test_a_new_child_is_no_change_of_its_parent(db: Engines) -> None:
    """The parent's own row is not written, so its version stands, and a stale parent is not noticed."""
    with Session(db.sync) as session:
        cart = Cart(name="a")
        session.add(cart)
        session.commit()
        key = _key(session, cart)
        session.add(CartLine(sku="x", cart=cart))
        session.commit()
        assert cart.record_version == 1
        session.rollback()
        bump(db, Cart, key)
        cart.lines.append(CartLine(sku="y"))
        session.commit()
        assert (cart.record_version, len(cart.lines)) == (2, 2)


# -- one key, several lives ----------------------------------------------------------------------------------


def test_deleted_and_added_in_one_flush(db: Engines) -> None:
    """The row goes on, and so does its count."""
    with Session(db.sync) as session:
        session.add(Slot(code="a", label="old"))
        session.commit()
        session.delete(session.get_one(Slot, "a"))
        slot = Slot(code="a", label="new")
        session.add(slot)
        session.commit()
        assert (slot.label, slot.record_version) == ("new", 2)
        assert slot.save_if_current(session).record_version == 3
        session.commit()


def test_a_child_that_takes_its_parents_key(db: Engines) -> None:
    """Replaced, it goes on in the same row."""
    with Session(db.sync) as session:
        owner = Owner(code="a", badge=Badge(text="old"))
        session.add(owner)
        session.commit()
        owner.badge = Badge(text="new")
        session.commit()
        assert owner.badge is not None
        assert (owner.record_version, owner.badge.text, owner.badge.record_version) == (1, "new", 2)
        session.delete(owner)
        session.commit()
        assert session.scalars(select(Badge)).all() == []


def test_deleted_and_inserted_by_another(db: Engines) -> None:
    """A row that begins again is not the one that was read; unless it was never written, its number tells."""
    with Session(db.sync) as session:
        slot = Slot(code="a", label="old")
        session.add(slot)
        session.commit()
        slot.label = "older"
        session.commit()
        assert slot.record_version == 2
        session.rollback()
        with Session(db.sync) as rival:
            rival.delete(rival.get_one(Slot, "a"))
            rival.commit()
            rival.add(Slot(code="a", label="theirs"))
            rival.commit()
        slot.label = "mine"
        with pytest.raises(StaleDataError):
            session.commit()
        session.rollback()
        assert slot.label == "theirs"


# -- inheritance, and mappings of other kinds ----------------------------------------------------------------


def test_a_change_of_the_childs_table_counts_in_the_parents(db: Engines) -> None:
    """The parent's row holds the version of both, and is compared first."""
    with Session(db.sync) as session:
        book = Book(name="a", pages=1)
        session.add(book)
        session.commit()
        book.pages = 2
        session.commit()
        assert book.record_version == 2
        key = _key(session, book)
        assert book.pages == 2
        session.commit()
        bump(db, Item, key)
        book.pages = 3
        with pytest.raises(StaleDataError):
            session.commit()
        session.rollback()
        assert book.pages == 2


def test_a_class_that_is_mapped_to_a_select(db: Engines) -> None:
    """Its key is no column of the version's table: refused by name, at its first use."""

    class Current(CasVerbsMixin):
        cas_version_field = "record_version"

    order: Any = Order.__table__
    rows = order.select().where(order.c.id > 0).alias("current")
    registry().map_imperatively(Current, rows, version_id_col=order.c.record_version)
    with Session(db.sync) as session:
        _order(session)
        current = session.scalars(select(Current)).one()
        current.title = "mine"  # type: ignore[attr-defined]
        with pytest.raises(UnsupportedBackend):
            session.flush()
        session.expunge_all()


def test_an_unversioned_column_counts_in_a_flush(db: Engines) -> None:
    """A flush does not know which columns are nobody's conflict; the verbs and a bulk UPDATE do."""
    with CasSession(db.sync) as session:
        device = Device()
        session.add(device)
        session.commit()
        device.hits = 1
        session.commit()
        assert device.record_version == 2
        key = _key(session, device)
        assert device.hits == 1
        session.commit()
        bump(db, Device, key)
        device.hits = 2
        with pytest.raises(ErrRecordVersionConflict):
            session.commit()
        session.rollback()


def test_a_delete_statement_passes_by(db: Engines) -> None:
    """Its WHERE is all that is compared."""
    with Session(db.sync) as session:
        order = _order(session)
        session.execute(delete(Order).where(Order.id == _key(session, order)))
        session.commit()
        assert session.scalars(select(Order)).all() == []
