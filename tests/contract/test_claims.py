"""Jobs are claimed by workers, and taken back from those that have died."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from cas_orm import Expect, InvalidExpectation, StaleCounts, Superseded, Verdict
from tests.contract.adapters.base import Api, Undo
from tests.contract.run import contract

LONG_AGO = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)


async def jobs(api: Api, count: int, model: Any = None, **values: object) -> list[Any]:
    """Insert so many and return their keys."""
    model = model or api.models.Job
    return [api.key(await api.insert(model, **values)) for _ in range(count)]


async def the_row(api: Api, key: object, model: Any = None) -> dict[str, Any]:
    """Return a job's row."""
    return dict(await api.row(model or api.models.Job, key) or {})


async def stale(api: Api, model: Any = None, **values: object) -> Any:
    """Return a job that was started once, by a worker that has not been heard of for long."""
    job = await api.make(model or api.models.Job, **values)
    await api.on_object("start_if_current", job, owner="w0")
    await api.rival(job, heartbeat_at=LONG_AGO)
    await api.reload(job)
    return job


def compared(update: str) -> str:
    """Return the WHERE of an UPDATE."""
    return update.partition("WHERE")[2].partition("RETURNING")[0]


@contract
async def test_claim_starts_the_first_jobs(keyed: Api) -> None:
    """In the order of their keys, as many as asked for; the others wait."""
    api = keyed
    keys = await jobs(api, 3)
    claimed = await api.on_set("claim", api.models.Job, 2, owner="w1")
    assert [api.key(job) for job in claimed] == keys[:2]
    for job in claimed:
        row = await the_row(api, api.key(job))
        assert (row["state"], row["owner"], row["attempts"]) == ("running", "w1", 1)
        assert (row["run_seq"], row["record_version"]) == (1, 2)
        assert abs(row["started_at"] - dt.datetime.now(dt.UTC)) < dt.timedelta(seconds=30)
    assert (await the_row(api, keys[2]))["state"] == "pending"


@contract
async def test_claimed_objects_are_in_step(api: Api) -> None:
    """Every column can be read without a further statement, and is what the row has; the verbs go on."""
    await jobs(api, 2, api.models.Chore, name="sweep")
    claimed = await api.on_set("claim", api.models.Chore, 2, owner="w1")
    rows = [await the_row(api, api.key(chore), api.models.Chore) for chore in claimed]
    async with api.statements() as sent:
        seen = [
            {name: getattr(chore, name) for name in row} for chore, row in zip(claimed, rows, strict=True)
        ]
    assert sent == []
    assert seen == rows
    for chore in claimed:
        assert (await api.on_object("heartbeat_if_current", chore)).verdict is Verdict.WON
        assert (await api.on_object("finish_if_current", chore, "ok", "")).record_version == 3


@contract
async def test_fewer_than_asked_for(keyed: Api) -> None:
    """What there is, and nothing when there is nothing; no error."""
    api = keyed
    (key,) = await jobs(api, 1)
    assert [api.key(job) for job in await api.on_set("claim", api.models.Job, 5)] == [key]
    assert await api.on_set("claim", api.models.Job, 5) == []
    assert (await the_row(api, key))["attempts"] == 1


@contract
async def test_only_jobs_that_wait(api: Api) -> None:
    """Neither running nor closed ones, nor one whose state differs by case; whatever action they have."""
    for state in ("running", "done", "Pending"):
        await jobs(api, 1, state=state)
    (key,) = await jobs(api, 1, action="resume")
    claimed = await api.on_set("claim", api.models.Job, 9)
    assert [api.key(job) for job in claimed] == [key]
    assert claimed[0].action == "resume"


@contract
async def test_a_spent_budget_is_passed_over(api: Api) -> None:
    """It does not stand in the way of those behind it."""
    await jobs(api, 2, api.models.Chore, attempts=2)
    (key,) = await jobs(api, 1, api.models.Chore, attempts=1)
    claimed = await api.on_set("claim", api.models.Chore, 1)
    assert [api.key(chore) for chore in claimed] == [key]
    assert (await the_row(api, key, api.models.Chore))["attempts"] == 2
    assert await api.on_set("claim", api.models.Chore, 1) == []


@contract
async def test_claim_where(keyed: Api) -> None:
    """A condition of the caller's narrows the claim, and stands in the WHERE of every UPDATE, too."""
    api, model = keyed, keyed.models.Job
    await jobs(api, 1, name="other")
    mine = await jobs(api, 1, name="mine")
    async with api.statements() as sent:
        claimed = await api.on_set("claim", model, 9, where=api.where(model, name="mine"))
    assert [api.key(job) for job in claimed] == mine
    (update,) = [sql for sql in sent if sql.startswith("UPDATE")]
    assert "name" in compared(update)


@contract
async def test_what_the_update_compares(api: Api) -> None:
    """Generation, state, action and budget: a lock alone decides nothing."""
    await jobs(api, 1, api.models.Chore)
    async with api.statements() as sent:
        await api.on_set("claim", api.models.Chore, 1)
    (update,) = [sql for sql in sent if sql.startswith("UPDATE")]
    where = compared(update)
    assert all(name in where for name in ("run_seq", "state", "action", "attempts"))


@contract
async def test_claim_in_one_transaction(api: Api) -> None:
    """BEGIN or SAVEPOINT, one read, one UPDATE a job; one more read where UPDATE cannot return."""
    await jobs(api, 3)
    async with api.statements() as sent:
        await api.on_set("claim", api.models.Job, 3)
    selects = [sql for sql in sent if sql.startswith("SELECT")]
    assert len([sql for sql in sent if sql.startswith("UPDATE")]) == 3
    assert len(selects) == (2 if api.database == "mariadb" else 1)
    assert ("FOR UPDATE SKIP LOCKED" in selects[0].replace(" OF job", "")) is (api.database != "sqlite")


@pytest.mark.parametrize("n", [0, -1, True, False, 1.0, "1", None])
@contract
async def test_claim_of_no_number(api: Api, n: Any) -> None:
    """Refused before any statement."""
    (key,) = await jobs(api, 1)
    async with api.statements() as sent:
        with pytest.raises(ValueError, match="at least 1"):
            await api.on_set("claim", api.models.Job, n)
    assert sent == []
    assert (await the_row(api, key))["state"] == "pending"


@pytest.mark.parametrize(("verb", "args"), [("claim", (1,)), ("requeue_stale", (HOUR,))])
@contract
async def test_without_a_lifecycle(keyed: Api, verb: str, args: tuple[Any, ...]) -> None:
    """The class is not one of jobs."""
    with pytest.raises(InvalidExpectation):
        await keyed.on_set(verb, keyed.models.Order, *args)


@contract
async def test_claim_tells_after_the_commit(api: Api) -> None:
    """Once per winner, in order, no longer provisional; every job has been committed by then."""
    keys = await jobs(api, 2)
    told: list[Any] = []
    claimed = await api.on_set("claim", api.models.Job, 5, on_won=told.append)
    assert [(o.verdict, o.key, o.run_seq, o.provisional) for o in told] == [
        (Verdict.WON, key, 1, False) for key in keys
    ]
    assert len(claimed) == 2


@contract
async def test_claim_in_the_callers_transaction(api: Api) -> None:
    """The hooks wait for its commit; after a rollback nothing has happened, and the objects know it."""
    keys = await jobs(api, 2)
    told: list[Any] = []
    async with api.transaction():
        claimed = await api.on_set("claim", api.models.Job, 2, on_won=told.append)
        assert (len(claimed), told) == (2, [])
        raise Undo
    assert told == []
    assert [(await the_row(api, key))["state"] for key in keys] == ["pending"] * 2
    assert (await api.on_object("start_if_current", claimed[0])).run_seq == 1
    async with api.transaction():
        await api.on_set("claim", api.models.Job, 2, on_won=told.append)
        assert told == []
    assert [(o.key, o.provisional) for o in told] == [(keys[1], False)]


@contract
async def test_a_claim_supersedes_the_old_generation(api: Api) -> None:
    """A message that is delivered twice cannot start a job that was claimed."""
    (key,) = await jobs(api, 1)
    await api.on_set("claim", api.models.Job, 1, owner="w1")
    with pytest.raises(Superseded):
        await api.by_key("start_if_current", api.models.Job, key, owner="w2", expect=Expect(run_seq=0))
    assert (await the_row(api, key))["owner"] == "w1"


@contract
async def test_a_stale_job_is_requeued(keyed: Api) -> None:
    """A new generation, the attempts kept; its old worker is superseded."""
    api = keyed
    job = await stale(api)
    told: list[Any] = []
    counts = await api.on_set("requeue_stale", api.models.Job, HOUR, on_won=told.append)
    row = await the_row(api, api.key(job))
    assert counts == StaleCounts(requeued=1, gave_up=0)
    assert (row["state"], row["attempts"], row["owner"], row["heartbeat_at"]) == ("pending", 1, "", None)
    assert (row["run_seq"], row["record_version"]) == (2, 3)
    assert [(o.verdict, o.key, o.run_seq, o.provisional) for o in told] == [
        (Verdict.WON, api.key(job), 2, False)
    ]
    with pytest.raises(Superseded):
        await api.on_object("finish_if_current", job, "done", "ok")
    assert await api.on_set("requeue_stale", api.models.Job, HOUR) == StaleCounts(0, 0)


@contract
async def test_a_stale_job_without_budget_gives_up(keyed: Api) -> None:
    """Closed with the class's own state and result, the generation as it was."""
    api, model = keyed, keyed.models.Chore
    spent, left = await stale(api, model, attempts=1), await stale(api, model)
    counts = await api.on_set("requeue_stale", model, HOUR)
    assert counts == StaleCounts(requeued=1, gave_up=1)
    row = await the_row(api, api.key(spent), model)
    assert (row["state"], row["result"], row["attempts"], row["run_seq"]) == ("bad", "gave_up", 2, 1)
    assert abs(row["finished_at"] - dt.datetime.now(dt.UTC)) < dt.timedelta(seconds=30)
    assert (await the_row(api, api.key(left), model))["state"] == "new"
    assert await api.on_set("requeue_stale", model, HOUR) == StaleCounts(0, 0)


@contract
async def test_who_is_not_stale(api: Api) -> None:
    """A fresh heartbeat, none at all, a job that does not run; by the database's clock."""
    await api.on_object("start_if_current", await api.make(api.models.Job))
    await jobs(api, 1, state="running")
    for state in ("pending", "done"):
        await jobs(api, 1, state=state, heartbeat_at=LONG_AGO)
    async with api.statements() as sent:
        assert await api.on_set("requeue_stale", api.models.Job, HOUR) == StaleCounts(0, 0)
    assert len(sent) == 1  # nobody of them is even tried


@contract
async def test_the_age_is_measured(api: Api) -> None:
    """Two hours are older than one, and not older than three."""
    job = await stale(api)
    await api.rival(job, heartbeat_at=dt.datetime.now(dt.UTC) - 2 * HOUR)
    assert await api.on_set("requeue_stale", api.models.Job, 3 * HOUR) == StaleCounts(0, 0)
    assert await api.on_set("requeue_stale", api.models.Job, HOUR) == StaleCounts(1, 0)


@contract
async def test_requeue_stale_where(keyed: Api) -> None:
    """A condition of the caller's narrows the sweep."""
    api, model = keyed, keyed.models.Job
    job, other = await stale(api, name="mine"), await stale(api, name="other")
    counts = await api.on_set("requeue_stale", model, HOUR, where=api.where(model, name="mine"))
    assert counts == StaleCounts(1, 0)
    assert (await the_row(api, api.key(job)))["state"] == "pending"
    assert (await the_row(api, api.key(other)))["state"] == "running"


@contract
async def test_what_the_sweep_compares(api: Api) -> None:
    """Generation, state, attempts and heartbeat stand in the WHERE of the UPDATE."""
    await stale(api)
    async with api.statements() as sent:
        await api.on_set("requeue_stale", api.models.Job, HOUR)
    read, update = sent
    assert read.startswith("SELECT")
    where = compared(update)
    assert all(name in where for name in ("run_seq", "state", "attempts", "heartbeat_at"))


@contract
async def test_a_sweep_in_the_callers_transaction(api: Api) -> None:
    """It is undone with it; hooks run after the commit."""
    job = await stale(api)
    told: list[Any] = []
    async with api.transaction():
        assert await api.on_set("requeue_stale", api.models.Job, HOUR, on_won=told.append) == StaleCounts(
            1, 0
        )
        raise Undo
    assert told == []
    assert (await the_row(api, api.key(job)))["state"] == "running"
    async with api.transaction():
        await api.on_set("requeue_stale", api.models.Job, HOUR, on_won=told.append)
        assert told == []
    assert [o.provisional for o in told] == [False]


@contract
async def test_a_sweep_of_nonsense(api: Api) -> None:
    """Seconds are no timedelta; a negative age would take every job from its worker."""
    with pytest.raises(TypeError, match="timedelta"):
        await api.on_set("requeue_stale", api.models.Job, 3600)
    with pytest.raises(ValueError, match="negative"):
        await api.on_set("requeue_stale", api.models.Job, -HOUR)


@contract
async def test_a_swept_job_is_claimed_again(api: Api) -> None:
    """Until its budget is spent."""
    model = api.models.Chore
    (key,) = await jobs(api, 1, model)
    for counts in (StaleCounts(1, 0), StaleCounts(0, 1)):
        (chore,) = await api.on_set("claim", model, 1)
        await api.rival(chore, heartbeat_at=LONG_AGO)
        assert await api.on_set("requeue_stale", model, HOUR) == counts
    assert await api.on_set("claim", model, 1) == []
    assert (await the_row(api, key, model))["result"] == "gave_up"
