"""The verbs of a job's lifecycle: on an object, and as functions by key. The session comes first.

What each believes and writes is said in `cas_orm.lifecycle`; here it becomes one conditional UPDATE.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sqlalchemy import Connection
from sqlalchemy.orm import InstanceState, Session

from cas_orm import Expect, MissingExpectation, Outcome, Verdict
from cas_orm.belief import need_generation, need_run_seq, resolve
from cas_orm.lifecycle import CLOCK, RAISED, Lifecycle, Move, tell_loser
from cas_orm.twins import raising
from cas_orm_sqla import instance, memory, seen, winning, write
from cas_orm_sqla.belief import AttributeBelief, Where, check_where
from cas_orm_sqla.clock import DatabaseClock
from cas_orm_sqla.columns import Attribute, Columns, columns_of, new_token
from cas_orm_sqla.keys import identity_of
from cas_orm_sqla.script import Script, update_script
from cas_orm_sqla.twins import hop_function
from cas_orm_sqla.write import OnWon

#: What a verb of the lifecycle does, once the loaded state and action are known; None by key.
Plan: TypeAlias = Callable[[Lifecycle, Mapping[str, object] | None], Move]


def move_object(
    obj: Any,
    session: Session,
    plan: Plan,
    *,
    expect: Expect | None,
    where: Where | None,
    on_won: OnWon | None,
) -> Outcome:
    """Move an object's job along, believing the generation that the object last saw."""
    session = instance.unwrap(session)
    connection, script = object_script(obj, session, plan, expect, where)
    outcome = write.run(
        session, connection, script, on_won, lambda won: winning.take_over(session, obj, script, won)
    )
    return not_won(session, obj, script, outcome)


def object_script(
    obj: Any, session: Session, plan: Plan, expect: Expect | None, where: Where | None
) -> tuple[Connection, Script]:
    """Make an object's move ready to be sent, and return the connection to send it on."""
    state, columns = instance.ready(session, obj)
    move = plan(columns.lifecycle, _loaded(state, columns))
    belief = seen.believed(state, columns, move.with_(expect), where, version=False)
    need_run_seq(columns, belief, f"{move.verb}_if_current")
    connection = write.connect(session, columns)
    identity: tuple[Any, ...] = state.key[1]  # type: ignore[index]  # checked by ready()
    return connection, move_script(columns, connection, identity, belief, move)


def not_won(session: Session, obj: Any, script: Script, outcome: Outcome) -> Outcome:
    """Let an object know that it was refused, or that its target was reached before."""
    state = memory.state_of(obj)
    if outcome.verdict is Verdict.ALREADY_APPLIED:
        winning.take_found(session, obj, script, outcome)
    elif not outcome:
        memory.remember(state).fence = outcome
    return tell_loser(outcome)


def _move_by_key(
    session: Session,
    model: type[Any],
    key: object,
    plan: Plan,
    expect: Expect,
    where: Where | None,
    on_won: OnWon | None,
) -> Outcome:
    session = instance.unwrap(session)
    columns = columns_of(model)
    move = plan(columns.lifecycle, None)
    check_where(columns, where)
    belief = resolve(columns, move.with_(expect), where)
    need_run_seq(columns, belief, f"{move.verb}_if_current")
    identity = identity_of(columns, key)
    connection = write.connect(session, columns)
    script = move_script(columns, connection, identity, belief, move)
    return tell_loser(write.run(session, connection, script, on_won))


def _loaded(state: InstanceState[Any], columns: Columns) -> dict[str, object]:
    """Return the object's state and action as last seen.

    Raises:
        MissingExpectation: one never was.
    """
    loaded = seen.job_of(state)
    if len(loaded) < 2:
        raise MissingExpectation(f"{columns.label}: state and action were never seen [cas-no-expectation]")
    return loaded


def move_script(
    columns: Columns, connection: Connection, identity: tuple[Any, ...], belief: AttributeBelief, move: Move
) -> Script:
    """Make a move ready to be sent."""
    values = {name: _value(columns, name, value) for name, value in move.writes.items()}
    if move.budget is not None:
        belief.budget = ("attempts", columns.own["attempts"], move.budget)
    script = update_script(
        columns,
        connection.dialect,
        identity,
        belief,
        values,
        verb=move.verb,
        bumps=move.bumps,
        hands_over=move.hands_over,
        token=None if columns.token is None else new_token(),
    )
    script.target = move.target
    return script


def generation_of(columns: Columns) -> Attribute:
    """Return the attribute that is the generation.

    Raises:
        InvalidExpectation: the class has none.
    """
    need_generation(columns)
    assert columns.generation is not None
    return columns.generation


def _value(columns: Columns, name: str, value: object) -> object:
    attribute = columns.attribute(name)
    if value is CLOCK:
        return DatabaseClock()
    return attribute.column + 1 if value is RAISED else value


# -- by key ------------------------------------------------------------------------------------------------


def try_start_if_current(
    session: Session,
    model: type[Any],
    key: object,
    *,
    owner: str = "",
    expect: Expect,
    where: Where | None = None,
    on_won: OnWon | None = None,
) -> Outcome:
    """Hand the job to a worker if it is as believed: running, a new generation, one attempt spent.

    Args:
        session: whose transaction it joins.
        model: a class with `JobMixin`.
        key: the row's primary key.
        owner: who works on it.
        expect: what is believed; ``run_seq`` is required, the state is one that may start by default.
        where: a further condition over plain columns of the version's table.
        on_won: called with the outcome after the commit, when the job was started.

    Returns:
        The outcome; ``run_seq`` is the new generation, which every later verb has to believe.

    Raises:
        MissingExpectation: ``expect`` names no ``run_seq``.
        InvalidExpectation: the class has no lifecycle, or a belief does not fit.
        IllegalTransition: no state leads to the running one.
        TransientConflict: the engine refused.
        UnknownOutcome: the connection was lost in flight.
        TypeError: the wrong kind of session.
    """
    return _move_by_key(
        session, model, key, lambda life, loaded: life.start(owner, loaded), expect, where, on_won
    )


def try_save_status_if_current(
    session: Session,
    model: type[Any],
    key: object,
    status: object,
    *,
    logs: str | None = None,
    expect: Expect,
    where: Where | None = None,
    on_won: OnWon | None = None,
) -> Outcome:
    """Keep a checkpoint of the running job, if it is still this generation's. Sending it again is harmless.

    Args:
        session: as for `try_start_if_current`.
        model: as for `try_start_if_current`.
        key: the row's primary key.
        status: the checkpoint: anything that JSON can carry.
        logs: replaces the logs; None leaves them.
        expect: what is believed; ``run_seq`` is required.
        where: as for `try_start_if_current`.
        on_won: as for `try_start_if_current`.

    Raises:
        MissingExpectation: ``expect`` names no ``run_seq``.
        InvalidExpectation: the class has no lifecycle, or a belief does not fit.
        IllegalTransition: ``expect`` names another state than the running one.
        TransientConflict: the engine refused.
        UnknownOutcome: the connection was lost in flight.
        TypeError: the wrong kind of session.
    """
    return _move_by_key(
        session,
        model,
        key,
        lambda life, loaded: life.save_status(status, logs, loaded),
        expect,
        where,
        on_won,
    )


def try_finish_if_current(
    session: Session,
    model: type[Any],
    key: object,
    state: str,
    result: str,
    *,
    logs: str | None = None,
    finished_at: datetime.datetime | None = None,
    expect: Expect,
    where: Where | None = None,
    on_won: OnWon | None = None,
) -> Outcome:
    """Close the job, if it is still this generation's and not closed. A lost answer is no failure.

    Args:
        session: as for `try_start_if_current`.
        model: as for `try_start_if_current`.
        key: the row's primary key.
        state: a terminal state.
        result: how it ended.
        logs: replaces the logs; None leaves them.
        finished_at: when it ended; by default the database's clock.
        expect: what is believed; ``run_seq`` is required.
        where: as for `try_start_if_current`.
        on_won: called after the commit, when this call has closed the job; not for ALREADY_APPLIED.

    Returns:
        The outcome; ALREADY_APPLIED when the row has this state and result in this generation.

    Raises:
        MissingExpectation: ``expect`` names no ``run_seq``.
        InvalidExpectation: the class has no lifecycle, or a belief does not fit.
        IllegalTransition: the state is not terminal, or no state leads to it.
        TransientConflict: the engine refused.
        UnknownOutcome: the connection was lost in flight.
        TypeError: the wrong kind of session.
    """

    def plan(life: Lifecycle, loaded: Mapping[str, object] | None) -> Move:
        return life.finish(state, result, logs=logs, finished_at=finished_at, loaded=loaded)

    return _move_by_key(session, model, key, plan, expect, where, on_won)


def try_heartbeat_if_current(
    session: Session,
    model: type[Any],
    key: object,
    *,
    expect: Expect,
    where: Where | None = None,
    on_won: OnWon | None = None,
) -> Outcome:
    """Say that the worker is alive, if the job is still its own; the version stays.

    Args:
        session: as for `try_start_if_current`.
        model: as for `try_start_if_current`.
        key: the row's primary key.
        expect: what is believed; ``run_seq`` is required.
        where: as for `try_start_if_current`.
        on_won: as for `try_start_if_current`.

    Raises:
        MissingExpectation: ``expect`` names no ``run_seq``.
        InvalidExpectation: the class has no lifecycle, or a belief does not fit.
        IllegalTransition: ``expect`` names another state than the running one.
        TransientConflict: the engine refused.
        UnknownOutcome: the connection was lost in flight.
        TypeError: the wrong kind of session.
    """
    return _move_by_key(session, model, key, lambda life, _: life.heartbeat(), expect, where, on_won)


def try_requeue_if_current(
    session: Session,
    model: type[Any],
    key: object,
    *,
    new_budget: bool = False,
    expect: Expect,
    where: Where | None = None,
    on_won: OnWon | None = None,
) -> Outcome:
    """Give the job back, if it is still this generation's; whoever worked on it is superseded.

    Args:
        session: as for `try_start_if_current`.
        model: as for `try_start_if_current`.
        key: the row's primary key.
        new_budget: zero the attempts, and let a closed job run again: a person's decision.
        expect: what is believed; ``run_seq`` is required.
        where: as for `try_start_if_current`.
        on_won: as for `try_start_if_current`.

    Returns:
        The outcome; ``run_seq`` is the new generation.

    Raises:
        MissingExpectation: ``expect`` names no ``run_seq``.
        InvalidExpectation: the class has no lifecycle, or a belief does not fit.
        IllegalTransition: a running job may not become an initial one.
        TransientConflict: the engine refused.
        UnknownOutcome: the connection was lost in flight.
        TypeError: the wrong kind of session.
    """
    return _move_by_key(
        session, model, key, lambda life, _: life.requeue(new_budget=new_budget), expect, where, on_won
    )


start_if_current = raising(try_start_if_current)
astart_if_current = hop_function(start_if_current)
atry_start_if_current = hop_function(try_start_if_current)

save_status_if_current = raising(try_save_status_if_current)
asave_status_if_current = hop_function(save_status_if_current)
atry_save_status_if_current = hop_function(try_save_status_if_current)

finish_if_current = raising(try_finish_if_current)
afinish_if_current = hop_function(finish_if_current)
atry_finish_if_current = hop_function(try_finish_if_current)

heartbeat_if_current = raising(try_heartbeat_if_current)
aheartbeat_if_current = hop_function(heartbeat_if_current)
atry_heartbeat_if_current = hop_function(try_heartbeat_if_current)

requeue_if_current = raising(try_requeue_if_current)
arequeue_if_current = hop_function(requeue_if_current)
atry_requeue_if_current = hop_function(try_requeue_if_current)
