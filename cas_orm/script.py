"""A conditional write as every adapter describes it, and what its ends are called.

An adapter's own script adds the statements and how they are bound. What a win, a refusal, a lost connection
and an engine's refusal mean is the same for all of them, and stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, cast

from cas_orm.belief import Belief
from cas_orm.engine import Fault
from cas_orm.errors import TransientConflict, UnknownOutcome
from cas_orm.facts import Facts
from cas_orm.outcome import Outcome, Verdict


class Numbered(Protocol):
    """What an outcome has to know of a model: its label, and the attributes of its two numbers."""

    @property
    def label(self) -> str:
        """The model's label."""
        ...

    @property
    def version_name(self) -> str:
        """The attribute that is the version."""
        ...

    @property
    def generation_name(self) -> str | None:
        """The attribute that is the generation; None when there is none."""
        ...


C = TypeVar("C", bound=Numbered)
F = TypeVar("F")


@dataclass(slots=True)
class Script(Generic[C, F]):
    """A conditional write, ready to be sent, and to be sent again by `settle`.

    Attributes:
        columns: the roles of the model's columns.
        key: the primary key, as outcomes show it.
        belief: what stands in the WHERE of the version's own table.
        verb: the verb's short name.
        values: what is assigned, by attribute name.
        bumps: whether the version rises by one.
        hands_over: whether the generation rises by one.
        token: the write token that the statement carries, if the model has one.
        target: values that the row may have already, as a success; by attribute name.
        after: what the ORM does in the same transaction once the row is won (a cascading delete).
        answered: what the database handed back, by attribute name.
    """

    columns: C
    key: Any
    belief: Belief[F]
    verb: str
    values: Mapping[str, Any]
    bumps: bool = False
    hands_over: bool = False
    token: bytes | None = None
    target: Mapping[str, object] | None = None
    after: Callable[[], object] | None = None
    answered: dict[str, Any] = field(default_factory=dict)

    def won(self, *, provisional: bool) -> Outcome:
        """Describe a win: the new numbers come from the database, else from the belief."""
        version = generation = None
        if self.verb != "delete":
            belief, columns, answered = self.belief, self.columns, self.answered
            version = answered.get(columns.version_name)
            if version is None and belief.version is not None:
                version = belief.version + self.bumps
            if columns.generation_name is not None:
                generation = answered.get(columns.generation_name)
            if generation is None and belief.generation is not None:
                generation = belief.generation + self.hands_over
        return Outcome(
            Verdict.WON,
            self.columns.label,
            self.key,
            Facts(self.belief.facts()),
            None,
            version,
            generation,
            provisional,
            verb=self.verb,
        )

    def refused(
        self, verdict: Verdict, found: Mapping[str, object] | None, *, provisional: bool = False
    ) -> Outcome:
        """Describe what was not written: the verdict, and what the diagnosing read found."""
        numbers = {}
        if verdict is Verdict.ALREADY_APPLIED and found is not None:
            numbers = {role: found[role] for role in ("record_version", "run_seq") if role in found}
        return Outcome(
            verdict,
            self.columns.label,
            self.key,
            Facts(self.belief.facts()),
            None if found is None else Facts(found),
            provisional=provisional,
            verb=self.verb,
            **cast(dict[str, Any], numbers),
        )

    def engine_error(
        self, fault: Fault, *, in_transaction: bool, advice: str = ""
    ) -> TransientConflict | UnknownOutcome:
        """Return, not raise, what the engine's refusal of this write means, and what helps against it."""
        if fault is Fault.UNKNOWN:
            return self.unknown("the connection was lost in flight", in_transaction, inflight=self)
        label = self.columns.label
        row = label if self.key is None else f"{label} {self.key}"  # None: a read that looked for rows
        return TransientConflict(
            f"{row} was not written: the database refused the statement; the transaction is "
            f"{fault.value}{advice and f'; {advice}'} [cas-transient]",
            transaction=fault.value,
            model=label,
            key=self.key,
            expected=Facts(self.belief.facts()),
        )

    def unknown(self, why: str, in_transaction: bool, inflight: object) -> UnknownOutcome:
        """Return what `settle` takes: this write may have been applied, or never be."""
        return UnknownOutcome(
            f"{self.columns.label} {self.key}: {why}; pass this error to settle() [cas-unknown-outcome]",
            model=self.columns.label,
            key=self.key,
            expected=Facts(self.belief.facts()),
            token=self.token,
            in_transaction=in_transaction,
            inflight=inflight,
        )
