"""One suite over every store: MemoryStore, Django, SQLAlchemy, on every database, sync and async."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from cas_orm import Committed, Idle, RetryPolicy, Transition, Verdict, WakeUp
from cas_orm.queues.memory import MemoryQueue
from tests.contract.stores import HALLS, HOUR, Hall


@pytest.fixture(params=[f"{store}-{colour}" for store in HALLS for colour in ("sync", "async")])
def hall(request: pytest.FixtureRequest, database: str, alias: str, _sqla_databases: None) -> Iterator[Hall]:
    """Yield a store of each kind and colour on the database under test."""
    store, colour = request.param.split("-")
    if store == "memory" and database != "sqlite":
        pytest.skip("memory is no database")
    made = HALLS[store](database, alias, colour)
    yield made
    if store == "sqla":
        made.engines.empty()  # type: ignore[attr-defined]  # a hall of SQLAlchemy's


DONE = Transition("running", {"a": {"n": 1}, "b": [1.5, None, "ü"]})


def test_a_run_is_loaded(hall: Hall) -> None:
    """As it was inserted: version 1, generation 0, no tick yet."""
    run_id = hall.insert(node_states={"a": [1, {"b": None}]})
    run = hall.ask("load", run_id)
    assert (run.run_id, run.record_version, run.run_seq, run.last_transition_seq) == (run_id, 1, 0, 0)
    assert (run.status, run.node_states, run.state_checksum) == ("pending", {"a": [1, {"b": None}]}, "")
    assert run.checks_out()


@pytest.mark.parametrize("run_id", ["999999", "no such key"])
def test_no_run(hall: Hall, run_id: str) -> None:
    """One that is not there, and one that cannot be."""
    assert hall.ask("load", run_id) is None


def test_a_commit(hall: Hall) -> None:
    """Writes status, state, number and checksum; the version rises, the generation stays."""
    run_id = hall.insert()
    run = hall.ask("load", run_id)
    outcome = hall.ask("commit", run, DONE)
    assert (outcome.verdict, outcome.record_version, outcome.run_seq) == (Verdict.WON, 2, 0)
    assert not outcome.provisional
    fresh = hall.ask("load", run_id)
    assert (fresh.status, fresh.node_states, fresh.last_transition_seq) == ("running", DONE.node_states, 1)
    assert fresh.state_checksum
    assert fresh.checks_out()


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({"record_version": 5}, Verdict.STALE),
        ({"run_seq": 3}, Verdict.SUPERSEDED),
        ({"record_version": 5, "run_seq": 3}, Verdict.SUPERSEDED),
    ],
)
def test_a_commit_over_a_moved_run(hall: Hall, change: dict[str, int], verdict: Verdict) -> None:
    """Nothing is written."""
    run_id = hall.insert()
    run = hall.ask("load", run_id)
    hall.rival(run_id, **change)
    before = hall.ask("load", run_id)
    assert hall.ask("commit", run, DONE).verdict is verdict
    assert hall.ask("load", run_id) == before


def test_one_snapshot_is_committed_once(hall: Hall) -> None:
    """The second is stale."""
    run = hall.ask("load", hall.insert())
    assert hall.ask("commit", run, DONE)
    assert hall.ask("commit", run, DONE).verdict is Verdict.STALE


def test_force_failing(hall: Hall) -> None:
    """Only the status and the version change, and the version need not be the seen one."""
    run_id = hall.insert(node_states={"a": 1})
    run = hall.ask("load", run_id)
    hall.rival(run_id, record_version=40)
    outcome = hall.ask("fail", run, reason="livelock")
    fresh = hall.ask("load", run_id)
    assert (outcome.verdict, fresh.status, fresh.record_version) == (Verdict.WON, "failed", 41)
    assert (fresh.node_states, fresh.last_transition_seq, fresh.run_seq) == ({"a": 1}, 0, 0)


@pytest.mark.parametrize("change", [{"status": "completed"}, {"run_seq": 1}, {"last_transition_seq": 1}])
def test_a_run_that_has_moved_is_spared(hall: Hall, change: dict[str, object]) -> None:
    """Terminal, of another generation, or further: zero rows."""
    run_id = hall.insert()
    run = hall.ask("load", run_id)
    hall.rival(run_id, **change)
    before = hall.ask("load", run_id)
    assert not hall.ask("fail", run, reason="livelock")
    assert hall.ask("load", run_id) == before


def test_stuck_runs(hall: Hall) -> None:
    """Not terminal, no progress for so long by the store's own clock, or none ever noted."""
    long_ago = datetime.now(UTC) - 2 * HOUR
    old = hall.insert(progressed_at=long_ago)
    adopted = hall.insert(progressed_at=None)
    hall.insert(progressed_at=long_ago, status="completed")
    fresh = hall.insert()
    assert [run.run_id for run in hall.ask("stuck", HOUR)] == [old, adopted]
    assert fresh in [run.run_id for run in hall.ask("stuck", timedelta(seconds=-60))]


def test_the_watchdog_looks_again(hall: Hall) -> None:
    """A run that has progressed since it was listed is spared, and so is one without any note."""
    long_ago = datetime.now(UTC) - 2 * HOUR
    old, moved, adopted = (hall.insert(progressed_at=at) for at in (long_ago, long_ago, None))
    listed = {run.run_id: run for run in hall.ask("stuck", HOUR)}
    hall.rival(moved, progressed_at=datetime.now(UTC))
    failed = {
        run_id: bool(hall.ask("fail", listed[run_id], reason="stuck", older_than=HOUR))
        for run_id in (old, moved, adopted)
    }
    assert failed == {old: True, moved: False, adopted: False}


def test_a_commit_notes_progress(hall: Hall) -> None:
    """By the store's clock, so that the watchdog waits again."""
    run_id = hall.insert(progressed_at=datetime.now(UTC) - 2 * HOUR)
    assert hall.ask("stuck", HOUR)
    hall.ask("commit", hall.ask("load", run_id), DONE)
    assert not hall.ask("stuck", HOUR)


def test_a_workflow_to_its_end(hall: Hall) -> None:
    """Five ticks, each woken by the one before; a wakeup that comes twice does no harm."""

    def tick(run: object) -> Transition:
        n = run.node_states.get("n", 0) + 1  # type: ignore[attr-defined]  # a snapshot
        if n == 5:
            return Transition("completed", {"n": n})
        return Transition("running", {"n": n}, wakeups=[WakeUp(run.run_id)])  # type: ignore[attr-defined]

    run_id, queue = hall.insert(), MemoryQueue()
    queue.send(WakeUp(run_id))
    handled = []
    while queue.sent:
        wakeup, _ = queue.sent.pop(0)
        handled.append(hall.handle(tick, queue, wakeup, check_purity=True))
        handled.append(hall.handle(lambda run: None, queue, wakeup))
    assert [type(h) for h in handled[::2]] == [Committed] * 5
    assert handled[-1] == Idle("stale")
    run = hall.ask("load", run_id)
    assert (run.status, run.last_transition_seq, run.record_version) == ("completed", 5, 6)
    assert run.checks_out()


def test_a_rival_in_between(hall: Hall) -> None:
    """The tick is computed again on what is there now."""
    run_id, seen = hall.insert(), []

    def tick(run: object) -> Transition:
        seen.append(run.record_version)  # type: ignore[attr-defined]  # a snapshot
        if len(seen) == 1:
            hall.rival(run_id, record_version=7)
        return Transition("running", {})

    if hall.colour == "async" and type(hall).__name__ == "DjangoHall":
        pytest.skip("Django's ORM is not to be called from a tick in the event loop")
    result = hall.handle(tick, MemoryQueue(), WakeUp(run_id), retry=RetryPolicy.exact())
    assert isinstance(result, Committed)
    assert (seen, result.outcome.attempts, result.outcome.record_version) == ([1, 7], 2, 8)
