"""A job as a model without a database: what each verb believes and writes, said once more from the contract.

Nothing of `cas_orm.lifecycle` or of `judge` is used here: the model is what they are compared with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cas_orm import Verdict

Row = dict[str, Any]

#: The states of the class under test, a budget of two attempts.
INITIAL: Final = "new"
RUNNING: Final = "busy"
TERMINAL: Final = ("ok", "bad", "dropped")
EDGES: Final = {"new": ("busy", "dropped"), "busy": ("new", "ok", "bad")}
BUDGET: Final = 2

#: Verbs that compare the version as well as the generation, on an object.
COMPARE_VERSION: Final = frozenset({"save", "new_generation", "delete"})


class Illegal(Exception):
    """The verb must be refused before any SQL."""


@dataclass(frozen=True)
class Asked:
    """A call of a verb: its name and what it was given."""

    verb: str
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Effect:
    """What a call believes of the row's columns, and what it makes of the row."""

    believes: Mapping[str, tuple[object, ...]]
    writes: Mapping[str, object]
    hands_over: bool = False
    bumps: bool = True
    target: Mapping[str, object] | None = None
    spends: bool = False
    removes: bool = False


def new_row() -> Row:
    """Return a job as it is inserted."""
    return {
        "state": INITIAL,
        "action": "start",
        "result": "",
        "status": None,
        "logs": "",
        "owner": "",
        "attempts": 0,
        "run_seq": 0,
        "record_version": 1,
        "name": "",
    }


def effect(asked: Asked, loaded: Mapping[str, Any] | None) -> Effect:
    """Return what a call believes and does; ``loaded`` are an object's state and action, None by key.

    Raises:
        Illegal: the lifecycle has no such edge.
    """
    given, seen = asked.given, {} if loaded is None else {"action": (loaded["action"],)}
    match asked.verb:
        case "start":
            cleared = {"result": "", "status": None, "logs": ""}
            writes = {"state": RUNNING, "owner": given["owner"], **cleared}
            return Effect(seen | _edge(RUNNING, loaded), writes, hands_over=True, spends=True)
        case "save_status":
            return Effect(seen | {"state": (RUNNING,)}, dict(given))
        case "finish":
            if given["state"] not in TERMINAL:
                raise Illegal
            end = {"state": given["state"], "result": given["result"]}
            closed = loaded is not None and loaded["state"] in TERMINAL
            open_ = {"state": (INITIAL, RUNNING)} if closed else _edge(given["state"], loaded)
            return Effect(seen | open_, dict(given), target=end)
        case "heartbeat":
            return Effect({"state": (RUNNING,)}, {}, bumps=False)
        case "requeue":
            again = {"state": INITIAL, "owner": ""}
            if given["new_budget"]:
                return Effect({"state": (RUNNING, *TERMINAL)}, again | {"attempts": 0}, hands_over=True)
            return Effect({"state": (RUNNING,)}, again, hands_over=True)
        case "new_generation":
            return Effect({}, dict(given), hands_over=True)
        case "delete":
            return Effect({}, {}, removes=True)
        case _:
            return Effect({}, dict(given))


def _edge(target: str, loaded: Mapping[str, Any] | None) -> dict[str, tuple[object, ...]]:
    if loaded is None:
        return {"state": tuple(state for state, to in EDGES.items() if target in to)}
    if target not in EDGES.get(loaded["state"], ()):
        raise Illegal
    return {"state": (loaded["state"],)}


def verdict(row: Row | None, does: Effect, numbers: Mapping[str, int]) -> Verdict:
    """Return what has to become of a call that believes these numbers, in the contract's precedence."""
    if row is None:
        return Verdict.MISSING
    current = "run_seq" not in numbers or row["run_seq"] == numbers["run_seq"]
    if does.target and current and all(row[name] == value for name, value in does.target.items()):
        return Verdict.ALREADY_APPLIED
    if not current:
        return Verdict.SUPERSEDED
    if any(row[name] not in allowed for name, allowed in does.believes.items()):
        return Verdict.WRONG_STATE
    if does.spends and row["attempts"] >= BUDGET:
        return Verdict.EXHAUSTED
    if "record_version" in numbers and row["record_version"] != numbers["record_version"]:
        return Verdict.STALE
    return Verdict.WON


def applied(row: Row, does: Effect) -> Row | None:
    """Return the row after a win."""
    if does.removes:
        return None
    raised = {
        "run_seq": row["run_seq"] + does.hands_over,
        "record_version": row["record_version"] + does.bumps,
        "attempts": row["attempts"] + does.spends,
    }
    return {**row, **raised, **does.writes}


@dataclass
class Seen:
    """An object as the program holds it: what it last saw, and whether it was refused or lost track."""

    record_version: int
    run_seq: int
    state: str
    action: str
    fence: Verdict | None = None
    doubt: bool = False

    @classmethod
    def of(cls, row: Row) -> Seen:
        """Return what a fresh read sees."""
        return cls(**{name: row[name] for name in ("record_version", "run_seq", "state", "action")})

    def numbers(self, verb: str) -> dict[str, int]:
        """Return the numbers that an object's verb believes."""
        numbers = {"run_seq": self.run_seq}
        if verb in COMPARE_VERSION:
            numbers["record_version"] = self.record_version
        return numbers

    def told(self, outcome: Verdict, does: Effect, row: Row | None) -> None:
        """Learn how a call ended; ``row`` is the row after it."""
        if outcome is Verdict.WON and row is not None:
            self._advance(row["record_version"], self.record_version + does.bumps)
            self.run_seq += does.hands_over
            self.state, self.action = (str(does.writes.get(n, getattr(self, n))) for n in ("state", "action"))
        elif outcome is Verdict.ALREADY_APPLIED and row is not None:
            near = row["record_version"] in (self.record_version, self.record_version + 1)
            self.doubt = self.doubt or not near
            self.record_version, self.state = row["record_version"], row["state"]
        elif outcome is not Verdict.WON:
            self.fence = outcome

    def _advance(self, found: int, expected: int) -> None:
        if found == expected:
            self.record_version = found
        else:
            self.doubt = True


#: What the machines choose from; what comes first is what a failure is reduced to.
LIFECYCLE_CALLS: Final = (
    Asked("start", {"owner": "w0"}),
    Asked("finish", {"state": "ok", "result": "r"}),
    Asked("requeue", {"new_budget": True}),
    Asked("requeue", {"new_budget": False}),
    Asked("heartbeat"),
    Asked("save_status", {"status": {"step": 1}}),
    Asked("start", {"owner": "w1"}),
    Asked("finish", {"state": "ok", "result": "r", "logs": "bye"}),
    Asked("finish", {"state": "bad", "result": ""}),
    Asked("finish", {"state": "dropped", "result": "r"}),
    Asked("finish", {"state": "busy", "result": "r"}),
    Asked("save_status", {"status": None, "logs": "two"}),
)
OTHER_CALLS: Final = (
    Asked("save", {"name": "a"}),
    Asked("save", {"name": "b"}),
    Asked("update", {"name": "c"}),
    Asked("update", {"action": "stop"}),
    Asked("update", {"action": "start"}),
    Asked("new_generation", {"name": "d"}),
    Asked("new_generation"),
)
