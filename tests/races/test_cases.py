"""Acceptance cases from public bug reports, each with two connections, on both adapters in both colours.

Each case stands beside its baseline: the code that people write without the library, which loses.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Coroutine
from concurrent.futures import FIRST_COMPLETED, Future, wait
from threading import Barrier
from typing import Any

import pytest

from cas_orm import ConflictError, ErrRecordVersionConflict, Expect, Outcome, Superseded, Verdict
from tests.contract.adapters.base import Api
from tests.races.actors import Actor
from tests.races.on import EVERYWHERE, on
from tests.races.stage import Stage, is_version_conflict, save_only, table_of

STARTED = Expect(run_seq=0, state="STARTED")
ORDERS = pytest.mark.parametrize(("first", "second"), [("CANCELED", "SUCCESS"), ("SUCCESS", "CANCELED")])


async def report(api: Api, run: Any, state: str, hooks: list[str]) -> Outcome:
    """Write a closing state as a worker does that holds the object."""
    return await api.update_if_current(
        run, expect=STARTED, set={"state": state}, on_won=lambda outcome: hooks.append(state)
    )


@ORDERS
@on(*EVERYWHERE)
def test_ac01_a_cancelled_run_does_not_become_a_success(stage: Stage, first: str, second: str) -> None:
    """AC-01: the first to commit decides; the second is told what stands there, and its hook never runs."""
    early, late = stage.pair
    key = stage.insert(stage.models.Run, state="STARTED")
    hooks: list[str] = []
    mine, theirs = stage.held(stage.models.Run, key)
    early.do(report, early.api, mine, first, hooks)
    refused = late.fails(report, late.api, theirs, second, hooks)
    assert isinstance(refused, Superseded)
    assert (refused.code, refused.actual["state"]) == ("cas-wrong-state", first)
    assert stage.row(stage.models.Run, key)["state"] == first
    assert hooks == [first]


@ORDERS
@on(*EVERYWHERE)
def test_ac01_while_the_first_is_not_yet_committed(stage: Stage, first: str, second: str) -> None:
    """AC-01: the second waits for the first one's commit and then loses; it wins after a rollback."""
    early, late = stage.pair
    for end, winner in ((Actor.commit, first), (Actor.rollback, second)):
        key = stage.insert(stage.models.Run, state="STARTED")
        hooks: list[str] = []
        mine, theirs = stage.held(stage.models.Run, key)
        early.begin()
        early.do(report, early.api, mine, first, hooks)
        assert hooks == []
        waiting = late.blocks(report, late.api, theirs, second, hooks)
        end(early)
        refused = waiting.exception(30)
        assert (refused is None) is (winner == second)
        assert refused is None or isinstance(refused, Superseded)
        assert (stage.row(stage.models.Run, key)["state"], hooks) == (winner, [winner])


@on("postgres", "mariadb", "mariadb_rr")
def test_ac01_in_the_workers_own_transaction(stage: Stage) -> None:
    """AC-01: the worker has held the run in a transaction since before the cancel; it goes on afterwards."""
    early, late = stage.pair
    key = stage.insert(stage.models.Run, state="STARTED")
    hooks: list[str] = []
    late.begin()
    mine, theirs = stage.held(stage.models.Run, key)
    early.do(report, early.api, mine, "CANCELED", hooks)
    refused = late.fails(report, late.api, theirs, "SUCCESS", hooks)
    assert isinstance(refused, Superseded)
    assert refused.actual["state"] == "CANCELED"
    other = late.do(late.api.insert, stage.models.Doc, title="goes on")
    late.commit()
    assert stage.row(stage.models.Run, key)["state"] == "CANCELED"
    assert stage.row(stage.models.Doc, late.do(late.api.key, other))["title"] == "goes on"
    assert hooks == ["CANCELED"]


@on(*EVERYWHERE)
def test_ac01_the_baseline_loses_the_cancel(stage: Stage) -> None:
    """AC-01, baseline: written by primary key alone, the cancelled run becomes a success."""
    key = stage.insert(stage.models.Run, state="STARTED")
    for actor, state in zip(stage.pair, ("CANCELED", "SUCCESS"), strict=True):
        actor.ask(f"UPDATE {table_of(stage.models.Run)} SET state = '{state}' WHERE id = {key}")
    assert stage.row(stage.models.Run, key)["state"] == "SUCCESS"


#: Where the case asks for 200 rounds.
NAMED_BY_AC02 = ("postgres", "mariadb_rr")


@pytest.mark.parametrize("mode", ["autocommit", "transaction"])
@on("postgres", "mariadb", "mariadb_rr", "sqlite", "sqlite_wal")
def test_ac02_two_schedulers_one_start(stage: Stage, sqla_door: str, mode: str) -> None:
    """AC-02: in every round exactly one schedules, the generation is 1, one message exists."""
    if mode == "transaction" and sqla_door.startswith("sqlite"):
        pytest.skip("two transactions cannot both have read and write on SQLite")
    barrier = Barrier(2)
    sent: list[int] = []

    async def schedule(api: Api, run: Any, who: int) -> Outcome:
        barrier.wait(30)
        return await api.try_new_generation_if_current(
            run, set={"state": "SCHEDULED"}, on_won=lambda outcome: sent.append(who)
        )

    for _ in range(200 if sqla_door in NAMED_BY_AC02 else 40):
        sent.clear()
        key = stage.insert(stage.models.Run)
        if mode == "transaction":
            stage.early.begin()
            stage.late.begin()
        held = stage.held(stage.models.Run, key)
        racing = [
            a.start(schedule, a.api, run, n) for n, (a, run) in enumerate(zip(stage.pair, held, strict=True))
        ]
        if mode == "transaction":
            assert sent == []
            commit_when_done(stage, racing)
        outcomes = [r.result(30) for r in racing]
        assert sorted(o.verdict for o in outcomes) == [Verdict.SUPERSEDED, Verdict.WON]
        assert [outcomes[n].verdict for n in sent] == [Verdict.WON]
        row = stage.row(stage.models.Run, key)
        assert (row["run_seq"], row["record_version"], row["state"]) == (1, 2, "SCHEDULED")


def commit_when_done(stage: Stage, racing: list[Future[Outcome]]) -> None:
    """Commit the one who is not blocked first; the other gets its answer by that."""
    done, _ = wait(racing, 30, return_when=FIRST_COMPLETED)
    first = racing.index(next(iter(done)))
    for n in (first, 1 - first):
        racing[n].result(30)
        stage.pair[n].commit()


@on("postgres", "mariadb", "mariadb_rr")
def test_ac02_the_baseline_schedules_twice(stage: Stage) -> None:
    """AC-02, baseline: both have read generation 0; an id-only UPDATE makes it 2."""
    key = stage.insert(stage.models.Run)
    for actor in stage.pair:
        actor.begin()
    stage.held(stage.models.Run, key)
    table = table_of(stage.models.Run)
    for actor in stage.pair:
        actor.ask(f"UPDATE {table} SET run_seq = run_seq + 1, state = 'SCHEDULED' WHERE id = {key}")
        actor.commit()
    assert stage.row(stage.models.Run, key)["run_seq"] == 2


async def shelve(api: Api, key: Any) -> Outcome:
    """Load the row now, and ask for the shelving of a server that nobody else works on."""
    server = await api.load(api.models.Run, key)
    return await api.update_if_current(server, expect=Expect(state=None), set={"state": "SHELVING"})


async def asked(api: Api, step: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> tuple[Any, list[str]]:
    """Run a step; return what it raised or returned, and the UPDATEs that it sent."""
    result: Any
    async with api.statements() as sent:
        try:
            result = await step(api, *args)
        except ConflictError as error:
            result = error
    return result, [sql for sql in sent if sql.startswith("UPDATE")]


async def save_nothing(api: Api, key: Any, expect: Expect) -> Outcome:
    """Save an object that was not changed, under an explicit belief."""
    return await api.save_if_current(await api.load(api.models.Run, key), expect=expect)


@on(*EVERYWHERE)
def test_ac06_expectation_without_a_change(stage: Stage) -> None:
    """AC-06: the late one asks for what is already there; the database is asked, and refuses."""
    early, late = stage.pair
    key = stage.insert(stage.models.Run, state=None)
    assert early.do(shelve, early.api, key)
    refused, sent = late.do(asked, late.api, shelve, key)
    assert isinstance(refused, Superseded)
    assert len(sent) == 1
    refused, sent = late.do(asked, late.api, save_nothing, key, Expect(record_version=1))
    assert isinstance(refused, ErrRecordVersionConflict)
    assert len(sent) == 1
    by_key = late.do(
        late.api.by_key,
        "try_update_if_current",
        stage.models.Run,
        key,
        expect=Expect(record_version=1),
        set={"state": "SHELVING"},
    )
    assert by_key.verdict is Verdict.STALE
    assert stage.row(stage.models.Run, key)["record_version"] == 2
    accepted, sent = late.do(asked, late.api, save_nothing, key, Expect(record_version=2))
    assert (accepted.record_version, len(sent)) == (3, 1)


@on(*EVERYWHERE)
def test_ac06_the_baseline_lets_both_through(stage: Stage) -> None:
    """AC-06, baseline: "skip when not modified" sends nothing, and the late one believes that it shelved."""

    async def naive(api: Api, key: Any) -> str:
        server = await api.load(api.models.Run, key)
        if server.state != "SHELVING":
            server.state = "SHELVING"
            await api.plain_save(server)
        return "shelved"

    key = stage.insert(stage.models.Run, state=None)
    early, late = (actor.do(asked, actor.api, naive, key) for actor in stage.pair)
    assert (early[0], len(early[1])) == ("shelved", 1)
    assert late == ("shelved", [])


NOON = dt.datetime(2026, 5, 4, 12, tzinfo=dt.UTC)


async def log_in(api: Api, member: Any) -> None:
    """Save one column by the ORM's own means."""
    member.last_login = NOON
    await save_only(api, member, "last_login")


async def rename(api: Api, member: Any, name: str) -> None:
    """Save by the ORM's own means: Django writes every column, SQLAlchemy this one."""
    member.username = name
    await api.plain_save(member)


@on(*EVERYWHERE)
def test_ac07_partial_saves(stage: Stage) -> None:
    """AC-07: A saves partially and then in full, at +2 in row and memory; B's older copy is refused."""
    a, b = stage.pair
    key = stage.insert(stage.models.Member, username="m")
    mine, older = stage.held(stage.models.Member, key)
    a.do(log_in, a.api, mine)
    a.do(rename, a.api, mine, "mine")
    assert mine.record_version == stage.row(stage.models.Member, key)["record_version"] == 3
    assert is_version_conflict(b.fails(rename, b.api, older, "older"))
    row = stage.row(stage.models.Member, key)
    assert (row["username"], row["record_version"]) == ("mine", 3)


@pytest.mark.parametrize("verb", [False, True], ids=["plain", "verb"])
@on(*EVERYWHERE)
def test_ac07_a_partial_save_alone(stage: Stage, verb: bool) -> None:
    """AC-07: one column that A wrote is enough to refuse B, by a plain save and by the verb."""
    a, b = stage.pair
    key = stage.insert(stage.models.Member, username="m")
    mine, older = stage.held(stage.models.Member, key)
    a.do(log_in, a.api, mine)
    assert mine.record_version == 2
    refused = b.fails(b.api.save_if_current, older) if verb else b.fails(rename, b.api, older, "older")
    assert is_version_conflict(refused)
    row = stage.row(stage.models.Member, key)
    assert (row["username"], row["record_version"], row["last_login"] is None) == ("m", 2, False)


@on(*EVERYWHERE)
def test_ac07_the_baseline_hides_the_login(stage: Stage) -> None:
    """AC-07, baseline: a partial save that does not bump lets the older copy pass."""
    a, b = stage.pair
    key = stage.insert(stage.models.Member, username="m")
    mine, older = stage.held(stage.models.Member, key)
    a.do(a.api.rival, mine, last_login=NOON)
    b.do(rename, b.api, older, "older")
    assert stage.row(stage.models.Member, key)["username"] == "older"
