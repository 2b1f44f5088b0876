"""Which columns a belief may name, what their values may be, and what a condition says about the row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy.sql import ColumnElement, operators
from sqlalchemy.sql.elements import (
    BinaryExpression,
    BindParameter,
    BooleanClauseList,
    ColumnClause,
    False_,
    Grouping,
    TextClause,
    True_,
    UnaryExpression,
)
from sqlalchemy.sql.schema import Column
from sqlalchemy.sql.selectable import SelectBase
from sqlalchemy.sql.visitors import iterate

from cas_orm import InvalidExpectation
from cas_orm.belief import Belief
from cas_orm.values import ValueSet
from cas_orm_sqla.kinds import compares_exactly, is_expression, typed
from cas_orm_sqla.names import real_name, why_no_column

if TYPE_CHECKING:
    from cas_orm_sqla.columns import Columns
    from cas_orm_sqla.parts import Attribute

#: A SQLAlchemy condition over the row's own table.
Where: TypeAlias = ColumnElement[bool]
AttributeBelief: TypeAlias = Belief["Attribute"]


def condition(columns: Columns, name: str, value: object) -> tuple[str, Attribute, object]:
    """Return name, attribute and typed value of one believed column.

    Raises:
        InvalidExpectation: unknown, a relationship, another table's, of a type without exact equality, or
            a value of another type.
    """
    attribute = believable(columns, name)
    if type(value) in attribute.taken_as_is:
        return attribute.key, attribute, value
    if isinstance(value, ValueSet):
        members = [_typed(columns, attribute, member) for member in value.members]
        return attribute.key, attribute, ValueSet(members, negated=value.negated)
    return attribute.key, attribute, _typed(columns, attribute, value)


def believable(columns: Columns, name: str) -> Attribute:
    """Return the attribute that a belief may name: a plain column of the version's own table.

    Raises:
        InvalidExpectation: it is not one, or its type has no exact equality.
    """
    known = columns.believable.get(name)
    if known is not None:
        return known
    key = real_name(columns.mapper, name)
    attribute = columns.own.get(key)
    if attribute is None:
        why = why_no_column(columns.mapper, key)
        if key in columns.mapper.column_attrs and key not in columns.derived:
            why = f"is a column of another table than {columns.owner.table.name}, where the version is"
        raise InvalidExpectation(f"{columns.label}.{name} {why} [cas-invalid-expectation]")
    if key in columns.numbers:
        raise InvalidExpectation(f"believe {name} as record_version= or run_seq= [cas-invalid-expectation]")
    if not compares_exactly(attribute.column.type):
        raise InvalidExpectation(
            f"{columns.label}.{name}: a {type(attribute.column.type).__name__} has no exact equality in SQL "
            "[cas-invalid-expectation]"
        )
    columns.believable[name] = attribute
    return attribute


def _typed(columns: Columns, attribute: Attribute, value: object) -> object:
    if is_expression(value):
        raise InvalidExpectation(f"{attribute.key}: a plain value is needed [cas-invalid-expectation]")
    try:
        return typed(attribute.column.type, value)
    except ValueError as error:
        raise InvalidExpectation(
            f"{columns.label}.{attribute.key} {error} [cas-invalid-expectation]"
        ) from error


def check_where(columns: Columns, where: Any) -> None:
    """Refuse a condition that is not over plain columns of the one table.

    Raises:
        InvalidExpectation: it is none, it joins, or holds a sub-select or text. There the engine re-checks
            nothing for a row it had to wait for, and both writers would win.
    """
    if where is None:
        return
    element = _element(where)
    if not isinstance(element, ColumnElement):
        raise InvalidExpectation(
            f"where= takes a condition, not {type(where).__name__} [cas-invalid-expectation]"
        )
    if not is_over(columns.owner.table, element):
        raise InvalidExpectation(
            f"where= must name plain columns of {columns.owner.table.name}: no join, no sub-select, no text "
            "[cas-invalid-expectation]"
        )


def is_over(table: Any, element: Any) -> bool:
    """Tell whether an expression is made of plain columns of one table: no sub-select, no text."""
    for part in iterate(element):
        foreign = isinstance(part, Column) and part.table is not table
        raw = isinstance(part, TextClause) or (isinstance(part, ColumnClause) and part.is_literal)
        if foreign or raw or isinstance(part, SelectBase):
            return False
    return True


def holds_always(where: Any) -> bool:
    """Tell whether every row meets a condition, so that a write under it alone would overwrite anything."""
    return where is not None and _truth(_element(where)) is True


def _element(where: Any) -> Any:
    return where.__clause_element__() if hasattr(where, "__clause_element__") else where


def _truth(element: Any) -> bool | None:
    """Return what a condition is for every row; None when that depends on the row, or cannot be told."""
    if isinstance(element, True_ | False_):
        return isinstance(element, True_)
    if isinstance(element, Grouping):
        return _truth(element.element)
    if isinstance(element, UnaryExpression):
        inner = _truth(element.element)
        negated = element.operator in (operators.inv, operators.is_false)
        kept = negated or element.operator is operators.is_true
        return None if inner is None or not kept else inner is not negated
    if isinstance(element, BooleanClauseList):
        truths = [_truth(clause) for clause in element.clauses]
        decisive = element.operator is operators.or_
        if decisive in truths:
            return decisive
        return None if None in truths else not decisive
    if isinstance(element, BinaryExpression) and element.operator in (operators.eq, operators.ne):
        return _compared(element)
    return None


def _compared(element: BinaryExpression[Any]) -> bool | None:
    """Compare two literals, or a column that is never NULL with itself."""
    left, right = element.left, element.right
    equal = element.operator is operators.eq
    if isinstance(left, BindParameter) and isinstance(right, BindParameter):
        return (left.effective_value == right.effective_value) is equal
    if isinstance(left, Column) and isinstance(right, Column) and left.compare(right) and not left.nullable:
        return equal
    return None
