"""Attributes that are not plain columns: composites, hybrids, synonyms, relationships."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Column, ForeignKey, String, Table, func, inspect, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

from cas_orm import Expect, InvalidExpectation, Verdict
from cas_orm_sqla import RecordVersionMixin, try_delete_if_current, try_update_if_current
from cas_orm_sqla.columns import columns_of
from tests.sqla.databases import Engines
from tests.sqla.forms import Album, Board, Course, Lamp, Note, Picture, Pupil, Shelf, Size, Song, Spot
from tests.sqla.shapes import Book, Invoice, Item, Voucher
from tests.sqla.shop import Cart, Doc
from tests.sqla.watching import afresh, loaded, rival, updates


def _insert(session: Session, model: type[Any], **values: Any) -> Any:
    obj = model(**values)
    session.add(obj)
    session.commit()
    session.refresh(obj)
    return obj


def _count(session: Session, model: type[Any]) -> int:
    return session.execute(select(func.count()).select_from(model)).scalar_one()


# -- composites --------------------------------------------------------------------------------------------


def test_a_composite_is_written_as_its_columns(db: Engines) -> None:
    """Assigned whole, or changed in place; nothing is left for the next flush."""
    with Session(db.sync, expire_on_commit=False) as session:
        picture = _insert(session, Picture)
        assert (picture.spot, picture.size) == (Spot(0, 0), Size(1, 1))
        picture.spot = Spot(3, 0)
        with updates(db.sync) as sent:
            picture.save_if_current(session)
            picture.size.width = 5
            picture.save_if_current(session)
            session.commit()
        assert sent == [("picture", {"left", "record_version"}), ("picture", {"width", "record_version"})]
        shown = loaded(picture)
        assert {"spot", "size"} <= shown.keys()
        assert shown == afresh(db.sync, picture, *shown)


def test_a_composite_follows_its_columns(db: Engines) -> None:
    """After an update of a column it shows the new value, and goes on telling of changes in place."""
    with Session(db.sync, expire_on_commit=False) as session:
        picture = _insert(session, Picture)
        assert (picture.spot, picture.size) == (Spot(0, 0), Size(1, 1))
        picture.update_if_current(session, expect=Expect(left=0), set={"left": 4, "width": Picture.width + 1})
        assert (picture.spot, picture.size) == (Spot(4, 0), Size(2, 1))
        picture.size.height = 9
        picture.save_if_current(session)
        session.commit()
        assert afresh(db.sync, picture, "size") == {"size": Size(2, 9)}


def test_a_refused_composite_stays_as_set(db: Engines) -> None:
    """The object keeps it; a refresh brings the row's."""
    with Session(db.sync, expire_on_commit=False) as session:
        picture = _insert(session, Picture)
        rival(db.sync, picture, width=7)
        picture.spot, picture.size.height = Spot(1, 1), 8
        assert picture.try_save_if_current(session).verdict is Verdict.STALE
        assert (picture.spot, picture.size) == (Spot(1, 1), Size(1, 8))
        session.rollback()
        session.refresh(picture)
        assert (picture.spot, picture.size) == (Spot(0, 0), Size(7, 1))


def test_composite_names(db: Engines) -> None:
    """``update_fields`` takes the whole; a belief and ``set`` name the columns, and say which."""
    with Session(db.sync) as session:
        picture = _insert(session, Picture)
        picture.spot, picture.title = Spot(1, 2), "t"
        with updates(db.sync) as sent:
            picture.save_if_current(session, update_fields=["spot"])
        assert sent == [("picture", {"left", "top", "record_version"})]
        assert picture.save_if_current(session, expect=Expect(left=1, top=2))
        for call in (
            lambda: picture.save_if_current(session, expect=Expect(spot="x")),
            lambda: picture.update_if_current(session, expect=Expect(left=1), set={"spot": Spot(3, 3)}),
        ):
            with pytest.raises(InvalidExpectation, match="spot is a composite; name its columns: left, top"):
                call()


# -- synonyms and hybrids ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["name", "label"])
def test_a_synonym_stands_for_its_column(db: Engines, name: str) -> None:
    """In a belief, in ``set``, in ``update_fields``, in ``Expect.of``; outcomes speak of the column."""
    with Session(db.sync) as session:
        picture = _insert(session, Picture, title="a")
        setattr(picture, name, "b")
        assert picture.save_if_current(session, expect=Expect(**{name: "a"}), update_fields=[name])
        assert picture.update_if_current(session, expect=Expect.of(picture, name), set={name: "c"})
        assert (picture.title, picture.record_version) == ("c", 3)
        outcome = picture.try_save_if_current(session, expect=Expect(**{name: "a"}))
        assert (outcome.verdict, outcome.actual) == (
            Verdict.WRONG_STATE,
            {"record_version": 3, "run_seq": 0, "title": "c"},
        )


@pytest.mark.parametrize("values", [{"net": 1, "netto": 2}, {"netto": 2, "net": 1}, {"net": 1, "netto": 1}])
def test_a_column_is_named_once(db: Engines, values: dict[str, int]) -> None:
    """A column and its synonym, in ``set`` or in a belief: nobody knows which of the two is meant."""
    with Session(db.sync) as session:
        invoice = _insert(session, Invoice)
        with pytest.raises(InvalidExpectation, match="twice"):
            invoice.update_if_current(session, expect=Expect(net=0), set=values)
        with pytest.raises(InvalidExpectation, match="twice"):
            try_update_if_current(session, Invoice, invoice.id, expect=Expect(**values), set={"tax": 1})
        assert invoice.update_if_current(session, expect=Expect(netto=0), set={"netto": 2, "tax": 1})
        session.rollback()


def test_a_hybrid_writes_through_its_setter(db: Engines) -> None:
    """What it sets is saved; the hybrid itself can neither be believed nor set, and the message says so."""
    with Session(db.sync) as session:
        picture = _insert(session, Picture, title="a", width=2, height=3)
        picture.caption = "b"
        with updates(db.sync) as sent:
            picture.save_if_current(session)
        assert sent == [("picture", {"the_title", "record_version"})]
        assert picture.caption == "B"
        for call in (
            lambda: picture.save_if_current(session, expect=Expect(area=6)),
            lambda: picture.save_if_current(session, update_fields=["area"]),
            lambda: picture.update_if_current(session, expect=Expect(width=2), set={"area": 6}),
        ):
            with pytest.raises(InvalidExpectation, match="area is a hybrid property"):
                call()
        assert picture.save_if_current(session, where=Picture.area == 6)
        assert not picture.try_save_if_current(session, where=Picture.area == 7)


@pytest.mark.parametrize(
    ("model", "name", "message"),
    [
        (Song, "album", "is a relationship; name a column, such as album_id"),
        (Board, "written", "is a relationship"),
        (Song, "nonsense", "is not a mapped attribute"),
        (Song, "metadata", "is not a mapped attribute"),
        (Song, "id", "part of the primary key"),
        (Song, "record_version", "written by the library alone"),
    ],
)
def test_what_cannot_be_set_says_why(db: Engines, model: type[Any], name: str, message: str) -> None:
    """Before any SQL."""
    with Session(db.sync) as session:
        obj = _insert(session, model)
        with pytest.raises(InvalidExpectation, match=message):
            obj.update_if_current(session, expect=Expect(record_version=1), set={name: 1})


# -- keys and relationships --------------------------------------------------------------------------------


def test_a_new_primary_key_is_refused(db: Engines) -> None:
    """A verb cannot write it, and the flush after the win would."""
    with Session(db.sync) as session:
        doc = _insert(session, Doc)
        before, doc.id, doc.title = doc.id, 99, "a"
        with pytest.raises(InvalidExpectation, match="a flush alone changes a primary key"):
            doc.save_if_current(session)
        doc.id = before
        assert doc.save_if_current(session)


def test_a_pending_parent(db: Engines) -> None:
    """Refused where its foreign key would be written; the same parent again is no change."""
    with Session(db.sync, expire_on_commit=False) as session:
        album = _insert(session, Album)
        song = _insert(session, Song, album=album)
        song.album = album
        assert song.save_if_current(session).record_version == 2
        song.album, song.title = _insert(session, Album), "a"
        with session.no_autoflush:
            session.refresh(song)
            song.album, song.title = Album(), "a"
            with pytest.raises(InvalidExpectation, match="album was assigned"):
                song.save_if_current(session)
            with pytest.raises(InvalidExpectation, match="album was assigned"):
                song.save_if_current(session, update_fields=["album_id"])
            assert song.save_if_current(session, update_fields=["title"])
        session.commit()
        assert song.album_id == song.album.id != album.id


def test_collections_do_not_matter(db: Engines) -> None:
    """Write-only, dynamic and view-only relationships: pending children stay pending, and are flushed."""
    with Session(db.sync) as session:
        board = _insert(session, Board)
        board.written.add(Note())
        board.moving.append(Note())
        board.title = "a"
        assert board.save_if_current(session).record_version == 2
        session.commit()
        assert _count(session, Note) == 2
        assert board.record_version == 2
        note = session.scalars(board.written.select()).one()
        board.written.remove(note)
        rival(db.sync, board)
        board.title = "b"
        assert not board.try_save_if_current(session)


def test_a_column_property_that_counts(db: Engines) -> None:
    """A sub-select is no part of the write: it is read again at its next use, and never believed or set."""
    with Session(db.sync) as session:
        board = _insert(session, Board, moving=[Note()])
        assert board.moved == 1
        session.add(Note(moving_id=board.id))
        session.flush()
        board.title = "a"
        with updates(db.sync) as sent:
            board.save_if_current(session)
        assert sent == [("board", {"title", "record_version"})]
        assert board.moved == 2
        with pytest.raises(InvalidExpectation, match="moved is computed by an expression"):
            board.save_if_current(session, expect=Expect(moved=2))


def _with_children(session: Session, model: type[Any]) -> tuple[Any, type[Any] | None]:
    children: dict[type[Any], tuple[type[Any] | None, dict[str, Any]]] = {
        Album: (Song, {"songs": [Song()]}),
        Shelf: (Lamp, {"lamp": Lamp()}),
        Pupil: (None, {"courses": [Course()]}),
    }
    child, values = children[model]
    return _insert(session, model, **values), child


@pytest.mark.parametrize("by_key", [False, True])
@pytest.mark.parametrize("model", [Album, Shelf, Pupil])
def test_a_delete_with_what_belongs_to_it(db: Engines, model: type[Any], by_key: bool) -> None:
    """Where the ORM would delete more, it does; where the database does, one DELETE is enough."""
    if model is Album and db.sync.dialect.name == "sqlite":
        pytest.skip("SQLite deletes no children unless it is asked to")
    with Session(db.sync) as session:
        obj, child = _with_children(session, model)
        key = inspect(obj).identity[0]
        session.expire_all()
        if by_key:
            assert try_delete_if_current(session, model, key, expect=Expect(record_version=1))
        else:
            assert obj.delete_if_current(session)
        session.commit()
        assert session.get(model, key) is None
        assert child is None or _count(session, child) == 0
        assert _count(session, Course) == (model is Pupil)


@pytest.mark.parametrize(
    ("model", "cascades"),
    [(Album, False), (Shelf, True), (Pupil, True), (Board, True), (Cart, True), (Song, False), (Item, True)],
)
def test_what_cascades(model: type[Any], cascades: bool) -> None:
    """passive_deletes="all" leaves it to the database; subclasses with tables of their own count."""
    assert columns_of(model).cascades is cascades


def test_rows_between_two_classes_cascade() -> None:
    """The ORM deletes the loaded rows of a secondary table, whatever passive_deletes says."""

    class Apart(DeclarativeBase):
        """Never created."""

    between = Table(
        "between",
        Apart.metadata,
        Column("left_id", ForeignKey("left.id"), primary_key=True),
        Column("right_id", ForeignKey("right.id"), primary_key=True),
    )

    class Right(Apart):
        __tablename__ = "right"
        id: Mapped[int] = mapped_column(primary_key=True)

    class Left(RecordVersionMixin, Apart):
        __tablename__ = "left"
        id: Mapped[int] = mapped_column(primary_key=True)
        rights: Mapped[list[Right]] = relationship(Right, secondary=between, passive_deletes="all")

    assert columns_of(Left).cascades


def test_a_delete_by_the_key_of_a_subclass(db: Engines) -> None:
    """A row that is named as its base class goes from both tables."""
    with Session(db.sync) as session:
        book = _insert(session, Book)
        assert try_delete_if_current(session, Item, book.id, expect=Expect(record_version=1))
        session.commit()
        assert (_count(session, Item), _count(session, Book)) == (0, 0)


async def test_no_io_after_an_async_verb(db: Engines) -> None:
    """Composites are readable without a query."""
    async with AsyncSession(db.asynchronous, expire_on_commit=False) as session:
        picture = Picture()
        session.add(picture)
        await session.commit()
        await session.refresh(picture)
        assert (picture.spot, picture.size) == (Spot(0, 0), Size(1, 1))
        picture.spot = Spot(1, 1)
        await picture.asave_if_current(session)
        assert (picture.spot, picture.size) == (Spot(1, 1), Size(1, 1))
        await picture.aupdate_if_current(
            session, expect=Expect(left=1), set={"left": Picture.left + 1, "height": 4}
        )
        await session.refresh(picture)  # what only the database knows is expired where it hands nothing back
        assert (picture.spot, picture.size, picture.area) == (Spot(2, 1), Size(1, 4), 4)
        await session.commit()
        rival(db.sync, picture)
        picture.size.width = 5
        assert not await picture.atry_save_if_current(session)
        assert (picture.spot, picture.size) == (Spot(2, 1), Size(5, 4))
        await session.rollback()


@pytest.mark.parametrize(("model", "other"), [(Voucher, Item), (Book, Voucher)])
def test_a_key_of_another_class(db: Engines, model: type[Any], other: type[Any]) -> None:
    """By key a class writes its own rows only."""
    with Session(db.sync) as session:
        obj = _insert(session, other)
        outcome = try_update_if_current(
            session, model, obj.id, expect=Expect(record_version=1), set={"name": "x"}
        )
        assert outcome.verdict is Verdict.MISSING
        session.commit()
        assert (obj.name, obj.record_version) == ("", 1)


@pytest.mark.parametrize("joined", [False, True])
def test_a_subclass_that_is_mapped_late(db: Engines, joined: bool) -> None:
    """Its rows are of its parent's class, also after the parent's first verb."""

    class Apart(DeclarativeBase):
        """Tables of this test."""

    class Animal(RecordVersionMixin, Apart):
        __tablename__ = "animal"
        id: Mapped[int] = mapped_column(primary_key=True)
        kind: Mapped[str] = mapped_column(String(10))
        n: Mapped[int] = mapped_column(default=0)
        __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "animal"}

    class Dog(Animal):
        __mapper_args__ = {"polymorphic_identity": "dog"}

    class Cat(Animal):
        __mapper_args__ = {"polymorphic_identity": "cat"}

    Apart.metadata.create_all(db.sync)
    try:
        with Session(db.sync) as session:
            dog, cat = _insert(session, Dog), _insert(session, Cat)
            by_key = {"expect": Expect(record_version=1), "set": {"n": 1}}
            assert try_update_if_current(session, Dog, dog.id, **by_key)

            class Puppy(Dog):
                if joined:
                    __tablename__ = "puppy"
                    id: Mapped[int] = mapped_column(ForeignKey(Animal.id), primary_key=True)
                __mapper_args__ = {"polymorphic_identity": "puppy"}

            session.commit()
            Apart.metadata.create_all(db.sync)
            puppy = _insert(session, Puppy)
            assert try_update_if_current(session, Dog, puppy.id, **by_key).verdict is Verdict.WON
            assert try_update_if_current(session, Dog, cat.id, **by_key).verdict is Verdict.MISSING
            assert columns_of(Dog).cascades is joined
            session.commit()
    finally:
        Apart.metadata.drop_all(db.sync)
