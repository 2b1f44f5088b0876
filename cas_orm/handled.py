"""How the handling of one wakeup ended: a closed union, to be matched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from cas_orm.errors import Livelocked
from cas_orm.outcome import Outcome
from cas_orm.wakeup import WakeUp


@dataclass(frozen=True, slots=True)
class Committed:
    """A tick was committed, and these wakeups were sent."""

    outcome: Outcome
    wakeups: tuple[WakeUp, ...]


@dataclass(frozen=True, slots=True)
class Idle:
    """There was nothing to do: a stale envelope, a tick that wanted nothing, or reads that lag for good."""

    reason: Literal["stale", "nothing", "lagging"]


@dataclass(frozen=True, slots=True)
class Requeued:
    """The wakeup was given back to the queue, for so many seconds."""

    wakeup: WakeUp
    delay: float


@dataclass(frozen=True, slots=True)
class ForceFailed:
    """The run lost too often without progress, and is failed now."""

    outcome: Outcome
    error: Livelocked


@dataclass(frozen=True, slots=True)
class Failed:
    """The tick raised, was not pure, or the row is corrupt: nothing was written, nothing is retried."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Gone:
    """There is no such run."""

    run_id: str


Handled: TypeAlias = Committed | Idle | Requeued | ForceFailed | Failed | Gone
