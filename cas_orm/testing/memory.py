"""Runs in memory, under the same rules as in a database; threads may share one store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cas_orm.expect import Expect
from cas_orm.outcome import Outcome, judge
from cas_orm.runs import TERMINAL_STATES, RunSnapshot, Transition, checksum_of
from cas_orm.values import not_one_of


class MemoryStore:
    """Keep runs in memory and judge commits as a database would.

    Args:
        runs: the first ones.
        terminal_states: statuses that nothing leaves.
        failed_state: the status of a run that is failed by force.
        clock: returns now, aware.
    """

    label = "memory"

    def __init__(
        self,
        runs: Iterable[RunSnapshot] = (),
        *,
        terminal_states: tuple[str, ...] = TERMINAL_STATES,
        failed_state: str = "failed",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.terminal_states = terminal_states
        self.failed_state = failed_state
        self.runs: dict[str, RunSnapshot] = {}
        self.progressed_at: dict[str, datetime | None] = {}
        self._clock = clock
        self._lock = threading.Lock()
        for run in runs:
            self.add(run)

    def add(self, run: RunSnapshot, *, progressed_at: datetime | None = None) -> None:
        """Insert a run, or put it back; its progress begins now unless it is given."""
        with self._lock:
            self.runs[run.run_id] = run
            self.progressed_at[run.run_id] = progressed_at or self._clock()

    def load(self, run_id: str) -> RunSnapshot | None:
        """Return the run, or None."""
        return self.runs.get(run_id)

    def commit(self, snapshot: RunSnapshot, transition: Transition) -> Outcome:
        """Write the transition over exactly this snapshot."""
        expect = Expect(record_version=snapshot.record_version, run_seq=snapshot.run_seq)
        seq = snapshot.last_transition_seq + 1
        return self._write(
            snapshot.run_id,
            expect,
            progressed=True,
            status=transition.status,
            node_states=transition.node_states,
            last_transition_seq=seq,
            state_checksum=checksum_of(transition.node_states, seq),
        )

    def fail(self, snapshot: RunSnapshot, *, reason: str, older_than: timedelta | None = None) -> Outcome:
        """Fail the run, unless it is terminal or has moved since the snapshot."""
        expect = Expect(
            run_seq=snapshot.run_seq,
            last_transition_seq=snapshot.last_transition_seq,
            status=not_one_of(*self.terminal_states),
        )
        at = self.progressed_at.get(snapshot.run_id)
        old = older_than is None or (at is not None and at < self._clock() - older_than)
        return self._write(snapshot.run_id, expect, where_holds=old, status=self.failed_state)

    def stuck(self, older_than: timedelta) -> list[RunSnapshot]:
        """Return the runs that made no progress for so long."""
        before = self._clock() - older_than
        return [
            run
            for key, run in sorted(self.runs.items())
            if run.status not in self.terminal_states
            and ((at := self.progressed_at[key]) is None or at < before)
        ]

    async def hop(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Call the function: memory does not wait."""
        return fn(*args)

    def _write(
        self,
        key: str,
        expect: Expect,
        *,
        where_holds: bool = True,
        progressed: bool = False,
        **values: Any,
    ) -> Outcome:
        with self._lock:
            run = self.runs.get(key)
            found = None if run is None else {name: getattr(run, name) for name in expect.believed()}
            believed = expect.believed()
            verdict = judge(expect, found, where_holds=where_holds)
            if run is None or verdict != "undiagnosed":
                return Outcome(verdict, self.label, key, believed, found, verb="update")
            written = replace(run, record_version=run.record_version + 1, **values)
            self.runs[key] = written
            if progressed:
                self.progressed_at[key] = self._clock()
        won = type(verdict).WON
        return Outcome(
            won, self.label, key, believed, None, written.record_version, written.run_seq, verb="update"
        )
