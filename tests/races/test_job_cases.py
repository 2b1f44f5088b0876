"""Acceptance cases of jobs: a canceled one, and the same worker name in a later attempt.

Each case stands beside its baseline: the statement that people write without a generation, which loses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker
from sqlalchemy.orm import Session, sessionmaker

import cas_orm_django
import cas_orm_sqla
from cas_orm import Expect, Outcome, RetryPolicy, Superseded, Verdict
from tests.contract.adapters.base import Api
from tests.contract.adapters.django import DjangoApi
from tests.races.actors import Actor
from tests.races.on import EVERYWHERE, on
from tests.races.stage import Stage, table_of

AT_ONCE = RetryPolicy(delays=[0], max_retries=5, jitter="none")
ENDS = pytest.mark.parametrize(("first", "second"), [("canceled", "ok"), ("ok", "canceled")])
#: What code of an old attempt may still want to do.
OLD_CODE: dict[str, tuple[Any, ...]] = {
    "heartbeat": (),
    "save_status": ({"step": 9},),
    "finish": ("done", "ok"),
    "requeue": (),
}


async def started(api: Api, key: Any, owner: str = "w0") -> Any:
    """Load a job, start it, and return the object."""
    job = await api.load(api.models.Job, key)
    await api.on_object("start_if_current", job, owner=owner)
    return job


async def finished(api: Api, key: Any, run_seq: int, result: str, hooks: list[str]) -> Outcome:
    """Close a job by key, for the generation that one was told of."""
    return await api.by_key(
        "finish_if_current",
        api.models.Job,
        key,
        "done",
        result,
        expect=Expect(run_seq=run_seq),
        on_won=lambda outcome: hooks.append(result),
    )


@ENDS
@on(*EVERYWHERE)
def test_ac01_a_canceled_job_does_not_become_a_success(stage: Stage, first: str, second: str) -> None:
    """AC-01: the first end stands; the other is told which it was, and its hook never runs."""
    early, late = stage.pair
    key = stage.insert(stage.models.Job)
    worker = late.do(started, late.api, key)
    hooks: list[str] = []
    early.do(finished, early.api, key, 1, first, hooks)

    async def report(api: Api) -> Outcome:
        return await api.on_object(
            "finish_if_current", worker, "done", second, on_won=lambda outcome: hooks.append(second)
        )

    refused = late.fails(report, late.api)
    assert isinstance(refused, Superseded)
    assert (refused.code, refused.actual["result"]) == ("cas-wrong-state", first)
    row = stage.row(stage.models.Job, key)
    assert (row["state"], row["result"], hooks) == ("done", first, [first])


@ENDS
@on(*EVERYWHERE)
def test_ac01_while_the_first_end_is_not_committed(stage: Stage, first: str, second: str) -> None:
    """AC-01: the second waits for the first, and wins only after a rollback."""
    early, late = stage.pair
    for end, winner in ((Actor.commit, first), (Actor.rollback, second)):
        key = stage.insert(stage.models.Job)
        stage.witness.do(started, stage.witness.api, key)
        hooks: list[str] = []
        early.begin()
        early.do(finished, early.api, key, 1, first, hooks)
        waiting = late.blocks(finished, late.api, key, 1, second, hooks)
        end(early)
        refused = waiting.exception(30)
        assert (refused is None) is (winner == second)
        assert refused is None or isinstance(refused, Superseded)
        assert (stage.row(stage.models.Job, key)["result"], hooks) == (winner, [winner])


@on(*EVERYWHERE)
def test_ac01_the_baseline_loses_the_cancel(stage: Stage) -> None:
    """AC-01, baseline: closed by primary key alone, the canceled job becomes a success."""
    key = stage.insert(stage.models.Job)
    stage.early.do(started, stage.early.api, key)
    for actor, result in zip(stage.pair, ("canceled", "ok"), strict=True):
        actor.ask(
            f"UPDATE {table_of(stage.models.Job)} SET state = 'done', result = '{result}' WHERE id = {key}"
        )
    assert stage.row(stage.models.Job, key)["result"] == "ok"


def third_generation(stage: Stage) -> tuple[Any, Any, Any]:
    """Return the key, the old attempt's object of generation 1, and the new one's of generation 3.

    Both are of worker w0; in between, the first was taken for dead.
    """
    early, late = stage.pair
    key = stage.insert(stage.models.Job)
    old = early.do(started, early.api, key)

    async def give_back(api: Api) -> Outcome:
        return await api.by_key("requeue_if_current", api.models.Job, key, expect=Expect(run_seq=1))

    stage.witness.do(give_back, stage.witness.api)
    new = late.do(started, late.api, key)
    assert (old.run_seq, new.run_seq) == (1, 3)
    return key, old, new


async def by_old_code(api: Api, verb: str, key: Any, obj: Any) -> Outcome:
    """Let code of generation 1 call a verb: on its object, or by key."""
    arguments = OLD_CODE[verb]
    if obj is not None:
        return await api.on_object(f"{verb}_if_current", obj, *arguments)
    return await api.by_key(
        f"{verb}_if_current", api.models.Job, key, *arguments, expect=Expect(run_seq=1, owner="w0")
    )


@pytest.mark.parametrize("order", [p for n, p in enumerate(permutations(OLD_CODE)) if n % 5 == 0])
@on(*EVERYWHERE)
def test_ac03_the_same_name_a_later_attempt(stage: Stage, order: tuple[str, ...]) -> None:
    """AC-03: whatever the old attempt still does, in any order, is superseded; the new one finishes."""
    key, old, new = third_generation(stage)
    early, late = stage.pair
    before = stage.row(stage.models.Job, key)
    for verb in order:
        for held in (None, old):
            refused = early.fails(by_old_code, early.api, verb, key, held)
            assert isinstance(refused, Superseded)
            assert refused.verdict is Verdict.SUPERSEDED
            assert stage.row(stage.models.Job, key) == before

    async def finish(api: Api) -> Outcome:
        return await api.on_object("finish_if_current", new, "done", "ok")

    assert late.do(finish, late.api).verdict is Verdict.WON
    row = stage.row(stage.models.Job, key)
    assert (row["state"], row["result"], row["owner"], row["run_seq"]) == ("done", "ok", "w0", 3)
    refused = early.fails(by_old_code, early.api, "finish", key, None)  # the very same end
    assert isinstance(refused, Superseded)


def retried(actor: Actor, alias: str, key: Any, calls: list[int]) -> Callable[[], Any]:
    """Return a step that reloads the job and finishes it for generation 1, under the retry helper."""
    finish: tuple[Any, ...] = ("done", "ok")
    mine = Expect(run_seq=1)
    if isinstance(actor.api, DjangoApi):
        model = actor.api.models.Job

        def work() -> Outcome:
            calls.append(1)
            return model.objects.using(alias).get(pk=key).finish_if_current(*finish, expect=mine)

        if actor.api.colour == "sync":
            return cas_orm_django.retry_on_conflict(AT_ONCE, using=alias)(work)
        return lambda: cas_orm_django.aretry_on_conflict(work, policy=AT_ONCE, using=alias)
    engines, model = actor.api.engines, actor.api.models.Job

    def with_session(session: Session) -> Outcome:
        calls.append(1)
        return session.get_one(model, key).finish_if_current(session, *finish, expect=mine)

    async def asynchronously(session: AsyncSession) -> Outcome:
        calls.append(1)
        return await (await session.get_one(model, key)).afinish_if_current(session, *finish, expect=mine)

    if actor.api.colour == "sync":
        return lambda: cas_orm_sqla.retry_on_conflict(sessionmaker(engines.sync), with_session, AT_ONCE)
    factory = async_sessionmaker(engines.asynchronous)
    return lambda: asyncio.run(cas_orm_sqla.aretry_on_conflict(factory, asynchronously, AT_ONCE))


@on(*EVERYWHERE)
def test_ac03_the_retry_does_not_revive_the_old_attempt(stage: Stage, door: str) -> None:
    """AC-03: it reloads, still believes generation 1, and stops at the first refusal."""
    key, _, _ = third_generation(stage)
    before = stage.row(stage.models.Job, key)
    calls: list[int] = []
    refused = stage.early.fails(retried(stage.early, door, key, calls))
    assert isinstance(refused, Superseded)
    assert (refused.verdict, calls) == (Verdict.SUPERSEDED, [1])
    assert stage.row(stage.models.Job, key) == before


@on(*EVERYWHERE)
def test_ac03_the_baseline_finishes_the_new_attempt(stage: Stage) -> None:
    """AC-03, baseline: owner and state are as the old attempt knew them; it closes the new one's run."""
    key, _, _ = third_generation(stage)
    stage.early.ask(
        f"UPDATE {table_of(stage.models.Job)} SET state = 'done', result = 'by the old attempt' "
        f"WHERE id = {key} AND owner = 'w0' AND state = 'running'"
    )
    row = stage.row(stage.models.Job, key)
    assert (row["state"], row["result"], row["run_seq"]) == ("done", "by the old attempt", 3)
