"""How long a wakeup that lost stays in the queue before it is handled again. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cas_orm.retry import Jitter, RetryPolicy


@dataclass(frozen=True, slots=True)
class RequeuePolicy:
    """Wait ``base * 2**n`` seconds, at most ``cap``, before the next attempt of a wakeup.

    Args:
        base: seconds before the first requeue is handled.
        cap: the longest nominal delay, in seconds.
        jitter: as for `RetryPolicy`.
        rng: returns a float from 0 to below 1.

    Raises:
        ValueError: a time that is negative or not finite, an unknown jitter.
    """

    base: float = 0.1
    cap: float = 10.0
    jitter: Jitter = "full"
    rng: Callable[[], float] = field(default=random.random, repr=False)

    def __post_init__(self) -> None:
        self._schedule()

    def _schedule(self) -> RetryPolicy:
        return RetryPolicy(base=self.base, cap=self.cap, jitter=self.jitter, rng=self.rng)

    def delay(self, n: int) -> float:
        """Return the seconds to wait; ``n`` is the count on the envelope that was handled.

        Raises:
            ValueError: ``n`` is negative.
        """
        return self._schedule().delay(n)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the default source of randomness out, as `RetryPolicy` does."""
        given = (self.base, self.cap, self.jitter)
        return type(self), given if self.rng is random.random else (*given, self.rng)
