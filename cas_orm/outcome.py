"""How a conditional write ended: the verdict, the facts, and the one place where it becomes an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cas_orm.errors import (
    AttemptsExhausted,
    ConflictError,
    ErrRecordVersionConflict,
    RecordMissing,
    Superseded,
)
from cas_orm.expect import Expect
from cas_orm.facts import Facts
from cas_orm.values import UNSET, ValueSet

__all__ = ["Outcome", "Verdict", "judge"]


class Verdict(StrEnum):
    """What happened to the row. The order below is the order of precedence for a refusal."""

    WON = "won"
    MISSING = "missing"
    ALREADY_APPLIED = "already_applied"
    SUPERSEDED = "superseded"
    WRONG_STATE = "wrong_state"
    EXHAUSTED = "exhausted"
    STALE = "stale"
    UNDIAGNOSED = "undiagnosed"


NOTHING: Final = Facts()

#: verdict -> (the error, its code, what to do)
_REFUSALS: Final[Mapping[Verdict, tuple[type[ConflictError], str, str]]] = {
    Verdict.MISSING: (RecordMissing, "cas-missing", "The row is gone; a save never inserts it again."),
    Verdict.SUPERSEDED: (Superseded, "cas-superseded", "A newer generation owns the row; stop this attempt."),
    Verdict.WRONG_STATE: (
        Superseded,
        "cas-wrong-state",
        "Another actor decided; reload before deciding again.",
    ),
    Verdict.EXHAUSTED: (AttemptsExhausted, "cas-exhausted", "The attempt budget is spent."),
    Verdict.STALE: (
        ErrRecordVersionConflict,
        "cas-stale",
        "Reload, reapply the change, save again.",
    ),
    Verdict.UNDIAGNOSED: (
        ConflictError,
        "cas-undiagnosed",
        "The row looks as believed; an old snapshot, a trigger or row security refused the write.",
    ),
}
_PARTICIPLES: Final = {"save": "saved", "delete": "deleted", "new_generation": "handed over"}


@dataclass(frozen=True, init=False)
class Outcome:
    """What one conditional write did. True when the target now holds.

    Attributes:
        verdict: what happened.
        model: the model's label, for example ``"shop.Order"``.
        key: the row's primary key; a tuple when it is composite.
        expected: what was believed, by role (``record_version``, ``run_seq``) and column name.
        actual: what the diagnosing read found, as of that read; None after a win or when not known.
        record_version: the row's new version after a win; None where there is none.
        run_seq: the row's generation after a win, when the verb believed or wrote it.
        provisional: the caller's own transaction was still open on return.
        attempts: how often the write was tried.
        waited: seconds spent waiting between attempts.
        verb: the verb's short name, for example ``"save"``.
    """

    verdict: Verdict
    model: str
    key: object
    expected: Mapping[str, object]
    actual: Mapping[str, object] | None
    record_version: int | None
    run_seq: int | None
    provisional: bool
    attempts: int
    waited: float
    verb: str

    def __init__(
        self,
        verdict: Verdict,
        model: str = "",
        key: object = None,
        expected: Mapping[str, object] = NOTHING,
        actual: Mapping[str, object] | None = None,
        record_version: int | None = None,
        run_seq: int | None = None,
        provisional: bool = False,
        attempts: int = 1,
        waited: float = 0.0,
        verb: str = "",
    ) -> None:
        # One call fills a frozen object; the generated __init__ makes eleven, a sixth of a whole write.
        self.__dict__.update(
            verdict=verdict,
            model=model,
            key=key,
            expected=expected if type(expected) is Facts else Facts(expected),
            actual=actual if actual is None or type(actual) is Facts else Facts(actual),
            record_version=record_version,
            run_seq=run_seq,
            provisional=provisional,
            attempts=attempts,
            waited=waited,
            verb=verb,
        )

    def __bool__(self) -> bool:
        return self.verdict is Verdict.WON or self.verdict is Verdict.ALREADY_APPLIED

    def or_raise(self) -> Outcome:
        """Return the outcome itself, or raise the exception that fits.

        Raises:
            ErrRecordVersionConflict: STALE.
            Superseded: SUPERSEDED or WRONG_STATE.
            AttemptsExhausted: EXHAUSTED.
            RecordMissing: MISSING.
            ConflictError: UNDIAGNOSED.
        """
        if self:
            return self
        raise self.as_error()

    def as_error(self, *, fenced: bool = False) -> ConflictError:
        """Return, not raise, the exception that fits a refusal."""
        kind, code, advice = _REFUSALS[self.verdict]
        if fenced and self.verdict is not Verdict.MISSING:
            advice = "First reload the object."
        return kind(
            f"{self.model} {self.key} was not {_PARTICIPLES.get(self.verb, 'updated')}"
            f"{self._difference()}. {advice} [{code}]",
            model=self.model,
            key=self.key,
            expected=self.expected,
            actual=self.actual,
            verdict=self.verdict,
            code=code,
            fenced=fenced,
        )

    def _difference(self) -> str:
        """Say which numbers and columns differ. Column values stay out of messages."""
        actual = self.actual
        if actual is None:
            return ""
        parts = [
            f"expected {role} {self.expected[role]}, found {actual[role]}"
            for role in ("run_seq", "record_version")
            if role in self.expected and role in actual and self.expected[role] != actual[role]
        ]
        columns = [
            name
            for name, value in self.expected.items()
            if name not in ("run_seq", "record_version") and name in actual and not holds(value, actual[name])
        ]
        if columns:
            parts.append(f"{', '.join(columns)} changed")
        return f": {'; '.join(parts)}" if parts else ""


def holds(condition: object, value: object) -> bool:
    """Tell whether a column's value meets what is believed of it. Two-valued: None is a value."""
    return value in condition if isinstance(condition, ValueSet) else bool(value == condition)


def judge(
    expected: Expect,
    found: Mapping[str, object] | None,
    *,
    target: Mapping[str, object] | None = None,
    budget: tuple[str, int] | None = None,
    where_holds: bool | None = None,
) -> Verdict:
    """Say why a conditional write matched no row. Pure.

    Args:
        expected: the belief that stood in the WHERE.
        found: the row as a fresh read saw it, by role and column name; None when it is gone.
        target: the values that the verb was to reach, where reaching them twice is a success.
        budget: the name of the attempts column and its maximum.
        where_holds: whether the caller's extra condition held at that read.

    Returns:
        The first that applies of MISSING, ALREADY_APPLIED, SUPERSEDED, WRONG_STATE, EXHAUSTED, STALE,
        UNDIAGNOSED.
    """
    if found is None:
        return Verdict.MISSING
    same_generation = expected.run_seq is UNSET or found["run_seq"] == expected.run_seq
    if target and same_generation and all(found[name] == value for name, value in target.items()):
        return Verdict.ALREADY_APPLIED
    if not same_generation:
        return Verdict.SUPERSEDED
    if where_holds is False or not all(holds(value, found[name]) for name, value in expected.columns.items()):
        return Verdict.WRONG_STATE
    if budget is not None:
        attempts = found[budget[0]]
        if isinstance(attempts, int) and attempts >= budget[1]:
            return Verdict.EXHAUSTED
    if expected.record_version is not UNSET and found["record_version"] != expected.record_version:
        return Verdict.STALE
    return Verdict.UNDIAGNOSED
