"""What a name stands for on a mapped class: a column, another name of one, or why it is neither."""

from __future__ import annotations

from typing import Any

from sqlalchemy.ext.hybrid import HybridExtensionType
from sqlalchemy.orm import CompositeProperty, Mapper, RelationshipProperty


def real_name(mapper: Mapper[Any], name: str) -> str:
    """Return the attribute behind a synonym; other names are returned as they are."""
    synonyms = mapper.synonyms
    while name in synonyms:
        name = synonyms[name].name
    return name


def parts_of(mapper: Mapper[Any], name: str) -> tuple[str, ...]:
    """Return the attributes that a composite is made of; other names stand for themselves."""
    name = real_name(mapper, name)
    found = mapper.attrs.get(name)
    return _keys(mapper, found) if isinstance(found, CompositeProperty) else (name,)


def why_no_column(mapper: Mapper[Any], name: str) -> str:
    """Say what a name is that is not a plain column, and what to name instead."""
    found = mapper.attrs.get(name)
    if isinstance(found, CompositeProperty):
        return f"is a composite; name its columns: {', '.join(_keys(mapper, found))}"
    if isinstance(found, RelationshipProperty):
        local = [mapper.get_property_by_column(c).key for c in found.local_columns]
        return f"is a relationship; name a column, such as {', '.join(sorted(local))}"
    if found is not None:
        return "is computed by an expression; where= can compare it"
    descriptor = mapper.all_orm_descriptors.get(name)
    if descriptor is not None and descriptor.extension_type is HybridExtensionType.HYBRID_PROPERTY:
        return "is a hybrid property; name the columns that it is made of"
    return "is not a mapped attribute"


def _keys(mapper: Mapper[Any], composite: CompositeProperty[Any]) -> tuple[str, ...]:
    return tuple(mapper.get_property_by_column(column).key for column in composite.columns)
