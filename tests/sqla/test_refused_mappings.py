"""Classes that could not be guarded: each is refused when it is mapped, whatever its form."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from sqlalchemy import BigInteger, Column, ForeignKey, Integer, MetaData, Table
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    MappedAsDataclass,
    mapped_column,
    registry,
    relationship,
    synonym,
)

from cas_orm_sqla import (
    CasMixin,
    CasVerbsMixin,
    RecordVersionMixin,
    RunSeqDataclassMixin,
    RunSeqMixin,
    WriteTokenMixin,
)
from cas_orm_sqla.columns import columns_of


def _base() -> type[DeclarativeBase]:
    class Base(DeclarativeBase):
        """A registry of its own, so that a half-mapped class is nobody's trouble."""

    return Base


def _declarative() -> None:
    class Job(RunSeqMixin, _base()):  # type: ignore[misc]  # the base is made at run time
        __tablename__ = "job"
        id: Mapped[int] = mapped_column(primary_key=True)


def _with_mapper_args() -> None:
    class Job(RunSeqMixin, _base()):  # type: ignore[misc]
        __tablename__ = "job"
        id: Mapped[int] = mapped_column(primary_key=True)
        __mapper_args__ = {"eager_defaults": True}


def _dataclass() -> None:
    class Base(MappedAsDataclass, DeclarativeBase):
        """Of dataclasses."""

    class Job(RunSeqDataclassMixin, Base):
        __tablename__ = "job"
        id: Mapped[int] = mapped_column(primary_key=True, init=False)


def _adopted() -> None:
    class Job(CasVerbsMixin, _base()):  # type: ignore[misc]
        __tablename__ = "job"
        cas_generation_field = "epoch"
        id: Mapped[int] = mapped_column(primary_key=True)
        epoch: Mapped[int] = mapped_column("an epoch")


def _imperative() -> None:
    class Job(CasVerbsMixin):
        cas_generation_field = "gen"

    table = Table(
        "job", MetaData(), Column("id", Integer, primary_key=True), Column("a gen", BigInteger, default=0)
    )
    registry().map_imperatively(Job, table, properties={"gen": table.c["a gen"]})


def _imperative_dataclass() -> None:
    @dataclasses.dataclass
    class Job(CasVerbsMixin):
        id: int
        gen: int
        cas_generation_field = "gen"

    table = Table("job", MetaData(), Column("id", Integer, primary_key=True), Column("gen", BigInteger))
    registry().map_imperatively(Job, table)


def _joined_root() -> None:
    class Root(RunSeqMixin, _base()):  # type: ignore[misc]
        __tablename__ = "root"
        id: Mapped[int] = mapped_column(primary_key=True)

    class Child(RecordVersionMixin, Root):
        __tablename__ = "child"
        id: Mapped[int] = mapped_column(ForeignKey(Root.id), primary_key=True)


def _single_table_child() -> None:
    class Root(_base()):  # type: ignore[misc]
        __tablename__ = "root"
        id: Mapped[int] = mapped_column(primary_key=True)
        kind: Mapped[str]
        __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "root"}

    class Child(RunSeqMixin, Root):
        __mapper_args__ = {"polymorphic_identity": "child"}


WITHOUT_VERSION: list[Callable[[], None]] = [
    _declarative,
    _with_mapper_args,
    _dataclass,
    _adopted,
    _imperative,
    _imperative_dataclass,
    _joined_root,
    _single_table_child,
]


@pytest.mark.parametrize("form", WITHOUT_VERSION)
def test_a_generation_without_a_version(form: Callable[[], None]) -> None:
    """``run_seq`` alone cannot tell a rerun of the same generation from a write in between."""
    with pytest.raises(ArgumentError, match="has a generation but no version"):
        form()


def test_a_generation_in_another_table() -> None:
    """One statement compares both, so both are in one table."""

    class Root(RecordVersionMixin, _base()):  # type: ignore[misc]
        __tablename__ = "root"
        id: Mapped[int] = mapped_column(primary_key=True)

    with pytest.raises(ArgumentError, match="must be in one table"):

        class Child(RunSeqMixin, Root):
            __tablename__ = "child"
            id: Mapped[int] = mapped_column(ForeignKey(Root.id), primary_key=True)


def test_a_second_version_in_a_child() -> None:
    """SQLAlchemy would maintain one of the two."""

    class Root(CasMixin, _base()):  # type: ignore[misc]
        __tablename__ = "root"
        id: Mapped[int] = mapped_column(primary_key=True)

    with pytest.raises(ArgumentError, match="the version is in Root already"):

        class Child(Root):
            __tablename__ = "child"
            id: Mapped[int] = mapped_column(ForeignKey(Root.id), primary_key=True)
            record_version: Mapped[int] = mapped_column(info={"cas_orm_role": "record_version"})


def test_another_version_id_col() -> None:
    """The flush would compare one column, the verbs another."""
    with pytest.raises(ArgumentError, match="version_id_col is another column"):

        class Job(RecordVersionMixin, _base()):  # type: ignore[misc]
            __tablename__ = "job"
            id: Mapped[int] = mapped_column(primary_key=True)
            other: Mapped[int] = mapped_column()
            __mapper_args__ = {"version_id_col": other}


def test_a_concrete_child_without_its_own() -> None:
    """The column that it inherits is in a table that it never writes."""

    class Root(RecordVersionMixin, _base()):  # type: ignore[misc]
        __tablename__ = "root"
        id: Mapped[int] = mapped_column(primary_key=True)

    with pytest.raises(ArgumentError, match="concrete"):

        class Child(Root):
            __tablename__ = "child"
            id: Mapped[int] = mapped_column(primary_key=True)
            __mapper_args__ = {"concrete": True}


def test_a_version_that_is_no_column() -> None:
    """A synonym or a relationship is not one."""
    with pytest.raises(ArgumentError, match=r"Job\.alias is not a column"):

        class Job(CasVerbsMixin, _base()):  # type: ignore[misc]
            __tablename__ = "job"
            cas_version_field = "alias"
            id: Mapped[int] = mapped_column(primary_key=True)
            number: Mapped[int]
            alias: Mapped[int] = synonym("number")


def test_what_is_accepted() -> None:
    """The accepted twins: adopted pairs, the version of SQLAlchemy's own, a token beside a version."""

    class Base(DeclarativeBase):
        """Of these."""

    class Adopted(CasVerbsMixin, Base):
        __tablename__ = "adopted"
        cas_version_field = "number"
        cas_generation_field = "epoch"
        id: Mapped[int] = mapped_column(primary_key=True)
        number: Mapped[int]
        epoch: Mapped[int]

    class Own(RunSeqMixin, Base):
        __tablename__ = "own"
        id: Mapped[int] = mapped_column(primary_key=True)
        edition: Mapped[int] = mapped_column()
        __mapper_args__ = {"version_id_col": edition}

    class Both(WriteTokenMixin, RunSeqMixin, RecordVersionMixin, Base):
        __tablename__ = "both"
        id: Mapped[int] = mapped_column(primary_key=True)
        own_id: Mapped[int | None] = mapped_column(ForeignKey(Own.id))
        own: Mapped[Own | None] = relationship()

    found = {model: columns_of(model) for model in (Adopted, Own, Both)}
    assert {m: c.version.key for m, c in found.items()} == {
        Adopted: "number",
        Own: "edition",
        Both: "record_version",
    }
    assert all(c.generation is not None for c in found.values())
    assert found[Both].token is not None
