"""Statements that a `CasSession` is asked to execute: they bump the version, or are refused.

Such a statement passes the flush by, so that nobody raises the version for it, and whoever read the row
before would write over it unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sqlalchemy import Alias, Insert, Update
from sqlalchemy.exc import InvalidRequestError
from sqlalchemy.orm import FromStatement, Mapper, ORMExecuteState, Session
from sqlalchemy.orm.exc import StaleDataError
from sqlalchemy.sql import visitors

from cas_orm import InvalidExpectation, MissingExpectation, Verdict
from cas_orm.belief import Belief
from cas_orm_sqla.columns import Columns, columns_of
from cas_orm_sqla.mapping import mapper_of
from cas_orm_sqla.memory import state_of
from cas_orm_sqla.stale import StaleFlush, as_stale, compare

#: What a statement assigns. SQLAlchemy has no public way to ask; without it every UPDATE bumps.
_VALUES: Final = "_values"
_UPSERTS: Final = {"on_conflict_do_update", "on_duplicate_key_update"}


def guard_statement(state: ORMExecuteState) -> Any:
    """Let an UPDATE of a class of ours bump its rows, refuse an upsert; listens to ``do_orm_execute``.

    An UPDATE of unversioned columns alone does not bump, as the verbs do not.

    Raises:
        InvalidExpectation: it writes version or generation, names rows by key and has a WHERE besides, or
            has the parameters of one row and would write the whole table; it leaves no room for the version;
            it is an INSERT that overwrites.
        MissingExpectation: rows named by key come without their version.
        ConflictError: a row named by key is not as believed; also a ``StaleDataError``.
    """
    statement: Any = state.statement
    if isinstance(statement, FromStatement):
        statement = statement.element
    columns = _columns(state, statement) if isinstance(statement, Update | Insert) else None
    if columns is None:
        return None
    if isinstance(statement, Insert):
        return _check_insert(columns, statement)
    if isinstance(statement.table, Alias):  # the version of its rows would come from another row
        raise _refused(columns, "an UPDATE of an alias cannot bump; name the class")
    if isinstance(state.statement, FromStatement):
        raise _refused(columns, "an UPDATE inside from_statement() cannot bump; execute it by itself")
    parameters: Any = state.parameters or {}
    if isinstance(parameters, list):
        return _by_key(state, columns, statement, parameters)
    names = [*_assigned(columns, statement), *parameters]
    _check_names(columns, names)
    if {a.key for a in columns.owner.keys} & parameters.keys():
        raise _refused(
            columns,
            "an UPDATE with the parameters of one row writes every row; give a list, or a WHERE",
        )
    if not names or not columns.unversioned.issuperset(names):
        _bump(state, columns, statement)
    return None


def _bump(state: ORMExecuteState, columns: Columns, statement: Any) -> None:
    orm = state.bind_mapper is not None
    written = columns.mapper.local_table if orm else statement.table
    if written is not columns.owner.table:
        owner = columns.owner.table.name
        raise _refused(columns, f"the version is in {owner}, which this UPDATE cannot write; use the verbs")
    version = getattr(columns.mapper.class_, columns.version.key) if orm else columns.version.column
    try:
        state.statement = statement.values({version: version + 1})
    except InvalidRequestError as error:
        raise _refused(columns, "ordered_values() leaves no room for the version; use values()") from error
    if orm and state.execution_options.get("synchronize_session", "auto") in ("auto", "evaluate"):
        # Evaluated in memory, or selected before, an object would show a version that its row never had.
        dialect = state.session.get_bind(columns.mapper).dialect
        state.update_execution_options(synchronize_session="fetch" if dialect.update_returning else False)


def _check_insert(columns: Columns, statement: Insert) -> None:
    if any(getattr(element, "__visit_name__", None) in _UPSERTS for element in visitors.iterate(statement)):
        raise _refused(
            columns, "an INSERT that overwrites on conflict compares no version; use update_if_current"
        )


def _refused(columns: Columns, why: str) -> InvalidExpectation:
    return InvalidExpectation(f"{columns.label}: {why} [cas-invalid-expectation]")


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


def check_objects(objects: Iterable[object]) -> None:
    """Refuse objects of ours that have a row already.

    Raises:
        InvalidExpectation: one has.
    """
    for obj in objects:
        if hasattr(type(obj), "__cas_seen__") and state_of(obj).key is not None:
            raise _refused(
                columns_of(type(obj)),
                "bulk_save_objects() leaves an object behind the row that it writes; flush, or use the verbs",
            )


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


def _columns(state: ORMExecuteState, statement: Any) -> Columns | None:
    table = statement.table
    while isinstance(table, Alias):
        table = table.element
    mapper: Mapper[Any] | None = state.bind_mapper or mapper_of(table)
    if mapper is None or not hasattr(mapper.class_, "__cas_seen__"):
        return None
    return columns_of(mapper.class_)


def _by_key(state: ORMExecuteState, columns: Columns, statement: Any, rows: list[dict[str, Any]]) -> Any:
    if state.bind_mapper is None or statement.whereclause is not None:
        raise _refused(columns, "a WHERE switches off the check of rows that are written by key")
    check_mappings(columns, rows)
    try:
        return state.invoke_statement()
    except StaleDataError as error:
        raise stale_mapping(state.session, columns, rows, error) from error


def _assigned(columns: Columns, statement: Any) -> list[str]:
    """Name the attributes that a statement assigns; what is no attribute keeps the name that it has."""
    names = {a.column.key: key for key, a in columns.own.items()}
    assigned = getattr(statement, _VALUES, None) or {}
    return [str(names.get(key, key)) for key in (getattr(c, "key", c) for c in assigned)]


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
