"""UPDATE statements through a `CasSession`."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import ForeignKey, bindparam, delete, func, insert, select, update
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.orm import Mapped, Session, aliased, mapped_column
from sqlalchemy.orm.exc import StaleDataError

from cas_orm import ErrRecordVersionConflict, Expect, InvalidExpectation, MissingExpectation, Verdict
from cas_orm_sqla import CasSession, RecordVersionMixin, bulk_guard
from tests.sqla.databases import Engines
from tests.sqla.shapes import Book, Item, Peculiar, Point, Voucher
from tests.sqla.shop import Base, Customer, Device, Doc, Legacy, Order, Slot

TABLE: Any = Order.__table__


def _orders(session: Session) -> tuple[Order, Order]:
    first, second = Order(title="a", n=1), Order(title="b", n=2)
    session.add_all([first, second])
    session.commit()
    assert (first.n, second.n) == (1, 2)
    return first, second


UPDATES = {
    "orm": lambda session: session.execute(update(Order).where(Order.title == "a").values(n=9)),
    "query": lambda session: session.query(Order).filter_by(title="a").update({"n": 9}),
    "core": lambda session: session.execute(update(TABLE).where(TABLE.c.title == "a").values(n=9)),
    "evaluate": lambda session: session.execute(
        update(Order).where(Order.title == "a").values(n=9),
        execution_options={"synchronize_session": "evaluate"},
    ),
}


@pytest.mark.parametrize("door", UPDATES)
def test_an_update_bumps_what_it_writes(db: Engines, door: str) -> None:
    """A stranger's older copy is refused; rows that did not match keep their version."""
    with CasSession(db.sync) as session, Session(db.sync) as other:
        first, second = _orders(session)
        old = other.get_one(Order, first.id)
        assert old.n == 1
        other.commit()
        UPDATES[door](session)
        session.commit()
        assert (first.n, first.record_version, second.n, second.record_version) == (9, 2, 2, 1)
        assert old.try_save_if_current(other).verdict is Verdict.STALE


def test_a_row_that_did_not_match_is_not_believed_to_be_bumped(db: Engines) -> None:
    """An object that matches in memory but not in the database keeps its version."""
    with CasSession(db.sync) as session:
        first, _ = _orders(session)
        key = first.id
        with db.sync.begin() as connection:
            connection.execute(update(TABLE).where(TABLE.c.id == key).values(title="c"))
        session.execute(update(Order).where(Order.title == "a").values(n=9))
        assert Expect.of(first) == Expect(record_version=1, run_seq=0)
        assert first.n == 1
        session.rollback()


def test_other_classes_are_left_alone(db: Engines) -> None:
    """A class without the library has no version to bump."""
    with CasSession(db.sync) as session:
        session.add(Customer(name="a"))
        session.commit()
        session.execute(update(Customer).values(name="b"))
        session.commit()


@pytest.mark.parametrize(("model", "name", "value"), [(Legacy, "title", "x"), (Peculiar, "n", 5)])
def test_columns_of_other_names(db: Engines, model: type[Any], name: str, value: object) -> None:
    """The version goes by its attribute whatever the column is called."""
    with CasSession(db.sync) as session:
        obj = model()
        session.add(obj)
        session.commit()
        session.execute(update(model).values({name: value}))
        session.commit()
        assert getattr(obj, name) == value
        assert obj.save_if_current(session).record_version == 3


@pytest.mark.parametrize(
    "statement",
    [
        lambda: (update(Order).values(record_version=7),),
        lambda: (update(Order).values({Order.run_seq: 7}),),
        lambda: (update(TABLE).values(record_version=7),),
        lambda: (update(Order), {"id": 1, "n": 7}),
        lambda: (update(Order), {"record_version": 7}),
        lambda: (update(Order).where(Order.n == 1), [{"id": 1, "record_version": 1, "n": 7}]),
        lambda: (update(Order), [{"id": 1, "record_version": 1, "run_seq": 7}]),
        lambda: (update(Order).ordered_values((Order.n, 7)),),
        lambda: (update(aliased(Order)).values(n=7),),
        lambda: (update(TABLE.alias()).values(n=7),),
    ],
)
def test_refused_before_any_sql(db: Engines, statement: Any) -> None:
    """What writes the numbers, the whole table by mistake, or by key without the check."""
    with CasSession(db.sync) as session:
        _orders(session)
        with pytest.raises(InvalidExpectation):
            session.execute(*statement())
        assert session.is_active
        assert {(o.n, o.record_version) for o in session.query(Order)} == {(1, 1), (2, 1)}


def test_by_key(db: Engines) -> None:
    """A list of rows is checked row by row: all current, one stale, one without its version."""
    with CasSession(db.sync) as session:
        first, second = _orders(session)
        rows = [{"id": o.id, "record_version": 1, "n": 7} for o in (first, second)]
        session.execute(update(Order), rows)
        session.commit()
        assert (first.record_version, second.n) == (2, 7)
        rows[0]["record_version"] = 2
        key = second.id
        session.rollback()
        for write in (
            lambda: session.execute(update(Order), rows),
            lambda: session.bulk_update_mappings(Order, rows),
        ):
            with pytest.raises(ErrRecordVersionConflict) as caught:
                write()
            assert isinstance(caught.value, StaleDataError)
            assert caught.value.key == key
            session.rollback()
        del rows[0]["record_version"]
        with pytest.raises(MissingExpectation):
            session.execute(update(Order), rows)
        with pytest.raises(MissingExpectation):
            session.bulk_update_mappings(Order, rows)
        assert session.is_active


DEVICE: Any = Device.__table__
UNVERSIONED = {
    "orm": (lambda session: session.execute(update(Device).values(hits=Device.hits + 1)), 1),
    "attribute": (lambda session: session.execute(update(Device).values({Device.hits: 1})), 1),
    "query": (lambda session: session.query(Device).update({"hits": 1}), 1),
    "core": (lambda session: session.execute(update(DEVICE).values(hits=1)), 1),
    "parameters": (lambda session: session.execute(update(Device), {"hits": 1}), 1),
    "and another": (lambda session: session.execute(update(Device).values(hits=1, name="b")), 2),
    "and a parameter": (lambda session: session.execute(update(Device).values(hits=1), {"name": "b"}), 2),
    "nothing": (lambda session: session.execute(update(Device)), 2),
}


@pytest.mark.parametrize(("write", "version"), UNVERSIONED.values(), ids=UNVERSIONED)
def test_unversioned_columns_alone_do_not_bump(db: Engines, write: Any, version: int) -> None:
    """As with the verbs: nobody who read the row is refused for a heartbeat."""
    with CasSession(db.sync) as session, Session(db.sync) as other:
        device = Device(name="a")
        session.add(device)
        session.commit()
        key = device.id
        session.rollback()
        old = other.get_one(Device, key)
        assert old.hits == 0
        other.commit()
        write(session)
        session.commit()
        assert device.record_version == version
        old.name = "theirs"
        assert bool(old.try_save_if_current(other)) is (version == 1)
        other.rollback()


def test_without_sqlalchemys_private_name_every_update_bumps(
    db: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bump too many refuses somebody, one too few would overwrite; nobody chooses the version."""
    monkeypatch.setattr(bulk_guard, "_VALUES", "gone_in_some_later_version")
    with CasSession(db.sync) as session:
        device = Device(name="a")
        session.add(device)
        session.commit()
        session.execute(update(Device).values(hits=1))
        session.execute(update(Device).values(record_version=70))
        session.commit()
        assert (device.hits, device.record_version) == (1, 3)


def _upsert(db: Engines, model: Any, key: str, new: dict[str, Any], set_: dict[str, Any] | None) -> Any:
    """Return an INSERT that overwrites, or without ``set_`` one that gives way."""
    if db.sync.dialect.name in ("mysql", "mariadb"):
        statement = mysql.insert(model).values(**new)
        return statement.prefix_with("IGNORE") if set_ is None else statement.on_duplicate_key_update(set_)
    dialect: Any = postgresql if db.sync.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(model).values(**new)
    if set_ is None:
        return statement.on_conflict_do_nothing()
    return statement.on_conflict_do_update(index_elements=[key], set_=set_)


@pytest.mark.parametrize("model", [Slot, Slot.__table__], ids=["orm", "core"])
@pytest.mark.parametrize("set_", [{"label": "b"}, {"record_version": 1}], ids=["label", "version"])
def test_an_upsert_is_refused(db: Engines, model: Any, set_: dict[str, Any]) -> None:
    """It would overwrite without a comparison; one that gives way to the row, or an INSERT, is accepted."""
    with CasSession(db.sync) as session:
        new = {"code": "a", "label": "a"}
        session.execute(insert(model).values(**new))
        with pytest.raises(InvalidExpectation, match="on conflict"):
            session.execute(_upsert(db, model, "code", new, set_))
        session.execute(_upsert(db, model, "code", {**new, "label": "c"}, None))
        session.commit()
        slot = session.scalars(select(Slot)).one()
        assert (slot.label, slot.record_version) == ("a", 1)
    with CasSession(db.sync) as session:  # a stranger's table is nobody's business
        customer = {"id": 1, "name": "a"}
        session.execute(_upsert(db, Customer, "id", customer, {"name": "b"}))
        session.rollback()


@pytest.mark.parametrize("form", ["values", "rows", "mappings", "objects"])
@pytest.mark.parametrize("model", [Doc, Point])
def test_every_insert_starts_at_one(db: Engines, form: str, model: Any) -> None:
    """What passes the flush by is numbered as a flush numbers."""
    with CasSession(db.sync) as session:
        if form == "values":
            session.execute(insert(model).values())
        elif form == "rows":
            session.execute(insert(model), [{}, {}])
        elif form == "mappings":
            session.bulk_insert_mappings(model, [{}, {"record_version": 9}])
        else:
            session.bulk_save_objects([model(), model()])
        session.commit()
        assert set(session.scalars(select(model.record_version))) == {1}
        assert session.scalars(select(model)).first().save_if_current(session).record_version == 2
        session.rollback()


def test_objects_that_have_a_row_are_not_saved_in_bulk(db: Engines) -> None:
    """Refused attached and detached; new ones, and a stranger's, are accepted."""
    with CasSession(db.sync) as session:
        first, second = _orders(session)
        session.expunge(second)
        for order in (first, second):
            order.n = 9
            with pytest.raises(InvalidExpectation, match="bulk_save_objects"):
                session.bulk_save_objects([Order(), order])
        session.expire(first)
        session.add(customer := Customer(name="a"))
        session.commit()
        assert customer.name == "a"
        session.expunge(customer)
        customer.name = "b"
        session.bulk_save_objects([customer, Order(n=7)])
        session.commit()
        assert set(session.scalars(select(Order.n))) == {1, 2, 7}
        assert session.scalars(select(Customer.name)).one() == "b"


def test_a_bulk_delete_compares_nothing(db: Engines) -> None:
    """Documented: its WHERE is all that it believes. Put the version there, or use the verb."""
    with CasSession(db.sync) as session:
        first, second = _orders(session)
        session.execute(delete(Order).where(Order.id == first.id, Order.record_version == 9))
        session.execute(delete(Order).where(Order.id == second.id))
        session.commit()
        assert session.scalars(select(Order.title)).all() == ["a"]


def test_joined_inheritance(db: Engines) -> None:
    """The child's UPDATE cannot reach the version's table: refused. One table for both is no obstacle."""
    with CasSession(db.sync) as session:
        book, voucher = Book(name="a", pages=1), Voucher(name="b", amount=1)
        session.add_all([book, voucher])
        session.commit()
        for values in ({"pages": 2}, {"name": "c"}):
            with pytest.raises(InvalidExpectation, match="item"):
                session.execute(update(Book).values(**values))
        session.execute(update(Voucher).values(amount=2))
        session.commit()
        assert (book.record_version, voucher.record_version, voucher.amount) == (1, 2, 2)


def test_a_childs_own_table(db: Engines) -> None:
    """A Core UPDATE of it cannot reach the version either; its INSERT is accepted, an upsert refused."""
    with CasSession(db.sync) as session:
        book = Book(name="a", pages=1)
        session.add(book)
        session.commit()
        table: Any = Book.__table__
        with pytest.raises(InvalidExpectation, match="item"):
            session.execute(update(table).values(pages=2))
        with pytest.raises(InvalidExpectation):
            session.execute(_upsert(db, table, "id", {"id": book.id, "pages": 3}, {"pages": 3}))
        item = Item(name="b")
        session.add(item)
        session.flush()
        session.execute(insert(table).values(id=item.id, pages=4))
        session.execute(update(Item.__table__).values(name="c"))
        session.commit()
        assert (book.pages, book.record_version, book.name) == (1, 2, "c")


class Crew(Base):
    """A class without the library, one of whose children has it."""

    __tablename__ = "crew"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(default="")


class CrewPilot(RecordVersionMixin, Crew):
    """The version is in the child's table."""

    __tablename__ = "crew_pilot"

    id: Mapped[int] = mapped_column(ForeignKey(Crew.id), primary_key=True)
    hours: Mapped[int] = mapped_column(default=0)


def test_the_table_of_an_unguarded_parent(db: Engines) -> None:
    """It is nobody's to guard; the child's is."""
    with CasSession(db.sync) as session:
        pilot = CrewPilot(name="a")
        session.add_all([pilot, Crew(name="b")])
        session.commit()
        session.execute(update(Crew.__table__).values(name="c"))
        session.execute(update(Crew).values(name="c"))
        session.execute(update(CrewPilot.__table__).values(hours=1))
        session.commit()
        assert (pilot.name, pilot.hours, pilot.record_version) == ("c", 1, 2)


@pytest.mark.parametrize("as_list", [True, False])
def test_a_where_with_parameters(db: Engines, as_list: bool) -> None:
    """One set of parameters is an UPDATE like any other; a list of them goes by key, and is refused."""
    with CasSession(db.sync) as session:
        _orders(session)
        statement = update(Order).where(Order.title == bindparam("old")).values(n=bindparam("new"))
        if as_list:
            with pytest.raises(InvalidExpectation):
                session.execute(statement, [{"old": "a", "new": 7}, {"old": "b", "new": 8}])
        else:
            session.execute(statement, {"old": "a", "new": 7})
        session.commit()
        rows = select(Order.n, Order.record_version).order_by(Order.title)
        assert session.execute(rows).all() == ([(1, 1), (2, 1)] if as_list else [(7, 2), (2, 1)])


def test_an_update_inside_from_statement(db: Engines) -> None:
    """Refused there; with its own RETURNING it is accepted and bumps."""
    if not db.sync.dialect.update_returning:
        pytest.skip("no UPDATE … RETURNING")
    with CasSession(db.sync) as session:
        _orders(session)
        statement = update(Order).where(Order.title == "a").values(n=7).returning(Order)
        with pytest.raises(InvalidExpectation, match="from_statement"):
            session.scalars(select(Order).from_statement(statement))
        assert session.scalars(statement).one().record_version == 2
        assert session.scalar(select(func.count()).select_from(Order)) == 2
        session.rollback()
