"""How a mapper learns its version column: from the mark in ``Column.info``, whatever the class looks like.

A listener that propagates survives what a mixin's ``__mapper_args__`` does not: a class with its own, any
order of bases, dataclasses, imperative mapping, both forms of inheritance.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import event
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import ColumnProperty, Mapper

from cas_orm.lifecycle import Lifecycle
from cas_orm_sqla.columns import forget, marked

_OWNERS: WeakKeyDictionary[Any, Mapper[Any]] = WeakKeyDictionary()


def protect(base: type[Any]) -> None:
    """Let every class mapped below ``base`` have its flush guarded by its version column."""
    event.listen(base, "instrument_class", _set_version_column, propagate=True)
    event.listen(base, "after_mapper_constructed", _set_adopted_column, propagate=True)


def mapper_of(table: object) -> Mapper[Any] | None:
    """Return the guarded mapper that this table is of: the first, where classes share it."""
    return _OWNERS.get(table)


def _set_version_column(mapper: Mapper[Any], class_: type[Any]) -> None:
    """Set the marked column, before the mapper looks for it.

    A concrete subclass has inherited the column of a table that it never writes, and needs its own.
    """
    version = marked(mapper.local_table, "record_version")
    if version is None:
        return
    if mapper.version_id_col is None or mapper.concrete:
        mapper.version_id_col = version
    elif mapper.inherits is not None and mapper.version_id_col is not version:
        raise ArgumentError(
            f"{class_.__name__}: the version is in {mapper.inherits.class_.__name__} already; leave the "
            "mixin out here"
        )


def _set_adopted_column(mapper: Mapper[Any], class_: type[Any]) -> None:
    """Look up the attribute that the class names as its version, now that the mapper knows its attributes."""
    if mapper.version_id_col is None or mapper.concrete:
        named = getattr(class_, "cas_version_field", None)
        if named:
            mapper.version_id_col = _column(mapper, named)
    version: Any = mapper.version_id_col
    _check(mapper, class_, version)
    _check_job(class_)
    forget(mapper)
    if version is not None:
        above = () if mapper.inherits is None else mapper.inherits.tables  # a guarded parent has its own here
        for table in mapper.tables:
            if table is version.table or table not in above:
                _OWNERS.setdefault(table, mapper)


def _check(mapper: Mapper[Any], class_: type[Any], version: Any) -> None:
    """Refuse a class whose flush would not be guarded by the version that its verbs compare."""
    name = class_.__name__
    if mapper.concrete and version is not None and version.table not in mapper.tables:
        raise ArgumentError(f"{name} is concrete and has no version in its own table: add one, and name it")
    mark = marked(mapper.local_table, "record_version")
    if mark is not None and version is not mark:
        raise ArgumentError(f"{name}: version_id_col is another column than record_version; leave it out")
    generation = marked(mapper.local_table, "run_seq")
    named = getattr(class_, "cas_generation_field", None)
    if generation is None and named is not None and mapper.has_property(named):
        generation = _column(mapper, named)
    if generation is None:
        return
    if version is None:
        raise ArgumentError(f"{name} has a generation but no version: use CasMixin")
    if version.table is not generation.table:
        raise ArgumentError(f"{name}: version and generation must be in one table")


def _check_job(class_: type[Any]) -> None:
    """Refuse a class of jobs whose options cannot be carried out."""
    if hasattr(class_, "cas_transitions"):
        problems = Lifecycle.of(class_, class_.__name__).problems()
        if problems:
            raise ArgumentError(f"{class_.__name__}: {'; '.join(problems)}")


def _column(mapper: Mapper[Any], name: str) -> Any:
    """Return the column of an attribute that a class names as its version or generation."""
    found = mapper.get_property(name, _configure_mappers=False)
    if not isinstance(found, ColumnProperty):
        raise ArgumentError(f"{mapper.class_.__name__}.{name} is not a column")
    return found.columns[0]
