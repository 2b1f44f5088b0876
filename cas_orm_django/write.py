"""The one place where a conditional write runs: steps -> rows -> `Outcome`.

    Script ──▶ send ──▶ one row  ──▶ WON, with what the database handed back
                  └───▶ zero rows ─▶ diagnose (one fresh read) ─▶ the verdict

Nothing on an object changes here; `guard` and `verbs` assign after they have seen the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NoReturn

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet
from django.db.models.sql import UpdateQuery
from django.db.utils import Error

from cas_orm import Outcome, UnsupportedBackend, Verdict
from cas_orm.watch import about_to_send, has_won
from cas_orm_django import memory
from cas_orm_django.diagnose import diagnose
from cas_orm_django.engine_errors import translated
from cas_orm_django.script import Script, Step
from cas_orm_django.transactions import in_transaction, own_transaction

OnWon = Callable[[Outcome], object]


def run(
    connection: BaseDatabaseWrapper,
    script: Script,
    on_won: OnWon | None = None,
    take_over: Callable[[Outcome], None] | None = None,
) -> Outcome:
    """Write, bring the object in step, and call the hook."""
    outcome = attempt(connection, script, on_won, take_over)
    if outcome.verdict is Verdict.WON:
        call_on_won(outcome, on_won, script.alias)
    return outcome


def attempt(
    connection: BaseDatabaseWrapper,
    script: Script,
    on_won: OnWon | None,
    take_over: Callable[[Outcome], None] | None,
) -> Outcome:
    """Send the script and judge the rows; the hook is left to the caller.

    Args:
        connection: the database to write to.
        script: what to write.
        on_won: the caller's hook for after the commit; refused here where it could never run.
        take_over: brings the object in step after a win, before anybody else hears of it.

    Raises:
        TransientConflict: the engine refused; its ``transaction`` says what is left of the caller's.
        UnknownOutcome: the connection was lost in flight.
        UnsupportedBackend: the database did not count 0 or 1.
    """
    provisional = in_transaction(connection)
    check_hook(connection, on_won)
    if not send(connection, script, provisional):
        return refused(connection, script, provisional)
    outcome = script.won(provisional=provisional)
    has_won(script)
    if provisional:
        memory.fate_of(connection)
    if take_over is not None:
        take_over(outcome)
    return outcome


def check_hook(connection: BaseDatabaseWrapper, on_won: OnWon | None) -> None:
    """Refuse a hook with autocommit off outside of ``atomic()``: nothing would ever call it.

    Raises:
        TransactionManagementError: Django's own refusal.
    """
    if on_won is not None and in_transaction(connection) and not connection.in_atomic_block:
        transaction.on_commit(lambda: None, using=connection.alias)


def call_on_won(outcome: Outcome, on_won: OnWon | None, alias: str) -> None:
    """Call the hook after the commit, when the win is no longer provisional."""
    if on_won is not None:
        final = replace(outcome, provisional=False)
        transaction.on_commit(lambda: on_won(final), using=alias)


def send(connection: BaseDatabaseWrapper, script: Script, provisional: bool = False) -> bool:
    """Execute the steps; True when every one of them found its row."""
    about_to_send(script, provisional)
    try:
        if len(script.steps) == 1 and script.after is None:
            return _execute(connection, script, script.steps[0])
        with own_transaction(script.alias):
            for step in script.steps:
                if not _execute(connection, script, step):
                    raise _ZeroRows
            if script.after is not None:
                script.after()
            return True
    except _ZeroRows:
        return False
    except Error as error:
        raise_translated(connection, script, error, provisional)


def _lacks_a_row(script: Script) -> bool:
    """Tell whether a further table of a multi-table object has lost its row."""
    for step in script.steps:
        key = {f.attname: script.keys[f.attname] for f in step.table.keys}
        if not QuerySet(step.table.model, using=script.alias).filter(**key).exists():
            return True
    return False


def raise_translated(
    connection: BaseDatabaseWrapper, script: Script, error: Error, provisional: bool
) -> NoReturn:
    """Raise what the driver's error means for this write."""
    translation = translated(connection, error, script, in_transaction=provisional)
    if translation is error:
        raise error
    raise translation from error


class _ZeroRows(Exception):
    """Takes the library's own transaction back; never leaves this module."""


def _execute(connection: BaseDatabaseWrapper, script: Script, step: Step) -> bool:
    plan = step.plan
    with connection.cursor() as cursor:
        cursor.execute(plan.sql, step.params)
        if plan.returning:
            rows = cursor.fetchall()
            count = len(rows)
            if count == 1:
                names = (f.attname for f in plan.returning)
                script.answered.update(zip(names, _converted(script, step, rows[0]), strict=True))
        else:
            count = cursor.rowcount
            if plan.counts_by_last_id and count == 1:
                version = cursor.lastrowid
                if not version:  # a trigger's own INSERT hides it from the driver, not from the server
                    cursor.execute("SELECT LAST_INSERT_ID()")
                    (version,) = cursor.fetchone()
                script.answered[script.columns.version.attname] = version
    if count not in (0, 1):
        raise UnsupportedBackend(
            f"{script.columns.label} {script.key}: the database counted {count} rows for one key; the write "
            "cannot be judged [cas-unsupported]"
        )
    return count == 1


def _converted(script: Script, step: Step, row: Sequence[object]) -> Sequence[object]:
    """Turn returned values into Python's, as a query would."""
    roles = (script.columns.version, script.columns.generation)
    if all(returned in roles for returned in step.plan.returning):
        return row
    compiler = UpdateQuery(step.table.model).get_compiler(script.alias)
    converters = compiler.get_converters([f.get_col(step.table.name) for f in step.plan.returning])
    return next(iter(compiler.apply_converters([row], converters))) if converters else row


def refused(connection: BaseDatabaseWrapper, script: Script, provisional: bool) -> Outcome:
    """Find out why no row matched."""
    try:
        verdict, found = diagnose(script)
        if verdict is Verdict.UNDIAGNOSED and len(script.steps) > 1 and _lacks_a_row(script):
            verdict, found = Verdict.MISSING, None
    except Error as error:
        raise_translated(connection, script, error, provisional)
    return script.refused(verdict, found, provisional=provisional)
