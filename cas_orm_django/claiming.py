"""The set-based verbs of jobs: start some that wait, take back those whose worker has died.

    claim          one short transaction:  SELECT … FOR UPDATE SKIP LOCKED ──▶ the start of each ──▶ commit
    requeue_stale  one read of candidates ──▶ one conditional UPDATE for each

A lock only spares the claimers each other's rows. What decides is the WHERE of every UPDATE (ADR 0014).
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from django.db import connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q, QuerySet
from django.db.utils import Error

from cas_orm import Expect, StaleCounts, Verdict
from cas_orm.claims import check_age, check_count, check_start, sweep
from cas_orm.engine import Fault
from cas_orm.flow import refused_by_engine
from cas_orm.watch import Watch
from cas_orm_django import lifecycle, write
from cas_orm_django.belief import Where, clean_where
from cas_orm_django.clock import DatabaseClock
from cas_orm_django.columns import Columns, columns_of
from cas_orm_django.engine_errors import fault_of
from cas_orm_django.keys import keys_by_key
from cas_orm_django.owned import OwnTransaction
from cas_orm_django.statement import compiled_where
from cas_orm_django.transactions import in_transaction, own_transaction
from cas_orm_django.twins import hop

__all__ = ["aclaim", "arequeue_stale", "claim", "requeue_stale"]

M = TypeVar("M", bound=models.Model)
R = TypeVar("R")


def claim(
    model: type[M],
    n: int,
    *,
    owner: str = "",
    where: Where | None = None,
    on_won: write.OnWon | None = None,
    using: str | None = None,
) -> list[M]:
    """Start up to so many waiting jobs, each of them for this caller alone.

    In one short transaction, or in a savepoint of the caller's: jobs in the initial state with budget left
    are locked in the order of their keys and started. Those that another claimer has locked are skipped
    where the database can, so that nobody waits; SQLite has one writer at a time.

    A conflict is never raised: a job that somebody else has started is not in the list.

    Args:
        model: a class with `JobMixin`.
        n: how many, at least 1.
        owner: who works on them.
        where: which jobs; a condition over plain columns of the version's table.
        on_won: called after the commit, once for each job, with its outcome.
        using: the database; by default the router's choice.

    Returns:
        The started objects in the order of their keys, in step with their rows; fewer than ``n``, or none,
        when there are no more.

    Raises:
        ValueError: ``n`` is not a whole number of at least 1.
        InvalidExpectation: the class has no lifecycle, or ``where`` does not fit.
        IllegalTransition: the initial state does not become the running one.
        TransientConflict: the engine refused; nothing was started.
        UnknownOutcome: the connection was lost; after the COMMIT was sent all may be started, or none.
    """
    wanted, columns = check_count(n), columns_of(model)
    check_start(columns.lifecycle)
    condition = clean_where(where)
    alias = using or router.db_for_write(model)
    compiled_where(alias, columns.owner.model, condition)
    write.check_hook(connections[alias], on_won)
    return _together(alias, partial(_claim, columns, connections[alias], wanted, owner, condition, on_won))


def _claim(
    columns: Columns,
    connection: BaseDatabaseWrapper,
    n: int,
    owner: str,
    where: Where | None,
    on_won: write.OnWon | None,
) -> list[Any]:
    started = []
    for obj in _locked(columns, connection, n, where):
        outcome = lifecycle.move_object(
            obj,
            lambda life, loaded: life.start(owner, loaded),
            expect=None,
            where=where,
            on_won=on_won,
            using=connection.alias,
        )
        if outcome:
            started.append(obj)
    _read_computed(columns, connection.alias, started)
    return started


def _locked(columns: Columns, connection: BaseDatabaseWrapper, n: int, where: Where | None) -> list[Any]:
    """Lock and load jobs that may be started. The backend says whether it skips what others locked."""
    life, features = columns.lifecycle, connection.features
    rows: QuerySet[Any] = QuerySet(columns.model, using=connection.alias).filter(state=life.initial)
    if life.max_attempts is not None:
        rows = rows.filter(attempts__lt=life.max_attempts)
    if where is not None:
        rows = rows.filter(where)
    if features.has_select_for_update:
        rows = rows.select_for_update(skip_locked=features.has_select_for_update_skip_locked)
    return list(rows.order_by("pk")[:n])


def _read_computed(columns: Columns, alias: str, objects: list[Any]) -> None:
    """Read what the database has worked out, where its UPDATE could not return it: once for all objects."""
    names = sorted({name for obj in objects for name in obj.get_deferred_fields()})
    if not names:
        return
    rows: QuerySet[Any] = QuerySet(columns.model, using=alias).filter(pk__in=[obj.pk for obj in objects])
    found = {pk: values for pk, *values in rows.values_list("pk", *names)}
    for obj in objects:
        obj.__dict__.update(zip(names, found[obj.pk], strict=True))


def _together(alias: str, work: Callable[[], R]) -> R:
    """Do the work in a transaction of the library's own, or in a savepoint of the caller's."""
    connection = connections[alias]

    def nested() -> R:
        with own_transaction(alias):
            return work()

    if in_transaction(connection):
        return _translating(connection, nested)
    own = OwnTransaction(alias)
    result: Any = None
    if _translating(connection, own.begin):
        with own:
            result = _translating(connection, work)
            own.watch.end()
    if own.conflict is not None:
        raise own.conflict
    return result  # type: ignore[no-any-return]  # the work's own


def _translating(connection: BaseDatabaseWrapper, work: Callable[[], R]) -> R:
    """Do the work, and say what it means when the engine refuses a read, or loses the connection there."""
    try:
        return work()
    except Error as error:
        fault = fault_of(connection, error)
        if fault is Fault.UNKNOWN:
            raise Watch().unknown("the connection was lost before anything could be committed") from error
        refused = refused_by_engine(fault, error)
        if refused is None:
            raise
        raise refused from error


def requeue_stale(
    model: type[models.Model],
    older_than: datetime.timedelta,
    *,
    where: Where | None = None,
    on_won: write.OnWon | None = None,
    using: str | None = None,
) -> StaleCounts:
    """Take running jobs back whose last heartbeat is too old; close those whose budget is spent.

    A requeued job keeps its attempts and has a new generation, so that a worker that was only slow is
    superseded. Each job is one conditional UPDATE, which compares generation, state and heartbeat once more:
    a worker that has beaten in the meantime is spared, and two sweeps never take one job back twice. Ages are
    measured by the database's clock. A running job that has no heartbeat at all is not stale.

    Args:
        model: a class with `JobMixin`.
        older_than: the age of a heartbeat from which on a worker counts as dead.
        where: which jobs; a condition over plain columns of the version's table.
        on_won: called after the commit, once for each job that was taken back or closed, with its outcome.
        using: the database; by default the router's choice.

    Returns:
        How many were requeued, and how many were closed as ``cas_gave_up``.

    Raises:
        TypeError: ``older_than`` is not a timedelta.
        ValueError: it is negative.
        InvalidExpectation: the class has no lifecycle, or ``where`` does not fit.
        IllegalTransition: the running state does not become the initial one, or that of ``cas_gave_up``.
        TransientConflict: the engine refused; without a transaction of the caller's, the jobs before that
            are done.
        UnknownOutcome: the connection was lost in flight.
    """
    age, columns = check_age(older_than), columns_of(model)
    life = columns.lifecycle
    for attempts in (0, life.max_attempts or 0):
        sweep(life, attempts)  # refuses a class without these edges, whether there are stale jobs or not
    stale: Q = Q(heartbeat_at__lt=DatabaseClock(age))
    condition = clean_where(where)
    if condition is not None:
        stale &= condition if isinstance(condition, Q) else Q(condition)
    alias = using or router.db_for_write(model)
    compiled_where(alias, columns.owner.model, stale)
    counts = {True: 0, False: 0}
    for key, run_seq, attempts in _translating(connections[alias], partial(_stale, columns, alias, stale)):
        move, gives_up = sweep(life, attempts)
        expect = move.with_(Expect(run_seq=run_seq, attempts=attempts))
        belief = columns.belief(expect, stale)
        keys = keys_by_key(columns, alias, key)
        script = lifecycle.move_script(columns, connections[alias], key, keys, belief, move)
        outcome = write.run(connections[alias], script, on_won)
        counts[gives_up] += outcome.verdict is Verdict.WON
    return StaleCounts(requeued=counts[False], gave_up=counts[True])


def _stale(columns: Columns, alias: str, stale: Q) -> list[tuple[Any, int, int]]:
    """Read keys, generations and attempts of the candidates, in the order of their keys."""
    rows: QuerySet[Any] = QuerySet(columns.model, using=alias).filter(stale, state=columns.lifecycle.running)
    return list(rows.order_by("pk").values_list("pk", columns.generation_name or "", "attempts"))


aclaim = hop(claim, whole=True)
arequeue_stale = hop(requeue_stale, whole=True)
