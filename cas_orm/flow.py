"""The loop of every retry, written once: what to wait for, and when to give up.

    retries() ── seconds to wait ──▶ the driver waits, then makes an attempt
        ▲                                   │
        └───── the conflict that ended it ──┘          a result ends the loop

`retries` never waits; `drive` sleeps and `adrive` awaits. What an attempt is, only the adapters know.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, replace
from typing import NoReturn, TypeAlias, TypeVar

from cas_orm.engine import Fault
from cas_orm.errors import ConflictError, RetriesExhausted, TransientConflict
from cas_orm.outcome import Outcome
from cas_orm.retry import RetryPolicy

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Refused:
    """How an attempt says that it lost, that it is undone, and that it may be made again."""

    conflict: ConflictError


@dataclass(slots=True)
class Tally:
    """What a loop has come to: attempts begun, and the seconds waited between them."""

    attempts: int = 0
    waited: float = 0.0


Retries: TypeAlias = Generator[float, ConflictError, NoReturn]


def retries(policy: RetryPolicy, tally: Tally, clock: Callable[[], float] = time.monotonic) -> Retries:
    """Yield the seconds to wait before each attempt; take back the conflict that ended it.

    Raises:
        RetriesExhausted: from the last conflict, when no retry is left or the next wait would end too late.
    """
    begun = clock()
    waits = policy.waits()
    wait = 0.0
    while True:
        tally.attempts += 1
        tally.waited += wait
        conflict = yield wait
        left = next(waits, None)
        if left is None:
            raise _exhausted("the policy allows no more retries", tally, conflict) from conflict
        if policy.timeout is not None and clock() - begun + left >= policy.timeout:
            raise _exhausted(f"its {policy.timeout:g} seconds are over", tally, conflict) from conflict
        wait = left


def drive(loop: Retries, attempt: Callable[[], R | Refused], sleep: Callable[[float], object]) -> R:
    """Make attempts until one is not refused, and return its result.

    Args:
        loop: what `retries` returned.
        attempt: runs in a transaction of its own, which has ended when it returns.
        sleep: waits for so many seconds.

    Raises:
        RetriesExhausted: the policy gave up.
    """
    wait = next(loop)
    while True:
        if wait:
            sleep(wait)
        answer = attempt()
        if not isinstance(answer, Refused):
            return answer
        wait = loop.send(answer.conflict)


async def adrive(
    loop: Retries,
    attempt: Callable[[], Awaitable[R | Refused]],
    sleep: Callable[[float], Awaitable[object]],
) -> R:
    """Make attempts until one is not refused, and return its result; see `drive`.

    Raises:
        RetriesExhausted: the policy gave up.
    """
    wait = next(loop)
    while True:
        if wait:
            await sleep(wait)
        answer = await attempt()
        if not isinstance(answer, Refused):
            return answer
        wait = loop.send(answer.conflict)


def told(result: R, tally: Tally) -> R:
    """Return the result; an `Outcome` learns of the attempts."""
    if not isinstance(result, Outcome) or (result.attempts, result.waited) == (tally.attempts, tally.waited):
        return result
    return replace(result, attempts=tally.attempts, waited=tally.waited)


def final(result: R) -> R:
    """Return the result after the commit; an `Outcome` is not provisional any more."""
    return (
        replace(result, provisional=False) if isinstance(result, Outcome) and result.provisional else result
    )


def refused_by_engine(fault: Fault | None, error: Exception) -> TransientConflict | None:
    """Return what a statement's error stands for, if the engine certainly applied nothing; else None."""
    if fault is not Fault.DEAD and fault is not Fault.OPEN:
        return None
    conflict = TransientConflict(
        f"the database refused a statement; the transaction is {fault.value} [cas-transient]",
        transaction=fault.value,
    )
    conflict.__cause__ = error
    return conflict


def _exhausted(why: str, tally: Tally, last: ConflictError) -> RetriesExhausted:
    return RetriesExhausted(
        f"gave up after {tally.attempts} attempts and {tally.waited:.3f} s of waiting, because {why}. The "
        f"last one wrote nothing: {last} Shorten the work between read and write, or allow more. "
        "[cas-retries-exhausted]",
        attempts=tally.attempts,
        waited=tally.waited,
        last=last,
    )
