"""How a mapper learns its version column: from the mark in ``Column.info``, whatever the class looks like.

A listener that propagates survives what a mixin's ``__mapper_args__`` does not: a class with its own, any
order of bases, dataclasses, imperative mapping, both forms of inheritance.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import event
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import Mapper

from cas_orm_sqla.columns import marked

_OWNERS: WeakKeyDictionary[Any, Mapper[Any]] = WeakKeyDictionary()


def protect(base: type[Any]) -> None:
    """Let every class mapped below ``base`` have its flush guarded by its version column."""
    event.listen(base, "instrument_class", _set_version_column, propagate=True)
    event.listen(base, "after_mapper_constructed", _set_adopted_column, propagate=True)


def mapper_of(table: object) -> Mapper[Any] | None:
    """Return the guarded mapper whose version is in this table."""
    return _OWNERS.get(table)


def _set_version_column(mapper: Mapper[Any], class_: type[Any]) -> None:
    table: Any = mapper.local_table
    version = marked(table, "record_version")
    if mapper.version_id_col is None and version is not None:
        mapper.version_id_col = version


def _set_adopted_column(mapper: Mapper[Any], class_: type[Any]) -> None:
    """Look up the attribute that the class names as its version, now that the mapper knows its attributes."""
    named = getattr(class_, "cas_version_field", None)
    if mapper.version_id_col is None and named:
        mapper.version_id_col = mapper.get_property(named, _configure_mappers=False).columns[0]
    if mapper.version_id_col is None and marked(mapper.local_table, "run_seq") is not None:
        raise ArgumentError(f"{class_.__name__} has a generation but no version: use CasMixin")
    version: Any = mapper.version_id_col
    if version is not None:
        _OWNERS.setdefault(version.table, mapper)
