"""UPDATE statements that a `CasSession` is asked to execute: they bump the version, or are refused.

Such a statement passes the flush by, so that nobody raises the version for it, and whoever read the row
before would write over it unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Update
from sqlalchemy.exc import InvalidRequestError
from sqlalchemy.orm import Mapper, ORMExecuteState, Session
from sqlalchemy.orm.exc import StaleDataError

from cas_orm import InvalidExpectation, MissingExpectation, Verdict
from cas_orm.belief import Belief
from cas_orm_sqla.columns import Columns, columns_of
from cas_orm_sqla.mapping import mapper_of
from cas_orm_sqla.stale import StaleFlush, as_stale, compare


def guard_update(state: ORMExecuteState) -> Any:
    """Let an UPDATE of a class of ours bump its rows; listens to ``do_orm_execute``.

    Raises:
        InvalidExpectation: it writes version or generation, names rows by key and has a WHERE besides, or
            has the parameters of one row and would write the whole table.
        MissingExpectation: rows named by key come without their version.
        ConflictError: a row named by key is not as believed; also a ``StaleDataError``.
    """
    columns = _columns(state) if state.is_update else None
    if columns is None:
        return None
    statement: Any = state.statement
    parameters = state.parameters
    if isinstance(parameters, list):
        return _by_key(state, columns, statement, parameters)
    _check_names(columns, _assigned(statement))
    if isinstance(parameters, dict):
        _check_names(columns, parameters)
        keys = {a.key for a in columns.owner.keys}
        if keys & parameters.keys():
            raise InvalidExpectation(
                f"{columns.label}: an UPDATE with the parameters of one row writes every row; give a list to "
                "write by key, or a WHERE [cas-invalid-expectation]"
            )
    orm = state.bind_mapper is not None
    version = getattr(columns.mapper.class_, columns.version.key) if orm else columns.version.column
    try:
        state.statement = statement.values({version: version + 1})
    except InvalidRequestError as error:
        raise InvalidExpectation(
            f"{columns.label}: ordered_values() leaves no room for the version; use values() "
            "[cas-invalid-expectation]"
        ) from error
    if orm and state.execution_options.get("synchronize_session", "auto") in ("auto", "evaluate"):
        # Evaluated in memory, or selected before, an object would show a version that its row never had.
        dialect = state.session.get_bind(columns.mapper).dialect
        state.update_execution_options(synchronize_session="fetch" if dialect.update_returning else False)
    return None


def check_mappings(columns: Columns, mappings: Iterable[Mapping[str, Any]]) -> None:
    """Demand that rows named by key come with their version.

    Raises:
        MissingExpectation: one has none.
        InvalidExpectation: one has a generation.
    """
    for row in mappings:
        if row.get(columns.version.key) is None:
            raise MissingExpectation(
                f"{columns.label}: a row to be updated by key needs its {columns.version.key} "
                "[cas-no-expectation]"
            )
        if columns.generation is not None and columns.generation.key in row:
            _check_names(columns, [columns.generation.key])


def stale_mapping(
    session: Session, columns: Columns, mappings: Iterable[Mapping[str, Any]], error: StaleDataError
) -> StaleFlush:
    """Return the error of the first row that is not as its mapping believed."""
    if isinstance(error, StaleFlush):
        return error
    for row in mappings:
        identity = tuple(row[a.key] for a in columns.owner.keys)
        belief: Belief[Any] = Belief(row[columns.version.key])
        verdict, found = compare(session, columns, identity, belief)
        if verdict is not Verdict.UNDIAGNOSED:
            return as_stale(columns, identity, belief, verdict, found)
    return as_stale(columns, (), Belief(), Verdict.UNDIAGNOSED, None)


def _columns(state: ORMExecuteState) -> Columns | None:
    mapper: Mapper[Any] | None = state.bind_mapper
    if mapper is None and isinstance(state.statement, Update):
        mapper = mapper_of(state.statement.table)
    if mapper is None or not hasattr(mapper.class_, "__cas_seen__"):
        return None
    return columns_of(mapper.class_)


def _by_key(state: ORMExecuteState, columns: Columns, statement: Any, rows: list[dict[str, Any]]) -> Any:
    if state.bind_mapper is None or statement.whereclause is not None:
        raise InvalidExpectation(
            f"{columns.label}: a WHERE switches off the check of rows that are written by key "
            "[cas-invalid-expectation]"
        )
    check_mappings(columns, rows)
    try:
        return state.invoke_statement()
    except StaleDataError as error:
        raise stale_mapping(state.session, columns, rows, error) from error


def _assigned(statement: Any) -> list[str]:
    """Name the columns that a statement assigns; SQLAlchemy has no public way to ask."""
    values = getattr(statement, "_values", None) or {}
    return [getattr(column, "key", column) for column in values]


def _check_names(columns: Columns, names: Iterable[str]) -> None:
    closed = set()
    for attribute in (columns.version, columns.generation):
        if attribute is not None:
            closed |= {attribute.key, attribute.column.key}
    for name in names:
        if name in closed:
            raise InvalidExpectation(
                f"{columns.label}.{name} is written by the library alone [cas-invalid-expectation]"
            )
