"""Which columns a belief may name, and what their values may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy.sql import ColumnElement, sqltypes
from sqlalchemy.sql.elements import ClauseElement, TextClause
from sqlalchemy.sql.schema import Column
from sqlalchemy.sql.selectable import SelectBase
from sqlalchemy.sql.visitors import iterate

from cas_orm import InvalidExpectation
from cas_orm.belief import Belief
from cas_orm.values import ValueSet

if TYPE_CHECKING:
    from cas_orm_sqla.columns import Attribute, Columns

#: A SQLAlchemy condition over the row's own table.
Where: TypeAlias = ColumnElement[bool]
AttributeBelief: TypeAlias = Belief["Attribute"]


def condition(columns: Columns, name: str, value: object) -> tuple[str, Attribute, object]:
    """Return name, attribute and value of one believed column.

    Raises:
        InvalidExpectation: unknown, a relationship, another table's, of a type without exact equality, or
            a value of another type.
    """
    attribute = columns.own.get(name)
    if attribute is None:
        raise InvalidExpectation(
            f"{columns.label}.{name} is not a plain column of {columns.owner.table.name}; beliefs name "
            "attributes such as 'state' or 'customer_id' [cas-invalid-expectation]"
        )
    if attribute.key in columns.roles:
        raise InvalidExpectation(f"believe {name} as record_version= or run_seq= [cas-invalid-expectation]")
    kind = attribute.column.type
    if isinstance(kind, sqltypes.JSON | sqltypes.ARRAY) or kind._type_affinity is sqltypes.Float:
        raise InvalidExpectation(
            f"{columns.label}.{name}: a {type(kind).__name__} has no exact equality in SQL "
            "[cas-invalid-expectation]"
        )
    for member in value.members if isinstance(value, ValueSet) else (value,):
        _check_type(columns, attribute, member)
    return name, attribute, value


def _check_type(columns: Columns, attribute: Attribute, value: object) -> None:
    """Refuse what the database might coerce: MariaDB finds 'running' equal to 0."""
    if isinstance(value, ClauseElement) or hasattr(value, "__clause_element__"):
        raise InvalidExpectation(f"{attribute.key}: a plain value is needed [cas-invalid-expectation]")
    kind = attribute.column.type
    numbers, texts = isinstance(kind, sqltypes.Numeric | sqltypes.Integer), isinstance(kind, sqltypes.String)
    mismatch = (numbers and isinstance(value, str | bytes)) or (
        texts and not isinstance(kind, sqltypes.Enum) and value is not None and not isinstance(value, str)
    )
    if mismatch:
        raise InvalidExpectation(
            f"{columns.label}.{attribute.key} takes no {type(value).__name__} [cas-invalid-expectation]"
        )


def check_where(columns: Columns, where: Any) -> None:
    """Refuse a condition that is not over plain columns of the one table.

    Raises:
        InvalidExpectation: it joins, or holds a sub-select or text. There the engine re-checks nothing for
            a row it had to wait for, and both writers would win.
    """
    if where is None:
        return
    for element in iterate(where):
        foreign = isinstance(element, Column) and element.table is not columns.owner.table
        if foreign or isinstance(element, SelectBase | TextClause):
            raise InvalidExpectation(
                f"where= must name plain columns of {columns.owner.table.name}: no join, no sub-select, no "
                "text [cas-invalid-expectation]"
            )
