"""How long to wait before a lost attempt is made again, and how often. Pure: nothing here waits."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from math import isfinite
from typing import Any, Final, Literal, TypeAlias, get_args

from cas_orm.errors import ConflictError, ErrRecordVersionConflict, TransientConflict

__all__ = ["RetryPolicy", "may_be_retried"]

Jitter: TypeAlias = Literal["full", "equal", "none"]
#: Beyond this every doubling has reached any cap; `float` itself ends soon after.
_MOST_DOUBLINGS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Wait between the attempts of a unit of work, for a bounded number of retries. All times in seconds.

    The nominal wait before retry ``i + 1`` is ``delays[i]``, the last one repeating; without ``delays`` it is
    ``min(cap, base * 2**i)``. Jitter is drawn below it, so no wait is longer than its nominal one: writers
    that lose together and wait the same time would meet again (ADR 0012).

    Args:
        delays: nominal waits, in order. They are not cut by ``cap``.
        base: the first nominal wait, without ``delays``.
        cap: the longest nominal wait, without ``delays``.
        jitter: ``"full"`` draws from 0 to the nominal wait, ``"equal"`` from half of it, ``"none"`` is exact.
        max_retries: how many attempts may follow the first.
        timeout: what all waits and attempts may take together; None for no limit. An attempt that runs is
            never interrupted, but no wait is begun that would end past the limit.
        rng: returns a float from 0 to below 1.

    Raises:
        ValueError: a time that is negative or not finite, no delay at all, an unknown jitter, a number of
            retries that is not a whole number.

    Example:
        >>> list(RetryPolicy(base=0.01, cap=0.05, jitter="none", max_retries=4).waits())
        [0.01, 0.02, 0.04, 0.05]
    """

    delays: Sequence[float] | None = None
    base: float = 0.005
    cap: float = 0.1
    jitter: Jitter = "full"
    max_retries: int = 30
    timeout: float | None = None
    rng: Callable[[], float] = field(default=random.random, repr=False)

    def __post_init__(self) -> None:
        if self.delays is not None:
            delays = tuple(_seconds("delays", delay) for delay in self.delays)
            if not delays:
                raise ValueError("delays is empty; leave it out for exponential waits")
            object.__setattr__(self, "delays", delays)
        _seconds("base", self.base)
        _seconds("cap", self.cap)
        if self.timeout is not None:
            _seconds("timeout", self.timeout)
        if self.jitter not in get_args(Jitter):
            raise ValueError(f"jitter is one of 'full', 'equal', 'none', not {self.jitter!r}")
        if type(self.max_retries) is not int or self.max_retries < 0:
            raise ValueError(f"max_retries is a whole number from 0 on, not {self.max_retries!r}")
        if not callable(self.rng):
            raise ValueError("rng is a function that returns a float from 0 to below 1")

    def __reduce__(self) -> tuple[Callable[[], RetryPolicy], tuple[()]]:
        """Leave the default source of randomness out: its state would give every process the same waits."""
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.rng is random.random:
            del values["rng"]
        return partial(type(self), **values), ()

    @classmethod
    def coordinator(cls) -> RetryPolicy:
        """Return the schedule of the coordinator: 0, 10, 20, 40 ms and 1 s, with full jitter."""
        return cls(delays=(0, 0.01, 0.02, 0.04, 1.0), max_retries=5)

    @classmethod
    def exact(cls) -> RetryPolicy:
        """Return the schedule of the coordinator without jitter."""
        return cls(delays=(0, 0.01, 0.02, 0.04, 1.0), max_retries=5, jitter="none")

    def nominal(self, i: int) -> float:
        """Return the seconds before retry ``i + 1``, without jitter: the longest that this wait can be.

        Raises:
            ValueError: ``i`` is negative.
        """
        if i < 0:
            raise ValueError(f"retries are counted from 0, not from {i}")
        if self.delays is not None:
            return self.delays[min(i, len(self.delays) - 1)]
        return float(min(self.cap, self.base * 2.0 ** min(i, _MOST_DOUBLINGS)))

    def delay(self, i: int) -> float:
        """Return the seconds to wait before retry ``i + 1``, jitter included.

        Raises:
            ValueError: ``i`` is negative.
        """
        longest = self.nominal(i)
        match self.jitter:
            case "full":
                return longest * self.rng()
            case "equal":
                return longest / 2 + longest / 2 * self.rng()
            case "none":
                return longest

    def waits(self) -> Iterator[float]:
        """Yield the wait before each retry, as many as there may be."""
        return (self.delay(i) for i in range(self.max_retries))


def may_be_retried(error: ConflictError) -> bool:
    """Tell whether the same work, on rows that are loaded anew, may win where this attempt lost.

    Another actor's decision, a spent budget and a missing row stay what they are. A fenced refusal sent
    nothing: whoever repeats it has not reloaded.
    """
    if error.fenced:
        return False
    undiagnosed = error.code == ConflictError.code
    return undiagnosed or isinstance(error, ErrRecordVersionConflict | TransientConflict)


def _seconds(name: str, value: object) -> float:
    """Return a time as a float.

    Raises:
        ValueError: it is not a number, negative, infinite or NaN.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
        raise ValueError(f"{name}: {value!r} is not a number of seconds from 0 on")
    return float(value)
