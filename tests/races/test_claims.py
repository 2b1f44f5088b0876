"""Many workers claim, sweepers sweep, messages are delivered twice: every job runs once per attempt."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from threading import Barrier
from typing import Any

import pytest

from cas_orm import Expect, StaleCounts, TransientConflict, UnknownOutcome, Verdict
from cas_orm.settling import never_sent
from tests.contract.adapters.base import Api
from tests.races.actors import Actor, actors
from tests.races.on import EVERYWHERE, SERVERS, on
from tests.races.stage import SEATS, Stage, seated

LONG_AGO = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)

LOCK_TIMEOUTS = {"postgresql": "SET lock_timeout = '3s'", "mysql": "SET innodb_lock_wait_timeout = 3"}


async def claim(api: Api, n: int, **options: Any) -> list[Any]:
    """Claim jobs and return their keys."""
    return [api.key(job) for job in await api.on_set("claim", api.models.Job, n, **options)]


async def claim_all(api: Api, barrier: Barrier, owner: str) -> list[Any]:
    """Claim a few jobs at a time, until there are no more; return their keys."""
    barrier.wait(30)
    keys: list[Any] = []
    while some := await claim(api, 7, owner=owner):
        keys += some
    return keys


async def sweep(api: Api, barrier: Barrier | None = None, **options: Any) -> StaleCounts:
    """Take stale jobs back."""
    if barrier is not None:
        barrier.wait(30)
    counts: StaleCounts = await api.on_set("requeue_stale", api.models.Job, HOUR, **options)
    return counts


async def make_stale(api: Api, key: Any) -> None:
    """Let the worker of a job have died long ago."""
    await api.rival(await api.load(api.models.Job, key), heartbeat_at=LONG_AGO)


async def start(api: Api, key: Any, run_seq: int, barrier: Barrier | None = None) -> Verdict:
    """Start the job that a message names."""
    if barrier is not None:
        barrier.wait(30)
    model, expect = api.models.Job, Expect(run_seq=run_seq)
    verdict: Verdict = (await api.by_key("try_start_if_current", model, key, expect=expect)).verdict
    return verdict


def stale(stage: Stage) -> Any:
    """Insert a job that was started once, by a worker that has not been heard of for long."""
    return stage.insert(
        stage.models.Job, state="running", run_seq=1, attempts=1, heartbeat_at=LONG_AGO, owner="w0"
    )


@pytest.fixture(params=SEATS)
def crowd(request: pytest.FixtureRequest, door: str, sqla_door: str) -> Iterator[list[Actor]]:
    """Yield eight workers of one adapter and colour; three on SQLite, where one writes at a time."""
    many = 3 if door == "default" else 8
    with actors(*(seated(request.param, sqla_door, door) for _ in range(many))) as cast:
        yield cast


@on(*EVERYWHERE, "mariadb_rr")
def test_every_job_is_started_once(crowd: list[Actor]) -> None:
    """Eight workers, 200 jobs: nobody has one that another has, and none is left."""
    first = crowd[0]
    stage = Stage(first, crowd[1], first)
    keys = [stage.insert(stage.models.Job) for _ in range(200 if len(crowd) == 8 else 40)]
    barrier = Barrier(len(crowd))
    running = [actor.start(claim_all, actor.api, barrier, f"w{n}") for n, actor in enumerate(crowd)]
    claimed = {f"w{n}": done.result(60) for n, done in enumerate(running)}
    assert sorted(key for mine in claimed.values() for key in mine) == keys
    for owner, mine in claimed.items():
        for key in mine:
            row = stage.row(stage.models.Job, key)
            assert (row["owner"], row["attempts"], row["run_seq"]) == (owner, 1, 1)


@on(*SERVERS, "postgres_rr", "mariadb_rr")
def test_nobody_waits_for_a_claim_in_progress(stage: Stage) -> None:
    """What another's open transaction has claimed is skipped; after its rollback it waits again."""
    early, late = stage.pair
    keys = [stage.insert(stage.models.Job) for _ in range(3)]
    late.ask(LOCK_TIMEOUTS[late.vendor])
    early.begin()
    assert early.do(claim, early.api, 1) == keys[:1]
    assert late.do(claim, late.api, 1) == [keys[1]]
    early.rollback()
    assert late.do(claim, late.api, 5) == [keys[0], keys[2]]


@on(*EVERYWHERE)
def test_two_sweepers_take_a_job_back_once(stage: Stage) -> None:
    """Together they requeue each job exactly once."""
    keys = [stale(stage) for _ in range(40)]
    barrier = Barrier(2)
    racing = [actor.start(sweep, actor.api, barrier) for actor in stage.pair]
    counts = [r.result(60) for r in racing]
    assert (sum(c.requeued for c in counts), sum(c.gave_up for c in counts)) == (40, 0)
    for key in keys:
        row = stage.row(stage.models.Job, key)
        assert (row["state"], row["run_seq"], row["attempts"]) == ("pending", 2, 1)


@on(*EVERYWHERE)
def test_a_worker_that_beats_meanwhile_is_spared(stage: Stage) -> None:
    """Between the sweeper's read and its UPDATE the second job's worker beats."""
    sweeper, worker = stage.pair
    first, second = stale(stage), stale(stage)

    async def beat(api: Api) -> None:
        await api.by_key("heartbeat_if_current", api.models.Job, second, expect=Expect(run_seq=1))

    counts = sweeper.do(sweep, sweeper.api, on_won=lambda _: worker.do(beat, worker.api))
    assert counts == StaleCounts(1, 0)
    assert stage.row(stage.models.Job, first)["state"] == "pending"
    row = stage.row(stage.models.Job, second)
    assert (row["state"], row["owner"], row["run_seq"]) == ("running", "w0", 1)


@on(*EVERYWHERE)
def test_a_later_run_is_not_the_stale_one(stage: Stage) -> None:
    """Between the sweeper's read and its UPDATE the second job was run anew, and looks as it did before."""
    sweeper, other = stage.pair
    _, second = stale(stage), stale(stage)

    async def run_anew(api: Api) -> None:
        await api.by_key(
            "requeue_if_current", api.models.Job, second, new_budget=True, expect=Expect(run_seq=1)
        )
        await start(api, second, 2)
        await make_stale(api, second)

    counts = sweeper.do(sweep, sweeper.api, on_won=lambda _: other.do(run_anew, other.api))
    assert counts == StaleCounts(1, 0)
    row = stage.row(stage.models.Job, second)
    assert (row["state"], row["run_seq"], row["attempts"]) == ("running", 3, 1)


@on(*EVERYWHERE)
def test_a_sweep_and_a_message_spend_one_attempt(stage: Stage) -> None:
    """The old message is refused; the new one, delivered twice at once while others claim, starts one run."""
    early, late = stage.pair
    for _ in range(10):
        key = stale(stage)
        generations: list[int] = []
        early.do(sweep, early.api, on_won=lambda outcome, kept=generations: kept.append(outcome.run_seq))
        assert generations == [2]
        assert late.do(start, late.api, key, 1) is Verdict.SUPERSEDED
        barrier = Barrier(3)
        racing = [actor.start(start, actor.api, key, 2, barrier) for actor in stage.pair]
        claiming = stage.witness.start(claim_all, stage.witness.api, barrier, "w3")
        won = [r.result(60) for r in racing].count(Verdict.WON) + len(claiming.result(60))
        row = stage.row(stage.models.Job, key)
        assert (won, row["attempts"], row["run_seq"]) == (1, 2, 3)


async def look(api: Api, key: Any) -> Any:
    """Read one job, which takes a snapshot where the transaction has one."""
    return await api.row(api.models.Job, key)


async def edit(api: Api, key: Any) -> None:
    """Change a job that waits."""
    expect = Expect(state="pending")
    await api.by_key("update_if_current", api.models.Job, key, expect=expect, set={"name": "edited"})


@on("postgres_rr", "postgres_serializable", "mariadb_snapshot")
def test_a_claim_that_the_engine_refuses(stage: Stage) -> None:
    """A snapshot that is too old: nothing is started, the caller is told that its transaction is over."""
    early, late = stage.pair
    key = stage.insert(stage.models.Job)
    early.begin()
    early.do(look, early.api, key)
    late.do(edit, late.api, key)
    refused = early.fails(claim, early.api, 1)
    assert isinstance(refused, TransientConflict)
    assert refused.transaction == "dead"
    early.give_up()
    assert stage.row(stage.models.Job, key)["state"] == "pending"
    assert late.do(claim, late.api, 1) == [key]


@on("mariadb_rr")
def test_an_old_snapshot_does_not_show_in_what_is_claimed(stage: Stage) -> None:
    """A locking read sees past it: the claimed object has the edit that was committed since."""
    early, late = stage.pair
    key = stage.insert(stage.models.Job)
    early.begin()
    held = early.do(early.api.load, stage.models.Job, key)
    late.do(edit, late.api, key)

    async def claimed(api: Api) -> Any:
        (job,) = await api.on_set("claim", api.models.Job, 1)
        return job.name, job.record_version, job.attempts

    assert early.do(claimed, early.api) == ("edited", 3, 1)
    assert held is not None  # kept until here: a session forgets what nobody holds
    early.commit()


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("verb", [claim, sweep])
@on(*SERVERS)
def test_a_connection_that_is_lost(stage: Stage, verb: Any, alone: bool) -> None:
    """Nothing was committed, and nothing will be; the caller hears that it is unknown."""
    early, late = stage.pair
    key = stage.insert(stage.models.Job) if verb is claim else stale(stage)
    before = stage.row(stage.models.Job, key)
    if not alone:
        early.begin()
    early.do(look, early.api, key)
    late.kill_from_outside(early.identity())
    args = (1,) if verb is claim else ()
    lost = early.fails(verb, early.api, *args)
    assert isinstance(lost, UnknownOutcome)
    assert never_sent(lost)
    if not alone:
        early.give_up()
    assert stage.row(stage.models.Job, key) == before
