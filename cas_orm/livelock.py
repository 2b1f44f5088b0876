"""When a run that loses again and again without progress has to be failed. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LivelockPolicy:
    """Give up on a run that was requeued so often without progress; one that is merely hot never trips it.

    Progress means that ``last_transition_seq`` moved: every committed tick raises it (ADR 0010).

    Args:
        max_stalled_requeues: the count on an envelope at which one more loss fails the run.

    Raises:
        ValueError: it is not a whole number from 0 on.
    """

    max_stalled_requeues: int = 5

    def __post_init__(self) -> None:
        if type(self.max_stalled_requeues) is not int or self.max_stalled_requeues < 0:
            raise ValueError("max_stalled_requeues is a whole number from 0 on")

    def gives_up(self, requeue_count: int) -> bool:
        """Tell whether a wakeup with this count, which has lost again without progress, is the last."""
        return requeue_count >= self.max_stalled_requeues
