"""The life of a job: which states it has, and what each verb believes and writes. Pure; knows no ORM.

    pending ──start──▶ running ──finish──▶ done
       ▲                  │
       └─────requeue──────┘

Every hand-over (start, requeue) raises the generation, so that whoever held the old one is superseded.
Starting spends the attempt budget; an automatic requeue keeps it, a person's opens a new one (ADR 0011).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Final

from cas_orm.errors import IllegalTransition, InvalidExpectation
from cas_orm.expect import Expect
from cas_orm.outcome import Outcome, Verdict
from cas_orm.values import UNSET, not_one_of, one_of

logger = logging.getLogger("cas_orm")


class Computed(Enum):
    """A value that only the database can work out, at the time of the write."""

    #: The database's wall clock (ADR 0018).
    CLOCK = "clock"
    #: One more than the column holds.
    RAISED = "raised"


#: What a verb that finishes may write.
FINISHED: Final = frozenset({"state", "result", "finished_at", "logs"})
CLOCK: Final = Computed.CLOCK
RAISED: Final = Computed.RAISED


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What a verb of the lifecycle believes besides the generation, and what it writes.

    Attributes:
        verb: the verb's short name.
        believes: what the row's columns must be.
        writes: values by attribute name; `Computed` ones are worked out by the database.
        hands_over: whether the generation rises by one.
        bumps: whether the version rises by one.
        target: the values that make the write one that was applied before.
        budget: the attempts that the row must not have reached; None when there is no limit.
    """

    verb: str
    believes: Mapping[str, object]
    writes: Mapping[str, object]
    hands_over: bool = False
    bumps: bool = True
    target: Mapping[str, object] | None = None
    budget: int | None = None

    def with_(self, expect: Expect | None) -> Expect:
        """Return all that is believed: what the verb says, and what its caller says.

        Raises:
            IllegalTransition: the caller believes in a state that the verb does not start from.
        """
        own = Expect.read(UNSET, UNSET, self.believes)
        if expect is None:
            return own
        if not isinstance(expect, Expect):
            raise InvalidExpectation(
                f"expect= takes an Expect, not {type(expect).__name__} [cas-invalid-expectation]"
            )
        try:
            return expect & own
        except ValueError as error:
            raise IllegalTransition(f"{self.verb}: {error} [cas-illegal-transition]") from error


class JobOptions:
    """The class options of a job, with what they are when a class says nothing.

    Class options:
        cas_initial_state, cas_running_state, cas_terminal_states: the states.
        cas_transitions: the states that each may become.
        cas_max_attempts: how often a budget allows to start; None for ever.
        cas_gave_up: state and result of a job whose budget is spent; the state is terminal.
    """

    cas_initial_state: ClassVar[str] = "pending"
    cas_running_state: ClassVar[str] = "running"
    cas_terminal_states: ClassVar[tuple[str, ...]] = ("done",)
    cas_transitions: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "pending": ("running", "done"),
        "running": ("pending", "done"),
    }
    cas_max_attempts: ClassVar[int | None] = None
    cas_gave_up: ClassVar[tuple[str, str]] = ("done", "gave_up")
    cas_unversioned_fields: ClassVar[tuple[str, ...]] = ("heartbeat_at",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """The states of a class of jobs, from its ``cas_…`` options.

    Attributes:
        label: the class, for messages.
        initial: the state that waits for a worker.
        running: the state that a worker owns.
        terminal: the states that nothing leaves but a person's requeue.
        transitions: the states that each state may become.
        max_attempts: how often a budget allows to start; None for ever.
        gave_up: state and result of a job whose budget is spent.
    """

    label: str
    initial: str
    running: str
    terminal: tuple[str, ...]
    transitions: Mapping[str, tuple[str, ...]]
    max_attempts: int | None
    gave_up: tuple[str, str]

    @classmethod
    def of(cls, model: Any, label: str) -> Lifecycle:
        """Return the lifecycle of a class of jobs.

        Raises:
            InvalidExpectation: the class is not one of jobs.
        """
        if not hasattr(model, "cas_transitions"):
            raise InvalidExpectation(f"{label} is not a job: it has no JobMixin [cas-invalid-expectation]")
        return cls(
            label=label,
            initial=model.cas_initial_state,
            running=model.cas_running_state,
            terminal=tuple(model.cas_terminal_states),
            transitions={state: tuple(to) for state, to in model.cas_transitions.items()},
            max_attempts=model.cas_max_attempts,
            gave_up=tuple(model.cas_gave_up),
        )

    def problems(self) -> list[str]:
        """Say what is wrong with the options, for an adapter's checks."""
        found = []
        if self.gave_up[0] not in self.terminal:
            found.append(f"cas_gave_up ends in {self.gave_up[0]!r}, which is not a terminal state")
        if self.initial in self.terminal or self.running in self.terminal:
            found.append("the initial and the running state must not be terminal")
        if self.running not in self.transitions.get(self.initial, ()):
            found.append(f"cas_transitions has no edge from {self.initial!r} to {self.running!r}")
        if self.max_attempts is not None and self.max_attempts < 1:
            found.append("cas_max_attempts must be at least 1, or None")
        return found

    def can_give_up(self) -> bool:
        """Tell whether a running job whose budget is spent may be closed as `gave_up`."""
        return self.max_attempts is None or self.gave_up[0] in self.transitions.get(self.running, ())

    def start(self, owner: str, loaded: Mapping[str, object] | None) -> Move:
        """Hand the job to a worker: spends one attempt, opens a new generation.

        Args:
            owner: who works on it.
            loaded: the object's state and action; None by key.

        Raises:
            IllegalTransition: the loaded state does not become the running one.
        """
        writes = {
            "state": self.running,
            "owner": owner,
            "started_at": CLOCK,
            "heartbeat_at": CLOCK,
            "finished_at": None,
            "result": "",
            "status": None,
            "logs": "",
            "attempts": RAISED,
        }
        return Move(
            verb="start",
            believes=self._from(self.running, loaded, "start"),
            writes=writes,
            hands_over=True,
            budget=self.max_attempts,
        )

    def save_status(self, status: object, logs: str | None, loaded: Mapping[str, object] | None) -> Move:
        """Keep a checkpoint while the job runs, never its state. An action that has changed refuses it."""
        writes = {"status": status} if logs is None else {"status": status, "logs": logs}
        believes = {**(loaded or {}), "state": self.running}
        return Move(verb="save_status", believes=believes, writes=writes)

    def finish(
        self,
        state: str,
        result: str,
        *,
        logs: str | None,
        finished_at: object,
        loaded: Mapping[str, object] | None,
    ) -> Move:
        """Close the job. The same state and result in the same generation is a success, too.

        Raises:
            IllegalTransition: the state is not terminal, or the loaded one does not become it.
        """
        if state not in self.terminal:
            raise IllegalTransition(
                f"{self.label}: finishing needs a terminal state ({', '.join(self.terminal)}), not {state!r} "
                "[cas-illegal-transition]"
            )
        if loaded is not None and loaded["state"] in self.terminal:  # finished before: perhaps alike
            believes = {**loaded, "state": not_one_of(*self.terminal)}
        else:
            believes = self._from(state, loaded, "finish")
        writes: dict[str, object] = {"state": state, "result": result}
        writes["finished_at"] = CLOCK if finished_at is None else finished_at
        if logs is not None:
            writes["logs"] = logs
        return Move(
            verb="finish", believes=believes, writes=writes, target={"state": state, "result": result}
        )

    def heartbeat(self) -> Move:
        """Say that the worker is alive: nothing else is written, and no version rises."""
        return Move(
            verb="heartbeat", believes={"state": self.running}, writes={"heartbeat_at": CLOCK}, bumps=False
        )

    def requeue(self, *, new_budget: bool) -> Move:
        """Give the job back: a new generation, the attempts kept, or zeroed for a person who asks again.

        Raises:
            IllegalTransition: a running job does not become an initial one.
        """
        writes: dict[str, object] = {
            "state": self.initial,
            "owner": "",
            "heartbeat_at": None,
            "finished_at": None,
        }
        if new_budget:
            writes["attempts"] = 0
            believes = {"state": one_of(self.running, *self.terminal)}
            return Move(verb="requeue", believes=believes, writes=writes, hands_over=True)
        if self.initial not in self.transitions.get(self.running, ()):
            raise self._no_edge("requeue", self.running, self.initial)
        return Move(verb="requeue", believes={"state": self.running}, writes=writes, hands_over=True)

    def _from(self, target: str, loaded: Mapping[str, object] | None, verb: str) -> dict[str, object]:
        """Return the belief of an edge: the loaded state, or by key any that leads there."""
        if loaded is None:
            sources = [state for state, to in self.transitions.items() if target in to]
            if not sources:
                raise self._no_edge(verb, "any state", target)
            return {"state": one_of(*sources)}
        if target not in self.transitions.get(str(loaded["state"]), ()):
            raise self._no_edge(verb, str(loaded["state"]), target)
        return dict(loaded)

    def _no_edge(self, verb: str, source: str, target: str) -> IllegalTransition:
        return IllegalTransition(
            f"{self.label}: {verb} would lead from {source} to {target}; cas_transitions has no such edge "
            "[cas-illegal-transition]"
        )


def tell_loser(outcome: Outcome) -> Outcome:
    """Log that another actor owns the job now; no column value is shown."""
    if outcome.verdict in (Verdict.SUPERSEDED, Verdict.WRONG_STATE):
        actual = outcome.actual or {}
        moved = [name for name in actual if name in outcome.expected and name != "run_seq"]
        logger.warning(
            "%s %s: %s superseded by another actor: expected run_seq %s, found %s; compared %s",
            outcome.model,
            outcome.key,
            outcome.verb,
            outcome.expected.get("run_seq"),
            actual.get("run_seq"),
            ", ".join(moved) or "nothing else",
        )
    return outcome
