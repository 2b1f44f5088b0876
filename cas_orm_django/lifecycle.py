"""The verbs of a job's lifecycle: on an object, and as functions by key.

What each believes and writes is said in `cas_orm.lifecycle`; here it becomes one conditional UPDATE.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Mapping
from typing import TypeAlias

from django.db import connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F

from cas_orm import Expect, MissingExpectation, Outcome, Verdict
from cas_orm.belief import need_run_seq
from cas_orm.lifecycle import CLOCK, RAISED, Lifecycle, Move, tell_loser
from cas_orm.twins import raising
from cas_orm_django import instance, memory, write
from cas_orm_django.belief import FieldBelief, Where
from cas_orm_django.clock import DatabaseClock
from cas_orm_django.columns import Columns, columns_of
from cas_orm_django.keys import clean_key, keys_by_key
from cas_orm_django.parked import check_fence, need_row
from cas_orm_django.script import Keys, Script, update_script
from cas_orm_django.twins import hop
from cas_orm_django.verbs import assignments

#: What a verb of the lifecycle does, once the loaded state and action are known; None by key.
Plan: TypeAlias = Callable[[Lifecycle, Mapping[str, object] | None], Move]


def move_object(
    obj: models.Model,
    plan: Plan,
    *,
    expect: Expect | None,
    where: Where | None,
    on_won: write.OnWon | None,
    using: str | None,
) -> Outcome:
    """Move an object's job along, believing the generation that the object last saw."""
    columns = columns_of(type(obj))
    check_fence(obj)
    move = plan(columns.lifecycle, _loaded(obj, columns))
    belief = instance.believed(obj, columns, move.with_(expect), where, version=False)
    need_run_seq(columns, belief, f"{move.verb}_if_current")
    need_row(obj, vouched=False)
    connection = connections[instance.alias_of(obj, using)]
    script = move_script(columns, connection, obj.pk, instance.keys_of(obj, columns), belief, move)
    outcome = write.run(
        connection,
        script,
        on_won,
        lambda won: instance.take_over(obj, connection, script, won, assign=_given(script)),
    )
    if outcome.verdict is Verdict.ALREADY_APPLIED:
        instance.take_found(obj, script, outcome)
    elif not outcome:
        memory.remember(obj).fence = outcome
    return tell_loser(outcome)


def _move_by_key(
    model: type[models.Model],
    key: object,
    plan: Plan,
    expect: Expect,
    where: Where | None,
    on_won: write.OnWon | None,
    using: str | None,
) -> Outcome:
    columns = columns_of(model)
    move = plan(columns.lifecycle, None)
    belief = columns.belief(move.with_(expect), where)
    need_run_seq(columns, belief, f"{move.verb}_if_current")
    alias = using or router.db_for_write(model)
    pk = clean_key(columns, key)
    script = move_script(columns, connections[alias], pk, keys_by_key(columns, alias, pk), belief, move)
    return tell_loser(write.run(connections[alias], script, on_won))


def _loaded(obj: models.Model, columns: Columns) -> dict[str, object]:
    """Return the object's state and action as they are.

    Raises:
        MissingExpectation: one is deferred.
    """
    loaded = {name: obj.__dict__.get(name, memory.ABSENT) for name in ("state", "action")}
    if memory.ABSENT in loaded.values():
        raise MissingExpectation(
            f"{columns.label} {obj.pk}: state and action must be loaded [cas-no-expectation]"
        )
    return loaded


def move_script(
    columns: Columns,
    connection: BaseDatabaseWrapper,
    pk: object,
    keys: Keys,
    belief: FieldBelief,
    move: Move,
) -> Script:
    """Make a move ready to be sent."""
    values, _ = assignments(columns, {name: _value(name, v) for name, v in move.writes.items()})
    if move.budget is not None:
        belief.budget = ("attempts", columns.believable("attempts"), move.budget)
    token = None if columns.token is None else os.urandom(16)
    script = update_script(
        columns,
        connection,
        pk,
        keys,
        belief,
        values,
        verb=move.verb,
        bumps=move.bumps,
        hands_over=move.hands_over,
        token=token,
    )
    script.target = move.target
    return script


def _value(name: str, value: object) -> object:
    if value is CLOCK:
        return DatabaseClock()
    return F(name) + 1 if value is RAISED else value


def _given(script: Script) -> dict[str, object]:
    """Return the values that are known without the database."""
    return {n: v for n, v in script.values.items() if not hasattr(v, "resolve_expression")}


# -- by key ------------------------------------------------------------------------------------------------


def try_start_if_current(
    model: type[models.Model],
    key: object,
    *,
    owner: str = "",
    expect: Expect,
    where: Where | None = None,
    on_won: write.OnWon | None = None,
    using: str | None = None,
) -> Outcome:
    """Hand the job to a worker if it is as believed: running, a new generation, one attempt spent.

    Args:
        model: a class with `JobMixin`.
        key: the row's primary key.
        owner: who works on it.
        expect: what is believed; ``run_seq`` is required, the state is one that may start by default.
        where: a further condition over plain columns of the version's table.
        on_won: called with the outcome after the commit, when the job was started.
        using: the database; by default the router's choice.

    Returns:
        The outcome; ``run_seq`` is the new generation, which every later verb has to believe.

    Raises:
        MissingExpectation: ``expect`` names no ``run_seq``.
        InvalidExpectation: the class has no lifecycle, or a belief does not fit.
        IllegalTransition: no state leads to the running one.
        TransientConflict: the engine refused.
        UnknownOutcome: the connection was lost in flight.
    """
    return _move_by_key(
        model, key, lambda life, loaded: life.start(owner, loaded), expect, where, on_won, using
    )


def try_save_status_if_current(
    model: type[models.Model],
    key: object,
    status: object,
    *,
    logs: str | None = None,
    expect: Expect,
    where: Where | None = None,
    on_won: write.OnWon | None = None,
    using: str | None = None,
) -> Outcome:
    """Keep a checkpoint of the running job, if it is still this generation's. Sending it again is harmless.

    Args:
        model: as for `try_start_if_current`.
        key: the row's primary key.
        status: the checkpoint: anything that JSON can carry.
        logs: replaces the logs; None leaves them.
        expect: what is believed; ``run_seq`` is required.
        where: as for `try_start_if_current`.
        on_won: as for `try_start_if_current`.
        using: as for `try_start_if_current`.

    Raises:
        MissingExpectation: ``expect`` names no ``run_seq``.
        InvalidExpectation: the class has no lifecycle, or a belief does not fit.
        IllegalTransition: ``expect`` names another state than the running one.
        TransientConflict: the engine refused.
        UnknownOutcome: the connection was lost in flight.
    """
    return _move_by_key(
        model, key, lambda life, loaded: life.save_status(status, logs, loaded), expect, where, on_won, using
    )


def try_finish_if_current(
    model: type[models.Model],
    key: object,
    state: str,
    result: str,
    *,
    logs: str | None = None,
    finished_at: datetime.datetime | None = None,
    expect: Expect,
    where: Where | None = None,
    on_won: write.OnWon | None = None,
    using: str | None = None,
) -> Outcome:
    """Close the job, if it is still this generation's and not closed. A lost answer is no failure.

    Args:
        model: as for `try_start_if_current`.
        key: the row's primary key.
        state: a terminal state.
        result: how it ended.
        logs: replaces the logs; None leaves them.
        finished_at: when it ended; by default the database's clock.
        expect: what is believed; ``run_seq`` is required.
        where: as for `try_start_if_current`.
        on_won: called after the commit, when this call has closed the job; not for ALREADY_APPLIED.
        using: as for `try_start_if_current`.

    Returns:
        The outcome; ALREADY_APPLIED when the row has this state and result in this generation.

    Raises:
        MissingExpectation: ``expect`` names no ``run_seq``.
        InvalidExpectation: the class has no lifecycle, or a belief does not fit.
        IllegalTransition: the state is not terminal, or no state leads to it.
        TransientConflict: the engine refused.
        UnknownOutcome: the connection was lost in flight.
    """

    def plan(life: Lifecycle, loaded: Mapping[str, object] | None) -> Move:
        return life.finish(state, result, logs=logs, finished_at=finished_at, loaded=loaded)

    return _move_by_key(model, key, plan, expect, where, on_won, using)


def try_heartbeat_if_current(
    model: type[models.Model],
    key: object,
    *,
    expect: Expect,
    where: Where | None = None,
    on_won: write.OnWon | None = None,
    using: str | None = None,
) -> Outcome:
    """Say that the worker is alive, if the job is still its own; the version stays.

    Args:
        model: as for `try_start_if_current`.
        key: the row's primary key.
        expect: what is believed; ``run_seq`` is required.
        where: as for `try_start_if_current`.
        on_won: as for `try_start_if_current`.
        using: as for `try_start_if_current`.

    Raises:
        MissingExpectation: ``expect`` names no ``run_seq``.
        InvalidExpectation: the class has no lifecycle, or a belief does not fit.
        IllegalTransition: ``expect`` names another state than the running one.
        TransientConflict: the engine refused.
        UnknownOutcome: the connection was lost in flight.
    """
    return _move_by_key(model, key, lambda life, _: life.heartbeat(), expect, where, on_won, using)


def try_requeue_if_current(
    model: type[models.Model],
    key: object,
    *,
    new_budget: bool = False,
    expect: Expect,
    where: Where | None = None,
    on_won: write.OnWon | None = None,
    using: str | None = None,
) -> Outcome:
    """Give the job back, if it is still this generation's; whoever worked on it is superseded.

    Args:
        model: as for `try_start_if_current`.
        key: the row's primary key.
        new_budget: zero the attempts, and let a closed job run again: a person's decision.
        expect: what is believed; ``run_seq`` is required.
        where: as for `try_start_if_current`.
        on_won: as for `try_start_if_current`.
        using: as for `try_start_if_current`.

    Returns:
        The outcome; ``run_seq`` is the new generation.

    Raises:
        MissingExpectation: ``expect`` names no ``run_seq``.
        InvalidExpectation: the class has no lifecycle, or a belief does not fit.
        IllegalTransition: a running job may not become an initial one.
        TransientConflict: the engine refused.
        UnknownOutcome: the connection was lost in flight.
    """
    return _move_by_key(
        model, key, lambda life, _: life.requeue(new_budget=new_budget), expect, where, on_won, using
    )


start_if_current = raising(try_start_if_current)
astart_if_current = hop(start_if_current)
atry_start_if_current = hop(try_start_if_current)

save_status_if_current = raising(try_save_status_if_current)
asave_status_if_current = hop(save_status_if_current)
atry_save_status_if_current = hop(try_save_status_if_current)

finish_if_current = raising(try_finish_if_current)
afinish_if_current = hop(finish_if_current)
atry_finish_if_current = hop(try_finish_if_current)

heartbeat_if_current = raising(try_heartbeat_if_current)
aheartbeat_if_current = hop(heartbeat_if_current)
atry_heartbeat_if_current = hop(try_heartbeat_if_current)

requeue_if_current = raising(try_requeue_if_current)
arequeue_if_current = hop(requeue_if_current)
atry_requeue_if_current = hop(try_requeue_if_current)
