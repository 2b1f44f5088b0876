"""Ways to map a class, one of each; they share the tables' metadata with the shop."""

from __future__ import annotations

import dataclasses
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    String,
    Table,
    func,
    select,
)
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.ext.mutable import MutableComposite
from sqlalchemy.orm import (
    DynamicMapped,
    Mapped,
    WriteOnlyMapped,
    column_property,
    composite,
    mapped_column,
    registry,
    relationship,
    synonym,
)

from cas_orm_sqla import (
    CasDataclassMixin,
    CasMixin,
    CasVerbsMixin,
    RecordVersionMixin,
    WriteTokenDataclassMixin,
)
from tests.sqla.shapes import DataBase
from tests.sqla.shop import Base


class Spaced(CasVerbsMixin):
    """Names that need quoting, and names that parameters cannot have."""

    cas_version_field = "rec ver (1)"
    cas_generation_field = "gen%"


spaced_table = Table(
    "spaced %table",
    Base.metadata,
    Column("the id", Integer, primary_key=True),
    Column("rec ver%", BigInteger, nullable=False),
    Column("gen:er", BigInteger, nullable=False, default=0),
    Column("a % b", String(50), default=""),
    Column("c.d[e]", Integer, default=0),
)
registry(metadata=Base.metadata).map_imperatively(
    Spaced,
    spaced_table,
    properties={
        "my id": spaced_table.c["the id"],
        "rec ver (1)": spaced_table.c["rec ver%"],
        "gen%": spaced_table.c["gen:er"],
        "a % b": spaced_table.c["a % b"],
        "c.d": spaced_table.c["c.d[e]"],
    },
)


class Keyless(CasVerbsMixin):
    """The table has no primary key; the mapper is told one."""

    cas_version_field = "ver"


keyless_table = Table(
    "keyless",
    Base.metadata,
    Column("number", Integer, nullable=False, unique=True),
    Column("ver", BigInteger, nullable=False),
    Column("title", String(50), default=""),
)
registry(metadata=Base.metadata).map_imperatively(
    Keyless, keyless_table, primary_key=[keyless_table.c.number]
)


class Own(CasVerbsMixin, Base):
    """SQLAlchemy's own versioning, which was there before the library."""

    __tablename__ = "own"

    id: Mapped[int] = mapped_column(primary_key=True)
    edition: Mapped[int] = mapped_column(BigInteger)
    title: Mapped[str] = mapped_column(default="")
    __mapper_args__ = {"version_id_col": edition}


class Tile(CasMixin, Base):
    """A root with a composite key."""

    __tablename__ = "tile"

    x: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    y: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[str]
    title: Mapped[str] = mapped_column(default="")
    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "tile"}


class Tower(Tile):
    """Its table has the key's columns under other names and in the other order."""

    __tablename__ = "tower"

    tower_y: Mapped[int] = mapped_column(primary_key=True)
    tower_x: Mapped[int] = mapped_column(primary_key=True)
    height: Mapped[int] = mapped_column(default=0)
    __table_args__ = (ForeignKeyConstraint(["tower_x", "tower_y"], ["tile.x", "tile.y"]),)
    __mapper_args__ = {"polymorphic_identity": "tower"}


class Castle(Tower):
    """A third table."""

    __tablename__ = "castle"

    castle_x: Mapped[int] = mapped_column(primary_key=True)
    castle_y: Mapped[int] = mapped_column(primary_key=True)
    gates: Mapped[int] = mapped_column(default=0)
    __table_args__ = (ForeignKeyConstraint(["castle_x", "castle_y"], ["tower.tower_x", "tower.tower_y"]),)
    __mapper_args__ = {"polymorphic_identity": "castle"}


class Person(Base):
    """A root without the library."""

    __tablename__ = "person"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(default="")


class Worker(CasMixin, Person):
    """The version is in the child's table."""

    __tablename__ = "worker"

    worker_id: Mapped[int] = mapped_column(ForeignKey(Person.id), primary_key=True)
    wage: Mapped[int] = mapped_column(default=0)


class Paper(CasMixin, Base):
    """The root of a concrete hierarchy."""

    __tablename__ = "paper"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(default="")


class Letter(Paper):
    """A table of its own, with all columns in it."""

    __tablename__ = "letter"
    cas_version_field = "record_version"
    cas_generation_field = "run_seq"

    id: Mapped[int] = mapped_column(primary_key=True)
    record_version: Mapped[int] = mapped_column(BigInteger)
    run_seq: Mapped[int] = mapped_column(BigInteger, default=0)
    title: Mapped[str] = mapped_column(default="")
    __mapper_args__ = {"concrete": True}


class Whole(WriteTokenDataclassMixin, CasDataclassMixin, DataBase, kw_only=True):
    """A dataclass with everything that the mixins have."""

    __tablename__ = "whole"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    title: Mapped[str] = mapped_column(String(50), default="")
    size: Mapped[int] = mapped_column(default=3)


@dataclasses.dataclass
class Attributed(CasVerbsMixin):
    """A plain dataclass, mapped imperatively."""

    title: str = ""
    id: int | None = None
    ver: int | None = None
    cas_version_field = "ver"


attributed_table = Table(
    "attributed",
    Base.metadata,
    Column("id", Integer, primary_key=True),
    Column("ver", BigInteger, nullable=False),
    Column("title", String(50), default=""),
)
registry(metadata=Base.metadata).map_imperatively(Attributed, attributed_table)


@dataclasses.dataclass
class Spot:
    """A pair of columns as one value."""

    left: int
    top: int


@dataclasses.dataclass
class Size(MutableComposite):
    """A pair of columns that tells of changes in place."""

    width: int
    height: int

    def __setattr__(self, key: str, value: Any) -> None:
        object.__setattr__(self, key, value)
        self.changed()


class Picture(CasMixin, Base):
    """Composites, hybrids and synonyms."""

    __tablename__ = "picture"

    id: Mapped[int] = mapped_column(primary_key=True)
    left: Mapped[int] = mapped_column(default=0)
    top: Mapped[int] = mapped_column(default=0)
    width: Mapped[int] = mapped_column(default=1)
    height: Mapped[int] = mapped_column(default=1)
    title: Mapped[str] = mapped_column("the_title", default="")
    spot: Mapped[Spot] = composite(left, top)
    size: Mapped[Size] = composite(Size, width, height)
    name: Mapped[str] = synonym("title")
    label: Mapped[str] = synonym("name")

    @hybrid_property
    def area(self) -> int:
        return self.width * self.height

    @hybrid_property
    def caption(self) -> str:
        return self.title

    @caption.inplace.setter
    def _caption_setter(self, value: str) -> None:
        self.title = value.upper()


class Board(CasMixin, Base):
    """Relationships of every kind."""

    __tablename__ = "board"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(default="")
    written: WriteOnlyMapped[Note] = relationship(
        cascade="all, delete-orphan", passive_deletes=True, foreign_keys="Note.written_id"
    )
    moving: DynamicMapped[Note] = relationship(foreign_keys="Note.moving_id")
    shown: Mapped[list[Note]] = relationship(viewonly=True, foreign_keys="Note.moving_id")


class Note(Base):
    """What hangs on a board."""

    __tablename__ = "note"

    id: Mapped[int] = mapped_column(primary_key=True)
    written_id: Mapped[int | None] = mapped_column(ForeignKey(Board.id, ondelete="CASCADE"))
    moving_id: Mapped[int | None] = mapped_column(ForeignKey(Board.id))


class Album(RecordVersionMixin, Base):
    """Its songs are the database's to delete."""

    __tablename__ = "album"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(default="")
    songs: Mapped[list[Song]] = relationship(passive_deletes="all")


class Song(CasMixin, Base):
    """A child with a pending parent, now and then."""

    __tablename__ = "song"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(default="")
    album_id: Mapped[int | None] = mapped_column(ForeignKey(Album.id, ondelete="CASCADE"))
    album: Mapped[Album | None] = relationship(overlaps="songs")


class Shelf(RecordVersionMixin, Base):
    """Many to one, with what belongs to it alone."""

    __tablename__ = "shelf"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(default="")
    lamp_id: Mapped[int | None] = mapped_column(ForeignKey("lamp.id"))
    lamp: Mapped[Lamp | None] = relationship(cascade="all, delete-orphan", single_parent=True)


class Lamp(Base):
    """Goes with its shelf."""

    __tablename__ = "lamp"

    id: Mapped[int] = mapped_column(primary_key=True)


class Pupil(RecordVersionMixin, Base):
    """Many to many."""

    __tablename__ = "pupil"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(default="")
    courses: Mapped[list[Course]] = relationship(secondary="pupil_course")


class Course(Base):
    """Many to many."""

    __tablename__ = "course"

    id: Mapped[int] = mapped_column(primary_key=True)


Table(
    "pupil_course",
    Base.metadata,
    Column("pupil_id", ForeignKey(Pupil.id), primary_key=True),
    Column("course_id", ForeignKey(Course.id), primary_key=True),
)

Board.moved = column_property(
    select(func.count(Note.id)).where(Note.moving_id == Board.id).correlate_except(Note).scalar_subquery()
)
