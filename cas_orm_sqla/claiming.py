"""The set-based verbs of jobs: start some that wait, take back those whose worker has died.

    claim          one short transaction:  SELECT … FOR UPDATE SKIP LOCKED ──▶ the start of each ──▶ commit
    requeue_stale  one read of candidates ──▶ one conditional UPDATE for each

A lock only spares the claimers each other's rows. What decides is the WHERE of every UPDATE (ADR 0014).
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn, TypeVar

from sqlalchemy import Connection, and_, or_, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session, selectinload

from cas_orm import ConflictError, Expect, Outcome, StaleCounts, UnknownOutcome, Verdict
from cas_orm.belief import resolve
from cas_orm.claims import check_age, check_count, check_start, sweep
from cas_orm.engine import Fault
from cas_orm.watch import LOST_AT_COMMIT, Watch
from cas_orm_sqla import instance, lifecycle, memory, seen, winning, write
from cas_orm_sqla.belief import AttributeBelief, Where, believable, check_where
from cas_orm_sqla.capabilities import commits_itself, skips_locked
from cas_orm_sqla.clock import Ago
from cas_orm_sqla.columns import Columns, columns_of
from cas_orm_sqla.engine_errors import fault_of
from cas_orm_sqla.script import Script
from cas_orm_sqla.transactions import own_transaction
from cas_orm_sqla.twins import hop_function

__all__ = ["aclaim", "arequeue_stale", "claim", "requeue_stale"]

M = TypeVar("M")


class Started(NamedTuple):
    """One job that was started, and is not in step yet."""

    obj: Any
    script: Script
    outcome: Outcome


def claim(
    session: Session,
    model: type[M],
    n: int,
    *,
    owner: str = "",
    where: Where | None = None,
    on_won: write.OnWon | None = None,
) -> list[M]:
    """Start up to so many waiting jobs, each of them for this caller alone.

    In one short transaction where the session is in AUTOCOMMIT, else in a savepoint of the session's own:
    jobs in the initial state with budget left are locked in the order of their keys and started. Those that
    another claimer has locked are skipped where the database can, so that nobody waits; SQLite has one
    writer at a time. In a transaction of the session's they stay locked until it ends, so end it soon.

    A conflict is never raised: a job that somebody else has started is not in the list. Nothing is flushed;
    an object that the session holds already is brought up to date first, unless it has pending changes.

    Args:
        session: whose transaction it joins; the objects will belong to it.
        model: a class with `JobMixin`.
        n: how many, at least 1.
        owner: who works on them.
        where: which jobs; a condition over plain columns of the version's table.
        on_won: called after the commit, once for each job, with its outcome.

    Returns:
        The started objects in the order of their keys, in step with their rows; fewer than ``n``, or none,
        when there are no more.

    Raises:
        ValueError: ``n`` is not a whole number of at least 1.
        InvalidExpectation: the class has no lifecycle, or ``where`` does not fit.
        IllegalTransition: the initial state does not become the running one.
        TransientConflict: the engine refused; nothing was started.
        UnknownOutcome: the connection was lost; after the COMMIT was sent all may be started, or none.
        TypeError: the wrong kind of session.
    """
    session = instance.unwrap(session)
    wanted, columns = check_count(n), columns_of(model)
    check_start(columns.lifecycle)
    check_where(columns, where)
    connection = write.connect(session, columns)
    started: list[Started] = []
    done = False
    try:
        _scan_only_what_matches(connection)
        with own_transaction(connection):
            for obj in _locked(session, connection, columns, wanted, where):
                started += _start(session, obj, owner, where)
            _read_computed(connection, columns, started)
            done = True
    except DBAPIError as error:
        if done and started and fault_of(connection.dialect.name, error) is Fault.UNKNOWN:
            last = started[-1].script
            raise last.unknown(LOST_AT_COMMIT, in_transaction=True, inflight=last) from error
        _refused(session, connection, columns, error)
    for obj, script, outcome in started:
        winning.take_over(session, obj, script, outcome)
    for _, _, outcome in started:
        write.call_on_won(session, outcome, on_won)
    return [obj for obj, _, _ in started]


def _scan_only_what_matches(connection: Connection) -> None:
    """Let the library's own transaction keep locks on the rows that match, not on all it has passed."""
    if commits_itself(connection) and connection.dialect.name in ("mysql", "mariadb"):
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")


def _locked(
    session: Session, connection: Connection, columns: Columns, n: int, where: Where | None
) -> list[Any]:
    """Lock and load jobs that may be started. The dialect says whether it skips what others locked."""
    life, mapper = columns.lifecycle, columns.mapper
    generation = lifecycle.generation_of(columns)
    query = (
        select(mapper, columns.version.column, generation.column)
        .where(believable(columns, "state").column == life.initial)
        .order_by(*mapper.primary_key)
        .limit(n)
        .with_for_update(of=columns.owner.table, skip_locked=skips_locked(connection))
        # a joined row would be locked, too; MariaDB shows NULL for one that another has locked
        .options(
            *(selectinload(r.class_attribute) for r in mapper.relationships if r.lazy in ("joined", False))
        )
    )
    if life.max_attempts is not None:
        query = query.where(believable(columns, "attempts").column < life.max_attempts)
    if where is not None:
        query = query.where(where)
    with session.no_autoflush:
        rows = session.execute(query).unique().all()
        for obj, version, run_seq in rows:
            _bring_up_to_date(session, obj, columns, (version, run_seq))
    return [row[0] for row in rows]


def _bring_up_to_date(session: Session, obj: Any, columns: Columns, numbers: tuple[int, int]) -> None:
    """Load an object again that the session has held for longer; one with pending changes stays as it is."""
    if session.is_modified(obj):
        return
    state = memory.state_of(obj)
    remembered = memory.recall(state)
    doubtful = remembered is not None and (remembered.fence is not None or remembered.doubt is not None)
    known = (
        seen.number(state, columns.version, "record_version"),
        seen.number(state, lifecycle.generation_of(columns), "run_seq"),
    )
    if doubtful or known != numbers:
        names = [p.key for p in columns.mapper.column_attrs if not p.deferred]
        session.refresh(obj, names, with_for_update=True)  # a snapshot would show the old row


def _start(session: Session, obj: Any, owner: str, where: Where | None) -> list[Started]:
    """Start one job, as `start_if_current` does; nothing when that is refused."""
    try:
        connection, script = lifecycle.object_script(
            obj, session, lambda life, loaded: life.start(owner, loaded), None, where
        )
    except ConflictError:  # refused before, and with changes that a reload would lose
        return []
    outcome = write.run(session, connection, script)
    if outcome:
        return [Started(obj, script, outcome)]
    lifecycle.not_won(session, obj, script, outcome)
    return []


def _read_computed(connection: Connection, columns: Columns, started: Sequence[Started]) -> None:
    """Read what the database has worked out, where its UPDATE could not return it: once for all jobs."""
    names = sorted({name for s in started for name in s.script.unseen if name not in s.script.answered})
    if not names:
        return
    keys = columns.mapper.primary_key
    attributes = [columns.mapper.attrs[name].columns[0] for name in names]
    mine = (and_(*(c == v for c, v in zip(keys, s.script.identity, strict=True))) for s in started)
    query = select(*keys, *attributes).select_from(columns.mapper.persist_selectable).where(or_(*mine))
    found = {tuple(row[: len(keys)]): row[len(keys) :] for row in connection.execute(query)}
    for s in started:
        s.script.answered.update(zip(names, found[tuple(s.script.identity)], strict=True))


def _refused(session: Session, connection: Connection, columns: Columns, error: DBAPIError) -> NoReturn:
    """Raise what it means when the engine refuses a read, or a commit, or loses the connection before one."""
    nobody = Script(columns, None, AttributeBelief(), "claim", {})
    try:
        write.raise_translated(session, connection, nobody, error, not commits_itself(connection))
    except UnknownOutcome:
        raise Watch().unknown("the connection was lost before anything could be committed") from error


def requeue_stale(
    session: Session,
    model: type[Any],
    older_than: datetime.timedelta,
    *,
    where: Where | None = None,
    on_won: write.OnWon | None = None,
) -> StaleCounts:
    """Take running jobs back whose last heartbeat is too old; close those whose budget is spent.

    A requeued job keeps its attempts and has a new generation, so that a worker that was only slow is
    superseded. Each job is one conditional UPDATE, which compares generation, state and heartbeat once more:
    a worker that has beaten in the meantime is spared, and two sweeps never take one job back twice. Ages are
    measured by the database's clock. A running job that has no heartbeat at all is not stale.

    Args:
        session: whose transaction it joins; nothing is flushed, no object is loaded.
        model: a class with `JobMixin`.
        older_than: the age of a heartbeat from which on a worker counts as dead.
        where: which jobs; a condition over plain columns of the version's table.
        on_won: called after the commit, once for each job that was taken back or closed, with its outcome.

    Returns:
        How many were requeued, and how many were closed as ``cas_gave_up``.

    Raises:
        TypeError: ``older_than`` is not a timedelta, or the wrong kind of session.
        ValueError: it is negative.
        InvalidExpectation: the class has no lifecycle, or ``where`` does not fit.
        IllegalTransition: the running state does not become the initial one, or that of ``cas_gave_up``.
        TransientConflict: the engine refused; in AUTOCOMMIT the jobs before that are done.
        UnknownOutcome: the connection was lost in flight.
    """
    session = instance.unwrap(session)
    age, columns = check_age(older_than), columns_of(model)
    life = columns.lifecycle
    for attempts in (0, life.max_attempts or 0):
        sweep(life, attempts)  # refuses a class without these edges, whether there are stale jobs or not
    check_where(columns, where)
    old = believable(columns, "heartbeat_at").column < Ago(age)
    stale = old if where is None else and_(old, where)
    connection = write.connect(session, columns)
    counts = {True: 0, False: 0}
    for *identity, run_seq, attempts in _stale(session, connection, columns, stale):
        move, gives_up = sweep(life, attempts)
        belief = resolve(columns, move.with_(Expect(run_seq=run_seq, attempts=attempts)), stale)
        script = lifecycle.move_script(columns, connection, tuple(identity), belief, move)
        outcome = write.run(session, connection, script, on_won)
        counts[gives_up] += outcome.verdict is Verdict.WON
    return StaleCounts(requeued=counts[False], gave_up=counts[True])


def _stale(session: Session, connection: Connection, columns: Columns, stale: Where) -> Sequence[Any]:
    """Read keys, generations and attempts of the candidates, in the order of their keys."""
    keys = columns.mapper.primary_key
    state, attempts = (believable(columns, name).column for name in ("state", "attempts"))
    query = (
        select(*keys, lifecycle.generation_of(columns).column, attempts)
        .select_from(columns.mapper)
        .where(state == columns.lifecycle.running, stale)
        .order_by(*keys)
    )
    try:
        with session.no_autoflush:
            return session.execute(query).all()
    except DBAPIError as error:
        _refused(session, connection, columns, error)


aclaim = hop_function(claim, whole=True)
arequeue_stale = hop_function(requeue_stale, whole=True)
