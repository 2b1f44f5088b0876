"""A job's life: each verb won and refused, on an object and by key."""

from __future__ import annotations

import datetime as dt
import logging

import pytest

from cas_orm import (
    AttemptsExhausted,
    Expect,
    IllegalTransition,
    InvalidExpectation,
    MissingExpectation,
    Superseded,
    Verdict,
)
from tests.contract.adapters.base import Api
from tests.contract.run import contract

NOON = dt.datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=dt.UTC)


async def started(api: Api, **values: object) -> object:
    """Return a running job of generation 1."""
    job = await api.make(api.models.Job, **values)
    await api.on_object("start_if_current", job, owner="w0")
    return job


async def the_row(api: Api, job: object) -> dict[str, object]:
    """Return the job's row."""
    return dict(await api.row(type(job), api.key(job)))


@contract
async def test_start_takes_the_job(api: Api) -> None:
    """Running, a new generation, one attempt, an owner, two times by the database; no trace of an old run."""
    job = await api.make(
        api.models.Job, result="old", logs="old", status={"old": 1}, finished_at=NOON, attempts=4
    )
    outcome = await api.on_object("start_if_current", job, owner="w0")
    row = await the_row(api, job)
    assert (outcome.verdict, outcome.record_version, outcome.run_seq) == (Verdict.WON, 2, 1)
    assert (row["state"], row["owner"], row["attempts"]) == ("running", "w0", 5)
    assert (row["result"], row["logs"], row["status"], row["finished_at"]) == ("", "", None, None)
    assert abs(row["started_at"] - dt.datetime.now(dt.UTC)) < dt.timedelta(seconds=30)
    assert abs(row["heartbeat_at"] - row["started_at"]) < dt.timedelta(seconds=1)
    assert (row["record_version"], row["run_seq"]) == (2, 1)
    assert (job.state, job.owner, job.record_version, job.run_seq, job.logs) == ("running", "w0", 2, 1, "")


@contract
async def test_the_object_shows_what_the_database_worked_out(api: Api) -> None:
    """After a reload nothing is different; what only the database knows may be deferred until then."""
    job = await started(api)
    fresh = await api.load(api.models.Job, api.key(job))
    names = ("state", "record_version", "run_seq", "owner")
    expected = [getattr(fresh, name) for name in names]
    await api.reload(job)
    assert [getattr(job, name) for name in names] == expected


@contract
async def test_two_start_one_job(api: Api) -> None:
    """The second is superseded and writes nothing."""
    job = await api.make(api.models.Job)
    other = await api.load(api.models.Job, api.key(job))
    await api.on_object("start_if_current", job, owner="w0")
    outcome = await api.on_object("try_start_if_current", other, owner="w1")
    row = await the_row(api, job)
    assert outcome.verdict is Verdict.SUPERSEDED
    assert (row["owner"], row["attempts"], row["run_seq"]) == ("w0", 1, 1)
    assert other.state == "pending"


@contract
async def test_start_by_key(keyed: Api) -> None:
    """A message that carries the generation starts the job, once."""
    job = await keyed.make(keyed.models.Job)
    key, expect = keyed.key(job), Expect.from_json(Expect(run_seq=0).to_json())
    won = await keyed.by_key("start_if_current", keyed.models.Job, key, owner="w0", expect=expect)
    lost = await keyed.by_key("try_start_if_current", keyed.models.Job, key, owner="w1", expect=expect)
    assert (won.verdict, won.run_seq, lost.verdict) == (Verdict.WON, 1, Verdict.SUPERSEDED)
    assert (await the_row(keyed, job))["owner"] == "w0"


VERBS = {
    "start": (),
    "save_status": ({"step": 1},),
    "finish": ("done", "ok"),
    "heartbeat": (),
    "requeue": (),
}


@pytest.mark.parametrize("verb", VERBS)
@contract
async def test_every_verb_by_key_needs_the_generation(keyed: Api, verb: str) -> None:
    """Without it an old worker could not be told from the new one."""
    job = await keyed.make(keyed.models.Job)
    with pytest.raises(MissingExpectation):
        await keyed.by_key(
            f"{verb}_if_current",
            keyed.models.Job,
            keyed.key(job),
            *VERBS[verb],
            expect=Expect(record_version=1),
        )


@pytest.mark.parametrize("verb", VERBS)
@contract
async def test_every_verb_of_an_old_generation_is_superseded(keyed: Api, verb: str) -> None:
    """No column changes."""
    job = await started(keyed)
    before = await the_row(keyed, job)
    with pytest.raises(Superseded) as caught:
        await keyed.by_key(
            f"{verb}_if_current", keyed.models.Job, keyed.key(job), *VERBS[verb], expect=Expect(run_seq=0)
        )
    assert caught.value.code == "cas-superseded"
    assert await the_row(keyed, job) == before


@pytest.mark.parametrize("verb", [v for v in VERBS if v != "start"])
@contract
async def test_every_other_verb_wins_in_its_own_generation(keyed: Api, verb: str) -> None:
    """The same calls with the generation of now."""
    job = await started(keyed)
    outcome = await keyed.by_key(
        f"{verb}_if_current", keyed.models.Job, keyed.key(job), *VERBS[verb], expect=Expect(run_seq=1)
    )
    assert outcome.verdict is Verdict.WON


@pytest.mark.parametrize("verb", VERBS)
@contract
async def test_verbs_on_a_class_without_a_lifecycle(keyed: Api, verb: str) -> None:
    """It has no such verbs, and by key they are refused."""
    order = await keyed.make(keyed.models.Order)
    assert not keyed.has_verb(keyed.models.Order, f"{verb}_if_current")
    with pytest.raises(InvalidExpectation):
        await keyed.by_key(
            f"{verb}_if_current", keyed.models.Order, keyed.key(order), *VERBS[verb], expect=Expect(run_seq=0)
        )


@contract
async def test_a_budget_is_spent_at_the_start(api: Api) -> None:
    """Two starts are allowed; an automatic requeue keeps the count, a person's opens a new budget."""
    chore = await api.make(api.models.Chore)
    for _ in range(2):
        await api.on_object("start_if_current", chore)
        await api.on_object("requeue_if_current", chore)
    before = await the_row(api, chore)
    with pytest.raises(AttemptsExhausted) as caught:
        await api.on_object("start_if_current", chore)
    assert caught.value.code == "cas-exhausted"
    assert await the_row(api, chore) == before
    await api.reload(chore)
    key = api.key(chore)
    exhausted = await api.by_key(
        "try_start_if_current", api.models.Chore, key, expect=Expect(run_seq=before["run_seq"])
    )
    assert exhausted.verdict is Verdict.EXHAUSTED


@contract
async def test_a_new_budget(api: Api) -> None:
    """A closed job runs again, its attempts counted from zero."""
    chore = await api.make(api.models.Chore, attempts=1)
    await api.on_object("start_if_current", chore)
    await api.on_object("finish_if_current", chore, "bad", "crashed")
    refused = await api.by_key(
        "try_requeue_if_current", api.models.Chore, api.key(chore), expect=Expect(run_seq=1)
    )
    assert refused.verdict is Verdict.WRONG_STATE
    outcome = await api.on_object("requeue_if_current", chore, new_budget=True)
    row = await the_row(api, chore)
    assert (outcome.run_seq, row["state"], row["attempts"], row["run_seq"]) == (2, "new", 0, 2)
    assert (chore.state, chore.attempts, chore.run_seq) == ("new", 0, 2)
    assert (await api.on_object("start_if_current", chore)).verdict is Verdict.WON


@contract
async def test_a_checkpoint(api: Api) -> None:
    """Status and logs are replaced, so that sending them again is harmless; the state is not written."""
    job = await started(api)
    for _ in range(2):
        await api.on_object("save_status_if_current", job, {"step": 2}, logs="two")
    row = await the_row(api, job)
    assert (row["status"], row["logs"], row["state"]) == ({"step": 2}, "two", "running")
    assert (row["record_version"], job.record_version) == (4, 4)
    await api.on_object("save_status_if_current", job, ["three"])
    assert (await the_row(api, job))["logs"] == "two"


@contract
async def test_a_checkpoint_learns_of_a_request_to_stop(api: Api) -> None:
    """The action changes under compare-and-swap; the executor's next checkpoint is refused."""
    job = await started(api)
    key = api.key(job)
    await api.by_key(
        "update_if_current",
        api.models.Job,
        key,
        expect=Expect(run_seq=1, action="start"),
        set={"action": "stop"},
    )
    outcome = await api.on_object("try_save_status_if_current", job, {"step": 2})
    assert outcome.verdict is Verdict.WRONG_STATE
    assert (await the_row(api, job))["status"] is None
    await api.reload(job)
    finished = await api.on_object("finish_if_current", job, "done", "canceled")
    assert finished.verdict is Verdict.WON
    assert (await the_row(api, job))["result"] == "canceled"


@contract
async def test_a_heartbeat_bumps_nothing(api: Api) -> None:
    """It writes its one column; the version of everybody who read the row stays good."""
    job = await started(api)
    await api.rival(job, heartbeat_at=NOON)
    reader = await api.load(api.models.Job, api.key(job))
    outcome = await api.on_object("heartbeat_if_current", job)
    row = await the_row(api, job)
    assert row["heartbeat_at"] > NOON
    assert (outcome.record_version, row["record_version"], job.record_version) == (2, 2, 2)
    reader.name = "still mine"
    assert (await api.save_if_current(reader)).verdict is Verdict.WON


@pytest.mark.parametrize("verb", ["heartbeat", "save_status", "requeue"])
@contract
async def test_only_a_running_job(api: Api, verb: str) -> None:
    """Whatever is loaded: a miss is the wrong state."""
    job = await api.make(api.models.Job)
    before = await the_row(api, job)
    outcome = await api.on_object(f"try_{verb}_if_current", job, *VERBS[verb])
    assert outcome.verdict is Verdict.WRONG_STATE
    assert await the_row(api, job) == before


@contract
async def test_finish(api: Api) -> None:
    """Closed, with the database's time or the caller's; the generation stays."""
    job = await started(api)
    outcome = await api.on_object("finish_if_current", job, "done", "ok", logs="bye", finished_at=NOON)
    row = await the_row(api, job)
    assert (outcome.verdict, outcome.run_seq, outcome.record_version) == (Verdict.WON, 1, 3)
    assert (row["state"], row["result"], row["logs"], row["finished_at"]) == ("done", "ok", "bye", NOON)
    assert (job.state, job.result, job.logs, job.finished_at, job.run_seq) == ("done", "ok", "bye", NOON, 1)
    other = await started(api)
    await api.on_object("finish_if_current", other, "done", "ok")
    finished = (await the_row(api, other))["finished_at"]
    assert abs(finished - dt.datetime.now(dt.UTC)) < dt.timedelta(seconds=30)


@contract
async def test_finish_twice_is_applied_once(api: Api) -> None:
    """A lost answer is no failure: the same state and result in the same generation. The hook runs once."""
    job = await started(api)
    told: list[object] = []
    await api.on_object("finish_if_current", job, "done", "ok", on_won=told.append)
    again = await api.on_object("finish_if_current", job, "done", "ok", on_won=told.append)
    assert (again.verdict, bool(again), again.record_version, again.run_seq) == (
        Verdict.ALREADY_APPLIED,
        True,
        3,
        1,
    )
    assert len(told) == 1
    assert (await the_row(api, job))["record_version"] == 3
    by_key = await api.by_key(
        "finish_if_current", api.models.Job, api.key(job), "done", "ok", expect=Expect(run_seq=1)
    )
    assert by_key.verdict is Verdict.ALREADY_APPLIED


@contract
async def test_the_object_takes_over_what_was_applied(api: Api) -> None:
    """A worker whose answer was lost is in step again, and goes on."""
    job = await started(api)
    await api.by_key(
        "finish_if_current", api.models.Job, api.key(job), "done", "ok", expect=Expect(run_seq=1)
    )
    outcome = await api.on_object("finish_if_current", job, "done", "ok")
    assert outcome.verdict is Verdict.ALREADY_APPLIED
    assert (job.state, job.result, job.record_version) == ("done", "ok", 3)
    job.name = "after"
    assert (await api.save_if_current(job)).record_version == 4


@pytest.mark.parametrize("rival", [("done", "canceled"), ("done", "")])
@contract
async def test_finish_with_another_result_is_refused(api: Api, rival: tuple[str, str]) -> None:
    """The first decision stands."""
    job = await started(api)
    await api.by_key("finish_if_current", api.models.Job, api.key(job), *rival, expect=Expect(run_seq=1))
    with pytest.raises(Superseded) as caught:
        await api.on_object("finish_if_current", job, "done", "ok")
    assert caught.value.code == "cas-wrong-state"
    assert (await the_row(api, job))["result"] == rival[1]


@contract
async def test_the_same_end_in_another_generation_is_superseded(api: Api) -> None:
    """The later run came to the same end; it is not the one that asks."""
    job = await started(api)
    zombie = await api.load(api.models.Job, api.key(job))
    await api.on_object("requeue_if_current", job)
    await api.on_object("start_if_current", job)
    await api.on_object("finish_if_current", job, "done", "ok")
    outcome = await api.on_object("try_finish_if_current", zombie, "done", "ok")
    assert outcome.verdict is Verdict.SUPERSEDED


@contract
async def test_requeue(api: Api) -> None:
    """Pending again, in a new generation; owner and heartbeat are gone, the attempts are not."""
    job = await started(api)
    outcome = await api.on_object("requeue_if_current", job)
    row = await the_row(api, job)
    assert (outcome.run_seq, row["run_seq"], row["record_version"]) == (2, 2, 3)
    assert (row["state"], row["owner"], row["heartbeat_at"], row["attempts"]) == ("pending", "", None, 1)
    assert (job.state, job.owner, job.run_seq) == ("pending", "", 2)


@contract
async def test_edges_are_checked_before_any_statement(api: Api) -> None:
    """A running job cannot be started, none be finished to an open state; some edges do not exist."""
    job = await started(api)
    chore = await api.make(api.models.Chore)
    async with api.statements() as sent:
        with pytest.raises(IllegalTransition):
            await api.on_object("try_start_if_current", job)
        with pytest.raises(IllegalTransition):
            await api.on_object("try_finish_if_current", job, "pending", "")
        with pytest.raises(IllegalTransition):
            await api.on_object("try_finish_if_current", chore, "ok", "")
        with pytest.raises(IllegalTransition):
            await api.by_key(
                "try_start_if_current", api.models.Job, api.key(job), expect=Expect(run_seq=1, state="done")
            )
    assert sent == []
    assert (await api.on_object("finish_if_current", chore, "dropped", "")).verdict is Verdict.WON


@contract
async def test_a_refused_object_stays_refused(api: Api) -> None:
    """Every verb repeats the refusal without a statement, until a reload."""
    job = await started(api)
    await api.rival(job, run_seq=5)
    assert (await api.on_object("try_heartbeat_if_current", job)).verdict is Verdict.SUPERSEDED
    async with api.statements() as sent:
        for verb in ("heartbeat", "finish", "requeue", "save_status", "start"):
            with pytest.raises(Superseded) as caught:
                await api.on_object(f"try_{verb}_if_current", job, *VERBS[verb])
            assert caught.value.fenced
    assert sent == []
    await api.reload(job)
    assert (await api.on_object("heartbeat_if_current", job)).verdict is Verdict.WON


@contract
async def test_an_edit_in_between_does_not_stop_the_worker(api: Api) -> None:
    """A lifecycle verb does not compare the version; a save of the same object then has to reload."""
    job = await started(api)
    await api.bumped_by_rival(job, name="edited")
    assert (await api.on_object("save_status_if_current", job, 1)).record_version == 4
    assert (await api.on_object("finish_if_current", job, "done", "ok")).record_version == 5
    with pytest.raises(Exception, match="cas-stale"):
        await api.save_if_current(job)
    await api.reload(job)
    assert job.name == "edited"


@pytest.mark.parametrize("name", ["state", "action", "run_seq"])
@contract
async def test_what_is_not_loaded_is_not_believed(api: Api, name: str) -> None:
    """Start believes state, action and generation as the object last saw them."""
    job = await api.make(api.models.Job)
    await api.defer(job, name)
    with pytest.raises(MissingExpectation):
        await api.on_object("try_start_if_current", job)


@contract
async def test_where_narrows_a_verb(api: Api) -> None:
    """A condition of the caller's stands in the WHERE."""
    job = await api.make(api.models.Job, name="a")
    key = api.key(job)
    refused = await api.by_key(
        "try_start_if_current",
        api.models.Job,
        key,
        expect=Expect(run_seq=0),
        where=api.where(api.models.Job, name="b"),
    )
    assert refused.verdict is Verdict.WRONG_STATE
    won = await api.on_object("start_if_current", job, where=api.where(api.models.Job, name="a"))
    assert won.verdict is Verdict.WON


@contract
async def test_case_of_a_state_counts(api: Api) -> None:
    """'Pending' is not 'pending', on MariaDB either."""
    job = await api.make(api.models.Job)
    await api.rival(job, state="Pending")
    assert (await api.on_object("try_start_if_current", job)).verdict is Verdict.WRONG_STATE


@contract
async def test_the_loser_is_told_once(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    """One line at WARNING: key, generations, names of columns, no values."""
    job = await started(api, name="secret")
    await api.rival(job, run_seq=7, owner="somebody")
    with caplog.at_level(logging.DEBUG, "cas_orm"):
        await api.on_object("try_finish_if_current", job, "done", "ok")
        with pytest.raises(Superseded):
            await api.on_object("finish_if_current", job, "done", "ok")
    (record,) = [r for r in caplog.records if r.name == "cas_orm"]
    assert record.levelno == logging.WARNING
    message = record.getMessage()
    assert "superseded by another actor" in message
    assert all(part in message for part in (str(api.key(job)), "run_seq 1", "7", "state"))
    assert "secret" not in message
    assert "somebody" not in message


@contract
async def test_hooks_run_after_the_commit(api: Api) -> None:
    """Not before, and not at all after a rollback."""
    told: list[object] = []
    job = await api.make(api.models.Job)
    async with api.transaction():
        outcome = await api.on_object("start_if_current", job, on_won=told.append)
        assert outcome.provisional
        assert told == []
    assert [o.provisional for o in told] == [False]


@contract
async def test_one_statement_each(api: Api) -> None:
    """Won: one. Refused: two."""
    job = await api.make(api.models.Job)
    for verb in ("start", "heartbeat", "save_status", "requeue"):
        async with api.statements() as sent:
            await api.on_object(f"{verb}_if_current", job, *VERBS[verb])
        assert len(sent) == 1, verb
    async with api.statements() as sent:
        await api.by_key(
            "try_finish_if_current", api.models.Job, api.key(job), "done", "ok", expect=Expect(run_seq=1)
        )
    assert len(sent) == 2


@contract
async def test_a_rolled_back_start_did_not_happen(api: Api) -> None:
    """State and generation are truthful at the next use."""
    from tests.contract.adapters.base import Undo

    job = await api.make(api.models.Job)
    async with api.transaction():
        await api.on_object("start_if_current", job)
        raise Undo
    assert (await api.on_object("start_if_current", job)).run_seq == 1
