"""What happened, for logs and metrics. An observer that raises never breaks a write.

Prometheus and OpenTelemetry are imported by their observers, on first use.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from cas_orm.outcome import Verdict

logger: Final = logging.getLogger("cas_orm")

Kind: TypeAlias = Literal["write", "retry", "requeue", "force_fail", "stuck", "checksum", "tick_error"]
Disposition: TypeAlias = Literal["", "absorbed", "requeued", "escaped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CasEvent:
    """One thing that happened to a row.

    Attributes:
        kind: what it is about.
        model: the model's label.
        verb: the verb's short name.
        key: the row's key.
        verdict: the judgement, where one was made.
        disposition: what became of a conflict: absorbed by a retry, requeued, or escaped to the caller.
        attempts: how often the write was tried.
        waited: seconds spent waiting in between.
        error: what was raised, or is carried by the result.
    """

    kind: Kind
    model: str
    verb: str = ""
    key: object = None
    verdict: Verdict | None = None
    disposition: Disposition = ""
    attempts: int = 1
    waited: float = 0.0
    error: BaseException | None = None

    @property
    def conflicts(self) -> int:
        """How many of the attempts lost."""
        return self.attempts - (self.verdict in (Verdict.WON, Verdict.ALREADY_APPLIED))


class Observer(Protocol):
    """Whoever wants to hear of events."""

    def record(self, event: CasEvent) -> object:
        """Take note of an event; what it raises is logged and forgotten."""
        ...


def tell(observer: Observer | None, event: CasEvent) -> None:
    """Let an observer know. Nothing that it does comes back."""
    if observer is None:
        return
    try:
        observer.record(event)
    except Exception:  # whatever it raises must not undo what has been written
        logger.exception("the observer failed at a %s event", event.kind)
