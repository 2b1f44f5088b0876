"""The one place where a conditional write runs: steps -> rows -> `Outcome`.

    Script ──▶ send ──▶ one row  ──▶ WON, with what the database handed back
                  └───▶ zero rows ─▶ diagnose (one fresh read) ─▶ the verdict

Statements go to the session's connection, not through ``session.execute``: nothing is flushed before them
behind the writer's back. Nothing on an object changes here.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from cas_orm import Outcome, UnsupportedBackend, Verdict
from cas_orm.facts import Facts
from cas_orm_sqla import hooks
from cas_orm_sqla.capabilities import check_can_count, commits_itself
from cas_orm_sqla.columns import Columns
from cas_orm_sqla.diagnose import diagnose
from cas_orm_sqla.engine_errors import translated
from cas_orm_sqla.script import Script
from cas_orm_sqla.statement import Statement
from cas_orm_sqla.transactions import own_transaction

OnWon = Callable[[Outcome], object]


@dataclass(slots=True)
class Watch:
    """Shows the async twins which statement was in flight when they were cancelled."""

    script: Script | None = None
    in_transaction: bool = False


WATCH: Final[ContextVar[Watch | None]] = ContextVar("cas_orm_sqla_watch", default=None)


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
    watch = WATCH.get()
    if watch is not None:
        watch.script, watch.in_transaction = script, provisional
    try:
        if not send(connection, script):
            return refused(connection, script, provisional)
    except DBAPIError as error:
        raise_translated(session, connection, script, error, provisional)
    outcome = won(script, provisional)
    if take_over is not None:
        take_over(outcome)
    if on_won is not None:
        final = replace(outcome, provisional=False)
        if provisional:
            hooks.after_commit(session, lambda: on_won(final))
        else:
            on_won(final)
    return outcome


def send(connection: Connection, script: Script) -> bool:
    """Execute the steps; True when every one of them found its row. More than one share a transaction."""
    if len(script.steps) == 1 and script.after is None:
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


def raise_translated(
    session: Session, connection: Connection, script: Script, error: DBAPIError, provisional: bool
) -> NoReturn:
    """Raise what the driver's error means for this write."""
    translation = translated(
        session,
        connection.dialect.name,
        error,
        model=script.columns.label,
        key=script.key,
        expected=Facts(script.belief.facts()),
        token=script.token,
        in_transaction=provisional,
        inflight=script,
    )
    if translation is error:
        raise error
    raise translation from error


def won(script: Script, provisional: bool) -> Outcome:
    """Describe a win: the new numbers come from the database, else from the belief."""
    belief, columns = script.belief, script.columns
    version = generation = None
    if script.verb != "delete":
        version = script.answered.get(columns.version.key)
        if version is None and belief.version is not None:
            version = belief.version + script.rises.version
        if columns.generation is not None:
            generation = script.answered.get(columns.generation.key)
        if generation is None and belief.generation is not None:
            generation = belief.generation + script.rises.generation
    return Outcome(
        Verdict.WON,
        columns.label,
        script.key,
        Facts(belief.facts()),
        None,
        version,
        generation,
        provisional,
        verb=script.verb,
    )


def refused(connection: Connection, script: Script, provisional: bool) -> Outcome:
    """Find out why no row matched."""
    verdict, found = diagnose(connection, script.columns, script.identity, script.belief)
    return Outcome(
        verdict,
        script.columns.label,
        script.key,
        Facts(script.belief.facts()),
        None if found is None else Facts(found),
        provisional=provisional,
        verb=script.verb,
    )
