"""The one place where a conditional write runs: steps -> rows -> `Outcome`.

    Script ──▶ send ──▶ one row  ──▶ WON, with what the database handed back
                  └───▶ zero rows ─▶ diagnose (one fresh read) ─▶ the verdict

Statements go to the session's connection, not through ``session.execute``: nothing is flushed before them
behind the writer's back. Nothing on an object changes here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from cas_orm import Outcome, TransientConflict, UnsupportedBackend
from cas_orm.watch import about_to_send, has_died, has_won
from cas_orm_sqla import hooks
from cas_orm_sqla.capabilities import check_can_count, commits_itself
from cas_orm_sqla.columns import Columns
from cas_orm_sqla.diagnose import diagnose
from cas_orm_sqla.engine_errors import translated
from cas_orm_sqla.script import Script
from cas_orm_sqla.statement import Statement
from cas_orm_sqla.transactions import own_transaction

OnWon = Callable[[Outcome], object]


def connect(session: Session, columns: Columns) -> Connection:
    """Return the session's connection for this mapper; begins the session's transaction if needed."""
    connection = session.connection(bind_arguments={"mapper": columns.mapper})
    check_can_count(connection)
    return connection


def run(
    session: Session,
    connection: Connection,
    script: Script,
    on_won: OnWon | None = None,
    take_over: Callable[[Outcome], None] | None = None,
) -> Outcome:
    """Send the script and judge the rows; bring the object in step before anybody else hears of it.

    Raises:
        TransientConflict: the engine refused; its ``transaction`` says what is left of the session's.
        UnknownOutcome: the connection was lost in flight.
        UnsupportedBackend: the database did not count 0 or 1.
    """
    provisional = not commits_itself(connection)
    about_to_send(script, provisional)
    try:
        if not send(connection, script):
            verdict, found = diagnose(connection, script)
            return script.refused(verdict, found, provisional=provisional)
    except DBAPIError as error:
        raise_translated(session, connection, script, error, provisional)
    outcome = script.won(provisional=provisional)
    has_won(script)
    if take_over is not None:
        take_over(outcome)
    call_on_won(session, outcome, on_won)
    return outcome


def call_on_won(session: Session, outcome: Outcome, on_won: OnWon | None) -> None:
    """Call the hook after the commit, when the win is no longer provisional."""
    if on_won is None:
        return
    final = replace(outcome, provisional=False)
    if outcome.provisional:
        hooks.after_commit(session, lambda: on_won(final))
    else:
        on_won(final)


def send(connection: Connection, script: Script) -> bool:
    """Execute the steps; True when every one of them found its row. More than one share a transaction."""
    if not script.in_savepoint:
        return _execute(connection, script, *script.steps[0])
    try:
        with own_transaction(connection):
            for step in script.steps:
                if not _execute(connection, script, *step):
                    raise _ZeroRows
            if script.after is not None:
                script.after()
    except _ZeroRows:
        return False
    return True


class _ZeroRows(Exception):
    """Takes the library's own transaction back; never leaves this module."""


def _execute(connection: Connection, script: Script, statement: Statement, params: dict[str, Any]) -> bool:
    result = connection.execute(statement.sql, params)
    if statement.returning:
        rows = result.all()
        count = len(rows)
        if count == 1:
            script.answered.update(zip(statement.returning, rows[0], strict=True))
    else:
        count = result.rowcount
        by_last_id = connection.dialect.name in ("mysql", "mariadb") and bool(statement.sql.is_update)
        if count == 1 and by_last_id and statement.part is script.columns.owner:
            version = result.lastrowid or connection.exec_driver_sql("SELECT LAST_INSERT_ID()").scalar_one()
            script.answered[script.columns.version.key] = version
    if count not in (0, 1):
        raise UnsupportedBackend(
            f"{script.columns.label} {script.key}: the database counted {count} rows for one key; the write "
            "cannot be judged [cas-unsupported]"
        )
    return count == 1


@contextmanager
def translating(session: Session, connection: Connection, script: Script) -> Iterator[None]:
    """Raise what the driver's error means for this write."""
    try:
        yield
    except DBAPIError as error:
        raise_translated(session, connection, script, error, not commits_itself(connection))


def raise_translated(
    session: Session, connection: Connection, script: Script, error: DBAPIError, provisional: bool
) -> NoReturn:
    """Raise what the driver's error means for this write."""
    vendor = connection.dialect.name
    translation = translated(session, vendor, error, script, in_transaction=provisional)
    if translation is error:
        raise error
    # PostgreSQL goes on after the caller's own savepoint, for whoever handles the error outside of it.
    survives = vendor == "postgresql" and session.in_nested_transaction() and not script.in_savepoint
    if isinstance(translation, TransientConflict) and translation.transaction == "dead" and not survives:
        has_died(translation)
    raise translation from error
