"""The coordination walk, top to bottom. Every other module is a leaf that it calls.

    WakeUp ─▶ load ─▶ tick (pure) ─▶ commit ─▶ its wakeups are sent
                ▲                      │ conflict
                └──── wait, retry ◀────┤
                                       └─▶ requeue ─▶ (too often, no progress) ─▶ force-fail

The walk is one generator: it yields what is to be done, and two drivers do it, one of them awaiting.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, replace
from datetime import timedelta
from inspect import isawaitable, iscoroutine
from typing import Any, TypeAlias

from cas_orm.checksum import ChecksumPolicy
from cas_orm.envelope import LAG, MOST_LAGS, filled, is_ahead, lags, met
from cas_orm.errors import CasError, ChecksumMismatch, Livelocked, TransientConflict
from cas_orm.handled import Committed, Failed, ForceFailed, Gone, Handled, Idle, Requeued
from cas_orm.livelock import LivelockPolicy
from cas_orm.observe import CasEvent, Kind, Observer, tell
from cas_orm.outcome import Outcome
from cas_orm.requeue import RequeuePolicy
from cas_orm.retry import RetryPolicy
from cas_orm.runs import Queue, RunSnapshot, Store, Tick, Transition
from cas_orm.wakeup import WakeUp


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the store."""

    question: Callable[..., Any]
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Let so many seconds pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Send:
    """Give a wakeup to the queue."""

    wakeup: WakeUp
    delay: float


Walk: TypeAlias = Generator[Ask | Wait | Send, Any, Any]


class _Walks:
    """The walks, without a driver."""

    def __init__(
        self,
        store: Store,
        tick: Tick,
        queue: Queue,
        *,
        retry: RetryPolicy | None = None,
        requeue: RequeuePolicy | None = None,
        livelock: LivelockPolicy | None = None,
        observer: Observer | None = None,
        sleep: Callable[[float], Any] | None = None,
        rng: Callable[[], float] | None = None,
        verify: ChecksumPolicy | None = None,
        check_purity: bool = False,
    ) -> None:
        self.store, self.tick, self.queue, self.observer = store, tick, queue, observer
        self.retry = retry or RetryPolicy.coordinator()
        self.requeue = requeue or RequeuePolicy()
        if rng is not None:
            self.retry, self.requeue = replace(self.retry, rng=rng), replace(self.requeue, rng=rng)
        self.livelock = livelock or LivelockPolicy()
        self.verify = verify or ChecksumPolicy()
        self.check_purity = check_purity
        self._rng = rng or random.random
        self._sleep = sleep

    def _handle(self, envelope: WakeUp) -> Walk:
        run: RunSnapshot | None = yield Ask(self.store.load, (envelope.run_id,))
        if run is not None and is_ahead(envelope, run):
            return (yield from self._wait_for_the_replica(envelope))
        if run is not None:
            envelope = met(envelope, run)
        attempts, waited = 0, 0.0
        waits = self.retry.waits()
        while True:
            ended = self._ended(envelope, run)
            if ended is not None or run is None:
                return ended
            transition, error = self._decide(run)
            if transition is None:
                return Idle("nothing") if error is None else Failed(error)
            outcome: Outcome | None = yield from self._commit(run, transition)
            attempts += 1
            if outcome:
                outcome = replace(outcome, attempts=attempts, waited=waited)
                return (yield from self._committed(run, transition, outcome))
            wait = next(waits, None)
            if wait is None:
                return (yield from self._give_back(envelope, attempts, waited))
            if wait:
                yield Wait(wait)
            waited += wait
            run = yield Ask(self.store.load, (envelope.run_id,))

    def _ended(self, envelope: WakeUp, run: RunSnapshot | None) -> Handled | None:
        """Say why there is nothing to tick; None when there is."""
        if run is None:
            return Gone(envelope.run_id)
        if run.status in self.store.terminal_states or (envelope.run_seq or 0) < run.run_seq:
            return Idle("stale")
        since, sample = self.verify.since, self.verify.sample
        verified = run.last_transition_seq >= (since or 0) and (sample >= 1 or self._rng() < sample)
        if verified and not run.checks_out():
            error = ChecksumMismatch(
                f"{self.store.label} {run.run_id}: the row's state is not the one that was committed as "
                f"transition {run.last_transition_seq}; nothing is written over it [cas-checksum]"
            )
            self._tell("checksum", run.run_id, error=error)
            return Failed(error)
        return None

    def _decide(self, run: RunSnapshot) -> tuple[Transition | None, Exception | None]:
        """Ask the tick; twice, if its purity is to be checked."""
        try:
            transition = _decision(self.tick, run)
            if self.check_purity and _decision(self.tick, run) != transition:
                raise ValueError("the tick decided twice on one snapshot, and differently: it is not pure")
        except Exception as error:  # noqa: BLE001  # a user's code may raise anything; it is carried on
            self._tell("tick_error", run.run_id, error=error)
            return None, error
        return transition, None

    def _commit(self, run: RunSnapshot, transition: Transition) -> Walk:
        """Commit; None when the engine refused, which is a conflict as any other."""
        try:
            outcome: Outcome = yield Ask(self.store.commit, (run, transition))
        except TransientConflict as error:
            self._tell("write", run.run_id, verb="commit", error=error)
            return None
        self._tell("write", run.run_id, verb="commit", verdict=outcome.verdict)
        return outcome

    def _committed(self, run: RunSnapshot, transition: Transition, outcome: Outcome) -> Walk:
        """Send what the committed tick owes."""
        if outcome.attempts > 1:
            self._tell(
                "retry",
                run.run_id,
                verb="commit",
                verdict=outcome.verdict,
                disposition="absorbed",
                attempts=outcome.attempts,
                waited=outcome.waited,
            )
        sent = []
        for wakeup, delay in transition.wakeups:
            if wakeup.run_id == run.run_id:
                wakeup = filled(wakeup, run.run_seq, outcome.record_version, run.last_transition_seq + 1)
            yield Send(wakeup, delay)
            sent.append(wakeup)
        return Committed(outcome, tuple(sent))

    def _give_back(self, envelope: WakeUp, attempts: int, waited: float) -> Walk:
        """Requeue a wakeup that lost every attempt; fail a run that never makes progress."""
        run: RunSnapshot | None = yield Ask(self.store.load, (envelope.run_id,))
        ended = self._ended(envelope, run)
        if ended is not None or run is None:
            return ended
        envelope = met(envelope, run)
        if self.livelock.gives_up(envelope.requeue_count):
            outcome: Outcome = yield Ask(self._fail, (run, "livelock"))
            if outcome:
                return ForceFailed(outcome, self._livelocked(run, envelope, attempts, waited))
            run = yield Ask(self.store.load, (envelope.run_id,))
            ended = self._ended(envelope, run)
            if ended is not None or run is None:
                return ended
            envelope = met(envelope, run)
        delay = self.requeue.delay(envelope.requeue_count)
        again = envelope.requeued(
            record_version=run.record_version, last_transition_seq=run.last_transition_seq
        )
        yield Send(again, delay)
        self._tell(
            "requeue", run.run_id, verb="commit", disposition="requeued", attempts=attempts, waited=waited
        )
        return Requeued(again, delay)

    def _wait_for_the_replica(self, envelope: WakeUp) -> Walk:
        """Give a wakeup back that knows more than what can be read; a bounded number of times."""
        waited = lags(envelope) + 1
        if waited > MOST_LAGS:
            return Idle("lagging")
        again, delay = replace(envelope, reason=f"{LAG}{waited}"), self.requeue.delay(waited - 1)
        yield Send(again, delay)
        return Requeued(again, delay)

    def _fail(self, run: RunSnapshot, reason: str, older_than: timedelta | None = None) -> Outcome:
        return self.store.fail(run, reason=reason, older_than=older_than)

    def _livelocked(self, run: RunSnapshot, envelope: WakeUp, attempts: int, waited: float) -> Livelocked:
        error = Livelocked(
            f"{self.store.label} {run.run_id} was requeued {envelope.requeue_count} times without progress "
            f"after transition {run.last_transition_seq}, and is failed now [cas-livelocked]"
        )
        self._tell(
            "force_fail",
            run.run_id,
            verb="fail",
            disposition="escaped",
            attempts=attempts,
            waited=waited,
            error=error,
        )
        return error

    def _wake_stalled(self, older_than: timedelta) -> Walk:
        runs: list[RunSnapshot] = yield Ask(self.store.stuck, (older_than,))
        reason = f"stalled-{int(time.time())}"
        sent = [
            WakeUp(
                run.run_id,
                run_seq=run.run_seq,
                record_version=run.record_version,
                last_transition_seq=run.last_transition_seq,
                reason=reason,
            )
            for run in runs
        ]
        for wakeup in sent:
            yield Send(wakeup, 0.0)
        return sent

    def _fail_stuck(self, older_than: timedelta) -> Walk:
        runs: list[RunSnapshot] = yield Ask(self.store.stuck, (older_than,))
        failed = []
        for run in runs:
            outcome: Outcome = yield Ask(self._fail, (run, "stuck", older_than))
            if outcome:
                self._tell("stuck", run.run_id, verb="fail", verdict=outcome.verdict)
                failed.append(outcome)
        return failed

    def _tell(self, kind: Kind, key: str, **facts: Any) -> None:
        tell(self.observer, CasEvent(kind=kind, model=self.store.label, key=key, **facts))


class Coordinator(_Walks):
    """Handle the wakeups of a workflow's runs: load, tick, commit, and all that can go wrong in between.

    Args:
        store: where the runs are.
        tick: the workflow: pure, from a snapshot to a `Transition`, or None.
        queue: where wakeups are sent.
        retry: the attempts within one handling; default ``RetryPolicy.coordinator()``.
        requeue: how long a wakeup that lost stays in the queue.
        livelock: when a run that makes no progress is failed.
        observer: hears of what happened.
        sleep: waits for so many seconds.
        rng: replaces the source of randomness of both policies.
        verify: which runs have their checksum verified.
        check_purity: run every tick twice and compare.
    """

    def handle(self, wakeup: WakeUp) -> Handled:
        """Handle one wakeup; coming twice or late does no harm.

        Returns:
            What became of it. Conflicts, a tick that raised and a corrupt row are results, not exceptions.

        Raises:
            UnknownOutcome: the connection was lost during the commit; let the queue deliver again.
        """
        result: Handled = self._drive(self._handle(wakeup))
        return result

    def wake_stalled(self, older_than: timedelta) -> list[WakeUp]:
        """Wake the runs that made no progress for so long: their wakeups may be lost.

        A worker can die between its commit and the wakeups that it owes. Run this more often than
        `fail_stuck`.
        """
        sent: list[WakeUp] = self._drive(self._wake_stalled(older_than))
        return sent

    def fail_stuck(self, older_than: timedelta) -> list[Outcome]:
        """Fail the runs that made no progress for so long; one that has just moved is spared."""
        failed: list[Outcome] = self._drive(self._fail_stuck(older_than))
        return failed

    def _drive(self, walk: Walk) -> Any:
        answer, error = None, None
        try:
            while True:
                step = walk.send(answer) if error is None else walk.throw(error)
                answer, error = None, None
                try:
                    answer = self._do(step)
                except CasError as raised:
                    error = raised
        except StopIteration as end:
            return end.value

    def _do(self, step: Ask | Wait | Send) -> Any:
        match step:
            case Ask(question, args):
                return question(*args)
            case Wait(seconds):
                return (self._sleep or time.sleep)(seconds)
            case Send(wakeup, delay):
                return self.queue.send(wakeup, delay=delay)


class AsyncCoordinator(_Walks):
    """`Coordinator` for asyncio: each statement is one hop to the store, waits and sends are awaited.

    The queue's ``send`` may be asynchronous, and so may be ``sleep``.
    """

    async def handle(self, wakeup: WakeUp) -> Handled:
        """Handle one wakeup; see `Coordinator.handle`.

        Raises:
            UnknownOutcome: the connection was lost during the commit; let the queue deliver again.
        """
        result: Handled = await self._drive(self._handle(wakeup))
        return result

    async def wake_stalled(self, older_than: timedelta) -> list[WakeUp]:
        """Wake the runs that made no progress for so long; see `Coordinator.wake_stalled`."""
        sent: list[WakeUp] = await self._drive(self._wake_stalled(older_than))
        return sent

    async def fail_stuck(self, older_than: timedelta) -> list[Outcome]:
        """Fail the runs that made no progress for so long; see `Coordinator.fail_stuck`."""
        failed: list[Outcome] = await self._drive(self._fail_stuck(older_than))
        return failed

    async def _drive(self, walk: Walk) -> Any:
        answer, error = None, None
        try:
            while True:
                step = walk.send(answer) if error is None else walk.throw(error)
                answer, error = None, None
                try:
                    answer = await self._do(step)
                except CasError as raised:
                    error = raised
        except StopIteration as end:
            return end.value

    async def _do(self, step: Ask | Wait | Send) -> Any:
        match step:
            case Ask(question, args):
                return await self.store.hop(question, *args)
            case Wait(seconds):
                done: Any = self._sleep(seconds) if self._sleep else _asleep(seconds)
            case Send(wakeup, delay):
                done = self.queue.send(wakeup, delay=delay)
        return await done if isawaitable(done) else done


def _asleep(seconds: float) -> Awaitable[None]:
    from asyncio import sleep  # not at import: the core is light

    return sleep(seconds)


def _decision(tick: Tick, run: RunSnapshot) -> Transition | None:
    """Ask the tick once; whatever else it returns could not be committed."""
    decided: object = tick(run)
    if decided is None or isinstance(decided, Transition):
        return decided
    if iscoroutine(decided):
        decided.close()
    raise TypeError(
        f"a tick is a plain function and returns a Transition or None, not {type(decided).__name__}"
    )
