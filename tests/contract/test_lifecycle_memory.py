"""What a job object shows after a win, an earlier finish, a rollback, an assignment of the user's."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pytest

from cas_orm import Expect, IllegalTransition, Verdict
from tests.contract.adapters.base import Api, Undo
from tests.contract.run import contract

NOON = dt.datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=dt.UTC)
#: verb -> its arguments, and the verbs that come before it
VERBS: Mapping[str, tuple[tuple[Any, ...], tuple[str, ...]]] = {
    "start": ((), ()),
    "save_status": (({"step": 1},), ("start",)),
    "heartbeat": ((), ("start",)),
    "finish": (("done", "ok"), ("start",)),
    "requeue": ((), ("start",)),
}
every_verb = pytest.mark.parametrize("verb", VERBS)


async def call(api: Api, verb: str, job: Any) -> None:
    """Call a verb on an object; it has to win."""
    outcome = await api.on_object(f"{verb}_if_current", job, *VERBS[verb][0])
    assert outcome.verdict is Verdict.WON


async def ready_for(api: Api, verb: str) -> Any:
    """Return a job to which the verb may be done."""
    job = await api.make(api.models.Job, logs="old", result="old", status={"old": 1}, finished_at=NOON)
    for before in VERBS[verb][1]:
        await call(api, before, job)
    return await api.load(api.models.Job, api.key(job))


async def assert_truthful(api: Api, job: Any) -> None:
    """See that what the object has loaded is in its row, and that its next verb is believed."""
    row = await api.row(api.models.Job, api.key(job))
    assert row is not None
    shown = {name: value for name, value in job.__dict__.items() if name in row}
    assert shown == {name: row[name] for name in shown}


async def use(api: Api, job: Any) -> None:
    """Use the object as its row allows, without a reload, and then save it."""
    row = await api.row(api.models.Job, api.key(job))
    assert row is not None
    after = {"pending": "start", "running": "save_status", "done": None}[row["state"]]
    if after is not None:
        await call(api, after, job)
    version = (await api.save_if_current(job)).record_version
    assert version == row["record_version"] + (after is not None) + 1
    await api.reload(job)
    await assert_truthful(api, job)


@every_verb
@contract
async def test_after_a_win(api: Api, verb: str) -> None:
    """The object shows nothing that its row has not."""
    job = await ready_for(api, verb)
    await call(api, verb, job)
    await assert_truthful(api, job)
    await use(api, job)


@every_verb
@contract
async def test_after_a_rollback(api: Api, verb: str) -> None:
    """The verb never happened: state, generation, version and all that the verb had assigned."""
    job = await ready_for(api, verb)
    before = await api.row(api.models.Job, api.key(job))
    async with api.transaction():
        await call(api, verb, job)
        raise Undo
    assert await api.row(api.models.Job, api.key(job)) == before
    await use(api, job)
    row = await api.row(api.models.Job, api.key(job))
    assert row is not None
    assert before is not None
    if verb != "start":  # the use has kept a checkpoint; that of the others is the start again
        kept = ("owner", "logs", "result", "finished_at", "heartbeat_at", "attempts", "run_seq")
        assert {name: row[name] for name in kept} == {name: before[name] for name in kept}


@every_verb
@contract
async def test_after_the_rollback_of_a_savepoint(api: Api, verb: str) -> None:
    """The same, while the transaction around it goes on and is committed."""
    job = await ready_for(api, verb)
    before = await api.row(api.models.Job, api.key(job))
    async with api.transaction():
        async with api.savepoint():
            await call(api, verb, job)
            raise Undo
        assert await api.row(api.models.Job, api.key(job)) == before
        await use(api, job)
    await assert_truthful(api, job)


@contract
async def test_after_the_rollback_of_two_verbs(api: Api) -> None:
    """One in the transaction, one in a savepoint that was released: both are taken back."""
    job = await ready_for(api, "start")
    before = await api.row(api.models.Job, api.key(job))
    async with api.transaction():
        await call(api, "start", job)
        async with api.savepoint():
            await call(api, "finish", job)
        raise Undo
    await api.save_if_current(job)
    row = await api.row(api.models.Job, api.key(job))
    assert before is not None
    assert row == {**before, "record_version": before["record_version"] + 1}


@contract
async def test_after_the_commit(api: Api) -> None:
    """Several verbs in one transaction: the object is in step, and stays so."""
    job = await ready_for(api, "start")
    async with api.transaction():
        for verb in ("start", "heartbeat", "save_status", "finish"):
            await call(api, verb, job)
    await assert_truthful(api, job)
    await use(api, job)


@contract
async def test_an_end_that_was_there_already(api: Api) -> None:
    """A finish whose answer was lost: what that write left besides state and result is not written over."""
    job = await ready_for(api, "finish")
    await api.by_key(
        "finish_if_current",
        api.models.Job,
        api.key(job),
        "done",
        "ok",
        logs="bye",
        finished_at=NOON,
        expect=Expect(run_seq=1),
    )
    outcome = await api.on_object("finish_if_current", job, "done", "ok")
    assert outcome.verdict is Verdict.ALREADY_APPLIED
    await assert_truthful(api, job)
    job.name = "after"
    await api.save_if_current(job)
    row = await api.row(api.models.Job, api.key(job))
    assert row is not None
    assert (row["name"], row["logs"], row["finished_at"], row["result"]) == ("after", "bye", NOON, "ok")


@contract
async def test_an_end_that_was_there_already_and_edits_since(api: Api) -> None:
    """The finish is known to hold; of the edits nothing is known, so a save asks for a reload."""
    job = await ready_for(api, "finish")
    key = api.key(job)
    await api.by_key(
        "finish_if_current", api.models.Job, key, "done", "ok", logs="bye", expect=Expect(run_seq=1)
    )
    await api.by_key(
        "update_if_current", api.models.Job, key, expect=Expect(run_seq=1), set={"name": "edited"}
    )
    assert bool(await api.on_object("finish_if_current", job, "done", "ok"))
    with pytest.raises(Exception, match="cas-stale"):
        await api.save_if_current(job)
    await api.reload(job)
    assert job.name == "edited"
    await assert_truthful(api, job)
    await api.save_if_current(job)
    row = await api.row(api.models.Job, key)
    assert row is not None
    assert (row["name"], row["logs"]) == ("edited", "bye")


@contract
async def test_a_state_that_the_user_has_assigned(api: Api) -> None:
    """Django believes the attributes as they are, SQLAlchemy what it last saw, an assignment aside."""
    job = await api.make(api.models.Job)
    job.state = "done"
    if api.label(api.models.Job) == "shop.Job":
        with pytest.raises(IllegalTransition):
            await api.on_object("start_if_current", job)
        job.state = "pending"
    outcome = await api.on_object("start_if_current", job)
    assert (outcome.verdict, job.state) == (Verdict.WON, "running")
    await api.save_if_current(job)
    row = await api.row(api.models.Job, api.key(job))
    assert row is not None
    assert row["state"] == "running"


@contract
async def test_an_action_that_the_user_has_assigned(api: Api) -> None:
    """As the state: on Django it is what the verb believes; on SQLAlchemy it waits for a save."""
    job = await api.make(api.models.Job)
    job.action = "stop"
    outcome = await api.on_object("try_start_if_current", job)
    if api.label(api.models.Job) == "shop.Job":
        assert outcome.verdict is Verdict.WRONG_STATE
        return
    assert (outcome.verdict, job.action) == (Verdict.WON, "stop")
    await api.save_if_current(job)
    row = await api.row(api.models.Job, api.key(job))
    assert row is not None
    assert (row["action"], row["state"]) == ("stop", "running")


@contract
async def test_another_column_that_the_user_has_assigned(api: Api) -> None:
    """A verb of the lifecycle neither writes nor forgets it; the next save writes it."""
    job = await api.make(api.models.Job)
    job.name = "mine"
    await api.on_object("start_if_current", job)
    row = await api.row(api.models.Job, api.key(job))
    assert row is not None
    assert (row["name"], job.name) == ("", "mine")
    await api.save_if_current(job)
    row = await api.row(api.models.Job, api.key(job))
    assert row is not None
    assert (row["name"], row["state"], row["owner"]) == ("mine", "running", "")
