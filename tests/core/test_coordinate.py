"""The walk, on a store in memory, with scripted clocks and rivals."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cas_orm import (
    AsyncCoordinator,
    ChecksumMismatch,
    ChecksumPolicy,
    Committed,
    Coordinator,
    Failed,
    ForceFailed,
    Gone,
    Idle,
    Livelocked,
    LivelockPolicy,
    Requeued,
    RequeuePolicy,
    RetryPolicy,
    RunSnapshot,
    TransientConflict,
    Transition,
    Verdict,
    WakeUp,
)
from cas_orm.observe import CasEvent
from cas_orm.queues.memory import MemoryQueue
from cas_orm.runs import checksum_of
from cas_orm.testing import MemoryStore


def run_of(run_id: str = "r", **values: Any) -> RunSnapshot:
    """Return a run in its first state."""
    return RunSnapshot(
        **{
            "run_id": run_id,
            "record_version": 1,
            "run_seq": 0,
            "status": "running",
            "node_states": {"a": {"n": 0}},
            "last_transition_seq": 0,
            "state_checksum": "",
        }
        | values
    )


def count(run: RunSnapshot) -> Transition | None:
    """Count ticks in node a."""
    return Transition("running", {"a": {"n": run.node_states["a"]["n"] + 1}})


class Rivals(MemoryStore):
    """A store in which rivals write between every load and commit."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.bump: Callable[[RunSnapshot], RunSnapshot] | None = None
        self.times = 10**9
        self.loads = 0

    def load(self, run_id: str) -> RunSnapshot | None:
        """Load, and let a rival write right after."""
        self.loads += 1
        found = super().load(run_id)
        if found is not None and self.bump is not None and self.times > 0:
            self.times -= 1
            self.runs[run_id] = self.bump(found)
        return found


def only_version(run: RunSnapshot) -> RunSnapshot:
    """Bump the version and nothing else."""
    return replace(run, record_version=run.record_version + 1)


def progress(run: RunSnapshot) -> RunSnapshot:
    """Commit a tick."""
    seq = run.last_transition_seq + 1
    return replace(
        run,
        record_version=run.record_version + 1,
        last_transition_seq=seq,
        state_checksum=checksum_of(run.node_states, seq),
    )


class Events:
    """An observer that keeps what it hears."""

    def __init__(self) -> None:
        self.seen: list[CasEvent] = []

    def record(self, event: CasEvent) -> None:
        """Keep it."""
        self.seen.append(event)

    def kinds(self) -> list[str]:
        """Return the kinds, writes left out."""
        return [event.kind for event in self.seen if event.kind != "write"]


class Hand:
    """A coordinator, sync or async, with everything that it was given at hand."""

    def __init__(self, colour: str, store: MemoryStore, tick: Any = count, **options: Any) -> None:
        self.store, self.queue, self.events, self.slept = store, MemoryQueue(), Events(), []
        self.colour = colour
        kind = Coordinator if colour == "sync" else AsyncCoordinator
        options = {"retry": RetryPolicy.exact(), "requeue": RequeuePolicy(jitter="none")} | options
        self.it: Any = kind(store, tick, self.queue, observer=self.events, sleep=self._sleep, **options)

    def _sleep(self, seconds: float) -> Any:
        self.slept.append(seconds)
        return asyncio.sleep(0) if self.colour == "async" else None

    def call(self, name: str, *args: Any) -> Any:
        """Call a method of the coordinator."""
        answer = getattr(self.it, name)(*args)
        return asyncio.run(answer) if self.colour == "async" else answer

    def handle(self, wakeup: WakeUp) -> Any:
        """Handle a wakeup."""
        return self.call("handle", wakeup)


@pytest.fixture(params=["sync", "async"])
def colour(request: pytest.FixtureRequest) -> str:
    """Both drivers of the walk."""
    return str(request.param)


def test_a_tick_is_committed(colour: str) -> None:
    """The version and the transition number rise, the checksum is right, the wakeups get the new numbers."""

    def tick(run: RunSnapshot) -> Transition:
        return Transition(
            "completed",
            {"a": "done"},
            wakeups=[WakeUp("r", reason="next"), (WakeUp("other"), 5), WakeUp("r", run_seq=7)],
        )

    hand = Hand(colour, MemoryStore([run_of()]), tick)
    result = hand.handle(WakeUp("r"))
    assert isinstance(result, Committed)
    run = hand.store.load("r")
    assert (run.record_version, run.last_transition_seq, run.status) == (2, 1, "completed")
    assert run.checks_out()
    assert run.state_checksum
    assert (result.outcome.verdict, result.outcome.record_version) == (Verdict.WON, 2)
    own = WakeUp("r", run_seq=0, record_version=2, last_transition_seq=1, reason="next")
    assert result.wakeups == (own, WakeUp("other"), replace(own, run_seq=7, reason=""))
    assert hand.queue.sent == list(zip(result.wakeups, (0.0, 5.0, 0.0), strict=True))
    assert hand.slept == []


def test_nothing_to_do(colour: str) -> None:
    """A tick that returns None writes nothing."""
    hand = Hand(colour, MemoryStore([run_of()]), lambda run: None)
    assert hand.handle(WakeUp("r")) == Idle("nothing")
    assert hand.store.load("r").record_version == 1
    assert hand.handle(WakeUp("who")) == Gone("who")


@pytest.mark.parametrize("status", ["completed", "failed", "canceled"])
def test_a_terminal_run_is_left_alone(colour: str, status: str) -> None:
    """Its wakeups are stale, and so are those of an older generation."""
    hand = Hand(colour, MemoryStore([run_of(status=status)]))
    assert hand.handle(WakeUp("r")) == Idle("stale")
    hand = Hand(colour, MemoryStore([run_of(run_seq=2)]))
    assert hand.handle(WakeUp("r", run_seq=1)) == Idle("stale")
    assert isinstance(hand.handle(WakeUp("r", run_seq=2)), Committed)


def test_conflicts_are_absorbed(colour: str) -> None:
    """Each attempt loads and computes again; the outcome says how many and how long."""
    store = Rivals([run_of()])
    store.bump, store.times = progress, 3
    hand = Hand(colour, store)
    result = hand.handle(WakeUp("r"))
    assert isinstance(result, Committed)
    assert (result.outcome.attempts, result.outcome.waited) == (4, pytest.approx(0.03))
    assert hand.slept == [0.01, 0.02]
    assert store.loads == 4
    assert store.load("r").last_transition_seq == 4
    assert hand.events.kinds() == ["retry"]
    (event,) = [e for e in hand.events.seen if e.kind == "retry"]
    assert (event.disposition, event.conflicts) == ("absorbed", 3)


def test_the_schedule(colour: str) -> None:
    """Retries after 0, 10, 20, 40 ms, 1 s; requeues after 0.1, 0.2, ... 10, 10 s; then force-failed."""
    store = Rivals([run_of()])
    store.bump = only_version
    hand = Hand(colour, store, livelock=LivelockPolicy(max_stalled_requeues=12))
    envelope, keys, delays = WakeUp("r"), [], []
    for n in range(12):
        hand.slept.clear()
        result = hand.handle(envelope)
        assert isinstance(result, Requeued)
        assert hand.slept == [0.01, 0.02, 0.04, 1.0]
        assert result.wakeup.requeue_count == n + 1
        assert hand.queue.sent[-1] == (result.wakeup, result.delay)
        envelope = result.wakeup
        keys.append(envelope.task_key)
        delays.append(result.delay)
    assert delays == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10, 10, 10, 10])
    assert len(set(keys)) == 12
    result = hand.handle(envelope)
    assert isinstance(result, ForceFailed)
    assert isinstance(result.error, Livelocked)
    run = store.runs["r"]
    assert (run.status, run.last_transition_seq, run.node_states) == ("failed", 0, {"a": {"n": 0}})
    assert hand.events.kinds() == ["requeue"] * 12 + ["force_fail"]


def test_jitter_stays_below(colour: str) -> None:
    """With jitter every wait lies between nothing and the exact one."""
    store = Rivals([run_of()])
    store.bump = only_version
    hand = Hand(
        colour,
        store,
        retry=RetryPolicy.coordinator(),
        requeue=RequeuePolicy(),
        rng=random.Random(5).random,
    )
    result = hand.handle(WakeUp("r"))
    assert len(hand.slept) == 4
    assert all(0 <= w <= most for w, most in zip(hand.slept, (0.01, 0.02, 0.04, 1.0), strict=True))
    assert hand.slept != [0.01, 0.02, 0.04, 1.0]
    assert 0 <= result.delay < 0.1


@pytest.mark.parametrize("seed", range(100))
def test_a_hot_run_is_never_failed(seed: int) -> None:
    """Fifty rivals that all make progress, in whatever order; every requeue starts its count again."""
    rng = random.Random(seed)
    store = Rivals([run_of()])
    left = 50

    def rival(run: RunSnapshot) -> RunSnapshot:
        nonlocal left
        if left and rng.random() < 0.7:
            left -= 1
            return progress(run)
        return run

    store.bump = rival
    hand = Hand("sync", store, retry=RetryPolicy(max_retries=1, base=0, cap=0), rng=rng.random)
    envelope = WakeUp("r")
    while True:
        result = hand.handle(envelope)
        if isinstance(result, Committed):
            break
        assert isinstance(result, Requeued)
        assert result.wakeup.requeue_count == 1
        envelope = result.wakeup


def test_a_run_that_has_moved_is_handled_with_count_zero(colour: str) -> None:
    """The count belongs to a standstill that is over."""
    store = Rivals([run_of(last_transition_seq=3)])
    store.bump = only_version
    hand = Hand(colour, store)
    result = hand.handle(WakeUp("r", requeue_count=5, last_transition_seq=2))
    assert isinstance(result, Requeued)
    assert (result.wakeup.requeue_count, result.delay) == (1, pytest.approx(0.1))


def test_a_run_that_moves_before_the_force_fail_is_spared(colour: str) -> None:
    """The guard is the transition number; the wakeup starts again from count zero."""
    store = Rivals([run_of()])
    store.bump, store.times = only_version, 6

    def fail(snapshot: RunSnapshot, **options: Any) -> Any:
        store.bump = None
        store.runs["r"] = progress(store.runs["r"])
        return MemoryStore.fail(store, snapshot, **options)

    store.fail = fail  # type: ignore[method-assign]  # a rival slips in
    hand = Hand(colour, store)
    result = hand.handle(WakeUp("r", requeue_count=5, last_transition_seq=0))
    assert isinstance(result, Requeued)
    assert result.wakeup.requeue_count == 1
    assert store.runs["r"].status == "running"
    assert "force_fail" not in hand.events.kinds()


def test_a_force_fail_need_not_win_the_version(colour: str) -> None:
    """Rivals that only bump cannot keep the run alive, nor be kept out."""
    store = Rivals([run_of()])
    store.bump = only_version
    hand = Hand(colour, store)
    result = hand.handle(WakeUp("r", requeue_count=5, last_transition_seq=0))
    assert isinstance(result, ForceFailed)
    assert result.outcome.verdict is Verdict.WON


def test_a_tick_that_raises(colour: str) -> None:
    """A result and an event of its own kind; conflicts never are one."""

    def tick(run: RunSnapshot) -> Transition:
        raise ZeroDivisionError("boom")

    hand = Hand(colour, MemoryStore([run_of()]), tick)
    result = hand.handle(WakeUp("r"))
    assert isinstance(result, Failed)
    assert isinstance(result.error, ZeroDivisionError)
    assert hand.events.kinds() == ["tick_error"]
    assert hand.store.load("r").record_version == 1


@pytest.mark.parametrize(
    ("decided", "error"),
    [
        (lambda run: {"status": "running"}, TypeError),
        (lambda run: Transition(None, {}), TypeError),  # type: ignore[arg-type]
        (lambda run: Transition("", {}), ValueError),
        (lambda run: Transition("running", [1]), TypeError),  # type: ignore[arg-type]
        (lambda run: Transition("running", {"a": object()}), TypeError),
        (lambda run: Transition("running", {"a": float("nan")}), ValueError),
        (lambda run: Transition("running", {"a": "\ud800"}), ValueError),
    ],
)
def test_a_tick_that_decides_nonsense_has_failed(colour: str, decided: Any, error: type[Exception]) -> None:
    """What could not be committed is the tick's fault, and never an exception of the handling."""
    hand = Hand(colour, MemoryStore([run_of()]), decided)
    result = hand.handle(WakeUp("r"))
    assert isinstance(result, Failed)
    assert isinstance(result.error, error)
    assert hand.events.kinds() == ["tick_error"]
    assert hand.store.load("r").record_version == 1


def test_an_asynchronous_tick_has_failed(colour: str) -> None:
    """It would run after the handling; it is closed, so that nobody waits for it in vain."""

    async def tick(run: RunSnapshot) -> Transition | None:
        return None

    result = Hand(colour, MemoryStore([run_of()]), tick).handle(WakeUp("r"))  # type: ignore[arg-type]
    assert isinstance(result, Failed)
    assert "a plain function" in str(result.error)


def test_purity_is_checked_on_demand(colour: str) -> None:
    """The second call decides the same, or nothing is written."""
    calls = iter(range(100))

    def tick(run: RunSnapshot) -> Transition:
        return Transition("running", {"n": next(calls)})

    hand = Hand(colour, MemoryStore([run_of()]), tick, check_purity=True)
    assert isinstance(hand.handle(WakeUp("r")), Failed)
    assert isinstance(Hand(colour, MemoryStore([run_of()]), check_purity=True).handle(WakeUp("r")), Committed)


@pytest.mark.parametrize(
    "change",
    [
        lambda run: run.node_states.__setitem__("a", 1),
        lambda run: run.node_states["a"].update(n=5),
        lambda run: run.node_states.pop("a"),
        lambda run: setattr(run, "status", "x"),
    ],
)
def test_a_snapshot_is_frozen(change: Any) -> None:
    """A tick cannot change what it was given."""
    with pytest.raises((TypeError, AttributeError)):
        change(run_of())


def test_a_corrupt_run(colour: str) -> None:
    """Metered, never retried, never written over; older ones may be left out."""
    store = MemoryStore([run_of(state_checksum="0" * 64, last_transition_seq=4)])
    hand = Hand(colour, store)
    result = hand.handle(WakeUp("r"))
    assert isinstance(result, Failed)
    assert isinstance(result.error, ChecksumMismatch)
    assert hand.events.kinds() == ["checksum"]
    assert store.load("r").record_version == 1
    for verify in (ChecksumPolicy(since=5), ChecksumPolicy(sample=0)):
        assert isinstance(Hand(colour, store, verify=verify).handle(WakeUp("r")), Committed)
        store.add(run_of(state_checksum="0" * 64, last_transition_seq=4))


def test_a_read_that_lags(colour: str) -> None:
    """The envelope knows a newer version than can be read: it waits, a bounded number of times."""
    hand = Hand(colour, MemoryStore([run_of()]))
    envelope, reasons = WakeUp("r", record_version=9, requeue_count=2), []
    for _ in range(5):
        result = hand.handle(envelope)
        assert isinstance(result, Requeued)
        envelope = result.wakeup
        assert envelope.requeue_count == 2
        reasons.append(envelope.reason)
    assert reasons == [f"lag-{n}" for n in range(1, 6)]
    assert hand.handle(envelope) == Idle("lagging")
    store = Rivals([run_of(record_version=9)])
    store.bump = only_version
    requeued = Hand(colour, store).handle(envelope)
    assert (requeued.wakeup.requeue_count, requeued.wakeup.reason) == (3, "")  # it lags no more
    hand.store.add(run_of(record_version=9))
    assert isinstance(hand.handle(envelope), Committed)


def test_the_engine_refuses(colour: str) -> None:
    """A deadlock is a conflict as any other."""

    class Busy(MemoryStore):
        refusals = 2

        def commit(self, snapshot: RunSnapshot, transition: Transition) -> Any:
            if self.refusals:
                self.refusals -= 1
                raise TransientConflict("busy", transaction="dead")
            return super().commit(snapshot, transition)

    hand = Hand(colour, Busy([run_of()]))
    result = hand.handle(WakeUp("r"))
    assert isinstance(result, Committed)
    assert result.outcome.attempts == 3


def test_an_observer_that_raises_breaks_nothing(colour: str) -> None:
    """What is written stays written, what is owed is sent."""

    class Broken:
        def record(self, event: CasEvent) -> None:
            raise RuntimeError("no disk")

    hand = Hand(colour, MemoryStore([run_of()]))
    hand.it.observer = Broken()
    assert isinstance(hand.handle(WakeUp("r")), Committed)


def test_lost_wakeups_are_sent_again(colour: str) -> None:
    """Whoever made no progress for so long is woken, with what is known of it and a reason of this minute."""
    now = datetime.now(UTC)
    store = MemoryStore([run_of("fresh")])
    store.add(run_of("old", run_seq=1, record_version=4), progressed_at=now - timedelta(hours=1))
    store.add(run_of("done", status="completed"), progressed_at=now - timedelta(hours=1))
    store.add(run_of("adopted"))
    store.progressed_at["adopted"] = None
    hand = Hand(colour, store)
    sent = hand.call("wake_stalled", timedelta(minutes=5))
    assert [(w.run_id, w.requeue_count, w.run_seq, w.record_version) for w in sent] == [
        ("adopted", 0, 0, 1),
        ("old", 0, 1, 4),
    ]
    assert all(w.reason.startswith("stalled-") and w.reason[8:].isdecimal() for w in sent)
    assert [w for w, _ in hand.queue.sent] == sent


def test_stuck_runs_are_failed(colour: str) -> None:
    """But for those that never noted any progress, and those that have just moved."""
    now = datetime.now(UTC)
    store = MemoryStore()
    for name in ("old", "moving", "adopted"):
        store.add(run_of(name), progressed_at=now - timedelta(hours=1))
    store.progressed_at["adopted"] = None
    listed = store.stuck(timedelta(minutes=5))
    store.stuck = lambda older_than: listed  # type: ignore[method-assign]  # read before the move
    store.runs["moving"] = progress(store.runs["moving"])
    hand = Hand(colour, store)
    failed = hand.call("fail_stuck", timedelta(minutes=5))
    assert [outcome.key for outcome in failed] == ["old"]
    assert {name: run.status for name, run in store.runs.items()} == {
        "old": "failed",
        "moving": "running",
        "adopted": "running",
    }
    assert hand.events.kinds() == ["stuck"]
