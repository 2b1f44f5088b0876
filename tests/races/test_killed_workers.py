"""A worker that is killed with SIGKILL: its job is started again, as often as the budget allows."""

from __future__ import annotations

import datetime as dt
from threading import Barrier
from typing import Any

import pytest
from django.db import connections

from cas_orm import Expect, Outcome, StaleCounts, Verdict
from tests.contract.adapters.base import Api
from tests.races.actors import Actor, wait_until
from tests.races.on import EVERYWHERE, on
from tests.races.stage import SEATS, Stage
from tests.races.worker import Worker, at_work

AT_ONCE = dt.timedelta(0)
HOUR = dt.timedelta(hours=1)
LONG_AGO = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
#: Processes are slow to start, so not everything meets everything.
CASES = pytest.mark.parametrize(
    ("stage", "door", "point"),
    [
        ("django-sync", "sqlite", "at-work"),
        ("django-sync", "postgres", "before-the-commit"),
        ("django-async", "postgres", "at-work"),
        ("django-async", "mariadb", "at-work"),
        ("sqla-sync", "sqlite", "at-work"),
        ("sqla-sync", "mariadb", "before-the-commit"),
        ("sqla-async", "postgres", "at-work"),
        ("sqla-sync", "postgres", "at-work"),
    ],
    indirect=["stage", "door"],
)


@pytest.fixture
def who(request: pytest.FixtureRequest, stage: Stage, sqla_door: str, door: str) -> dict[str, Any]:
    """Say who a worker is: of the same adapter and colour, and at the same door, as the actors."""
    seat = next(seat for seat in SEATS if seat in request.node.name)
    name = str(connections[door].settings_dict["NAME"])
    return {"seat": seat, "door": sqla_door, "alias": door, "name": name}


async def sweep(api: Api, older_than: dt.timedelta, sent: list[Outcome] | None = None) -> StaleCounts:
    """Take back what has had no heartbeat for so long; ``sent`` are the messages about it."""
    hook = None if sent is None else sent.append
    counts = await api.on_set("requeue_stale", api.models.Chore, older_than, on_won=hook)
    assert isinstance(counts, StaleCounts)
    return counts


def swept(actor: Actor, sent: list[Outcome]) -> StaleCounts:
    """Sweep until something was taken back: a server may need a moment to miss the one who was killed."""
    counts = StaleCounts(0, 0)

    def something() -> bool:
        nonlocal counts
        counts = actor.do(sweep, actor.api, AT_ONCE, sent)
        return counts != StaleCounts(0, 0)

    wait_until(something)
    return counts


async def delivered(api: Api, key: int, run_seq: int) -> Outcome:
    """Start the job that a message names."""
    expect = Expect(run_seq=run_seq)
    return await api.by_key("try_start_if_current", api.models.Chore, key, owner="late", expect=expect)


@CASES
def test_killed_until_the_budget_is_spent(stage: Stage, who: dict[str, Any], point: str) -> None:
    """Claimed, killed, swept; started by a message, killed, swept: given up. No attempt is spent twice."""
    early, late = stage.pair
    messages: list[Outcome] = []
    with at_work() as workers:
        workers.append(Worker(**who))
        finishes(stage, workers[0])
        key = stage.insert(stage.models.Chore)
        assert workers[0].tell("claim", owner="w0") == [key, 1, 1]
        assert late.do(sweep, late.api, HOUR) == StaleCounts(0, 0)
        end(workers[0], point)
        assert swept(early, messages) == StaleCounts(requeued=1, gave_up=0)
        assert late.do(sweep, late.api, AT_ONCE) == StaleCounts(0, 0)
        row = stage.row(stage.models.Chore, key)
        assert (row["state"], row["owner"], row["attempts"], row["run_seq"]) == ("new", "", 1, 2)
        (message,) = messages

        workers.append(Worker(**who))
        told = workers[1].tell("start", key=key, run_seq=message.run_seq, owner="w0")
        assert told == "won"
        for old in (message.run_seq, 0):  # the broker delivers again
            assert late.do(delivered, late.api, key, old).verdict is Verdict.SUPERSEDED
        assert stage.row(stage.models.Chore, key)["attempts"] == 2
        end(workers[1], point)
        assert swept(early, messages) == StaleCounts(requeued=0, gave_up=1)
    row = stage.row(stage.models.Chore, key)
    assert (row["state"], row["result"], row["attempts"], row["run_seq"]) == ("bad", "gave_up", 2, 3)
    for run_seq in range(4):
        assert not late.do(delivered, late.api, key, run_seq)
    assert stage.row(stage.models.Chore, key) == row


def finishes(stage: Stage, worker: Worker) -> None:
    """Let a worker finish a job, and be superseded on one that was swept because it was only slow."""
    key = stage.insert(stage.models.Chore)
    assert worker.tell("claim", owner="w0") == [key, 1, 1]
    assert worker.tell("finish") == "won"
    assert stage.early.do(sweep, stage.early.api, AT_ONCE) == StaleCounts(0, 0)
    assert stage.row(stage.models.Chore, key)["state"] == "ok"
    slow = stage.insert(stage.models.Chore)
    assert worker.tell("claim", owner="w0") == [slow, 1, 1]
    assert swept(stage.early, []) == StaleCounts(requeued=1, gave_up=0)
    before = stage.row(stage.models.Chore, slow)
    assert worker.tell("finish") == "superseded"
    assert stage.row(stage.models.Chore, slow) == before
    assert stage.early.do(delivered, stage.early.api, slow, 2)
    assert swept(stage.early, []) == StaleCounts(requeued=0, gave_up=1)  # out of the way


def end(worker: Worker, point: str) -> None:
    """Kill a worker in the middle of its work, or when all that is missing is its COMMIT."""
    if point == "before-the-commit":
        worker.tell("begin")
        assert worker.tell("finish") == "won"
    worker.kill()


@on(*EVERYWHERE)
def test_two_sweeps_and_a_message_at_once(stage: Stage) -> None:
    """However they interleave: taken back once, started once for it, and two attempts at the most."""
    cast = (*stage.pair, stage.witness)
    for _ in range(12):
        key = stage.insert(stage.models.Chore)
        stage.early.do(lost, stage.early.api, key)
        barrier, messages = Barrier(3), list[Outcome]()

        async def sweeping(api: Api, barrier: Barrier = barrier, to: list[Outcome] = messages) -> StaleCounts:
            barrier.wait(30)
            return await sweep(api, HOUR, to)

        async def redelivered(api: Api, barrier: Barrier = barrier, key: int = key) -> list[Outcome]:
            barrier.wait(30)
            return [await delivered(api, key, run_seq) for run_seq in (0, 1, 2, 2)]

        steps = (sweeping, sweeping, redelivered)
        racing = [actor.start(step, actor.api) for actor, step in zip(cast, steps, strict=True)]
        first, second, starts = (r.result(60) for r in racing)
        assert sorted([first, second], key=lambda c: c.requeued) == [StaleCounts(0, 0), StaleCounts(1, 0)]
        assert [message.run_seq for message in messages] == [2]
        won = [outcome.run_seq for outcome in starts if outcome]
        assert won in ([], [3])
        row = stage.row(stage.models.Chore, key)
        assert (row["attempts"], row["run_seq"]) == (1 + len(won), 2 + len(won))


async def lost(api: Api, key: int) -> None:
    """Start a job as a worker that was not heard of since."""
    assert await delivered(api, key, 0)
    await api.rival(await api.load(api.models.Chore, key), heartbeat_at=LONG_AGO)
