"""A queue that only remembers: for tests, and for whoever drives a workflow by hand."""

from __future__ import annotations

from cas_orm.wakeup import WakeUp


class MemoryQueue:
    """Keep what was sent, in order.

    Attributes:
        sent: the wakeups and their delays in seconds.
    """

    def __init__(self) -> None:
        self.sent: list[tuple[WakeUp, float]] = []

    def send(self, wakeup: WakeUp, *, delay: float = 0.0) -> None:
        """Remember the wakeup."""
        self.sent.append((wakeup, delay))
