"""An envelope beside the run that it is for: who knows more, and what the handler adds. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from cas_orm.runs import RunSnapshot
from cas_orm.wakeup import WakeUp

#: How often a wakeup waits for a read that lags behind it.
MOST_LAGS: Final = 5
LAG: Final = "lag-"


def is_ahead(envelope: WakeUp, run: RunSnapshot) -> bool:
    """Tell whether the sender saw more than what can be read now."""
    return (
        (envelope.run_seq or 0) > run.run_seq
        or (envelope.record_version or 0) > run.record_version
        or (envelope.last_transition_seq or 0) > run.last_transition_seq
    )


def met(envelope: WakeUp, run: RunSnapshot) -> WakeUp:
    """Return the envelope as its handler keeps it: numbers filled, the count 0 if the run has moved."""
    known = envelope.last_transition_seq
    moved = known is not None and run.last_transition_seq > known
    return replace(
        envelope,
        requeue_count=0 if moved else envelope.requeue_count,
        run_seq=run.run_seq if envelope.run_seq is None else envelope.run_seq,
        record_version=run.record_version,
        last_transition_seq=run.last_transition_seq,
        reason="" if lags(envelope) else envelope.reason,
    )


def filled(wakeup: WakeUp, run_seq: int, record_version: int | None, last_transition_seq: int) -> WakeUp:
    """Return a tick's wakeup for its own run with the committed numbers, where it names none."""
    return replace(
        wakeup,
        run_seq=run_seq if wakeup.run_seq is None else wakeup.run_seq,
        record_version=record_version if wakeup.record_version is None else wakeup.record_version,
        last_transition_seq=(
            last_transition_seq if wakeup.last_transition_seq is None else wakeup.last_transition_seq
        ),
    )


def lags(envelope: WakeUp) -> int:
    """Return how often the wakeup has waited for a read that lags behind."""
    count = envelope.reason.removeprefix(LAG)
    return int(count) if count != envelope.reason and count.isdecimal() else 0
