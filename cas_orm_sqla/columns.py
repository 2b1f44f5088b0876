"""Which columns of a mapper carry the belief, and in which tables they live.

Worked out once per mapper, at its first use, and kept. A role's column is found by its ``Column.info``
mark, so that attribute and column names are free; classes that adopt columns name the attribute instead.
"""

from __future__ import annotations

import os
from typing import Any, Final
from weakref import WeakKeyDictionary

from sqlalchemy import Column, inspect

from cas_orm import UnsupportedBackend
from cas_orm_sqla.parts import AnyColumn, AnyMapper, Attribute, Part, part_of, tables_of
from cas_orm_sqla.roles import Columns

__all__ = [
    "MARK",
    "Attribute",
    "Columns",
    "Part",
    "columns_for",
    "columns_of",
    "forget",
    "marked",
    "new_token",
]

#: The key in ``Column.info`` under which a column says which role it plays.
MARK: Final = "cas_orm_role"


_KNOWN: WeakKeyDictionary[AnyMapper, Columns] = WeakKeyDictionary()


def new_token() -> bytes:
    """Return 16 random bytes for one write."""
    return os.urandom(16)


def columns_of(model: type[Any]) -> Columns:
    """Return the roles of a mapped class's columns.

    Raises:
        UnsupportedBackend: the class has no version column, or a generation in another table.
    """
    return columns_for(inspect(model))


def columns_for(mapper: AnyMapper) -> Columns:
    """Return the roles of a mapper's columns; raises as `columns_of` does."""
    known = _KNOWN.get(mapper)
    if known is None:
        known = _KNOWN[mapper] = _work_out(mapper)
    return known


def forget(mapper: AnyMapper) -> None:
    """Work it out again, for a class below which another has been mapped: its rows are of that class, too."""
    for above in mapper.iterate_to_root():
        _KNOWN.pop(above, None)


def marked(table: Any, role: str) -> AnyColumn | None:
    """Return the column of a table that is marked with a role."""
    return next((c for c in table.columns if c.info.get(MARK) == role), None)


def _work_out(mapper: AnyMapper) -> Columns:
    version = _role(mapper, "record_version", "cas_version_field")
    generation = _role(mapper, "run_seq", "cas_generation_field")
    token = _role(mapper, "write_token", "cas_token_field")
    name = mapper.class_.__name__
    if version is None:
        raise UnsupportedBackend(
            f"{name} has no version column: use RecordVersionMixin or CasMixin, or name yours in "
            "cas_version_field [cas-unsupported]"
        )
    owner = version.column.table
    for role, attribute in (("generation", generation), ("write token", token)):
        if attribute is not None and attribute.column.table is not owner:
            raise UnsupportedBackend(f"{name}: version and {role} must be in one table [cas-unsupported]")
    roles = {a.key for a in (version, generation, token) if a is not None}
    tables = [owner, *(t for t in tables_of(mapper) if t is not owner)]
    return Columns(
        mapper=mapper,
        version=version,
        generation=generation,
        token=token,
        unversioned=frozenset(getattr(mapper.class_, "cas_unversioned_fields", ())),
        parts=tuple(part_of(mapper, table, roles) for table in tables),
    )


def _role(mapper: AnyMapper, role: str, option: str) -> Attribute | None:
    """Return the attribute that plays a role: marked, named, or what the mapper itself has as its version."""
    named = getattr(mapper.class_, option, None)
    plain = [(p.key, c) for p in mapper.column_attrs for c in p.columns if isinstance(c, Column)]
    for key, column in plain:
        if column.info.get(MARK) == role or key == named:
            return Attribute(key, column)
    if role == "record_version" and mapper.version_id_col is not None:
        return next((Attribute(k, c) for k, c in plain if c is mapper.version_id_col), None)
    return None
