"""Retry a unit of work, each attempt in a transaction that the retry itself begins and ends (ADR 0008).

retries() ──▶ wait ──▶ begin ──▶ the caller's function ──▶ commit ──▶ its result
               ▲                                          │
               └────────── rolled back, and may be made again
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial, wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, overload

from django.db import DEFAULT_DB_ALIAS, connections

from cas_orm import RetryPolicy
from cas_orm.flow import Refused, Retries, Tally, adrive, drive, final, retries, told
from cas_orm.work import check_plain, check_policy, finished
from cas_orm_django.owned import OwnTransaction
from cas_orm_django.twins import hop

__all__ = ["Attempt", "aretry_on_conflict", "retry_on_conflict", "retrying"]

P = ParamSpec("P")
R = TypeVar("R")


@overload
def retry_on_conflict(policy: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def retry_on_conflict(
    policy: RetryPolicy | None = None, using: str | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def retry_on_conflict(policy: Any = None, using: str | None = None) -> Any:
    """Run the decorated function in a transaction of its own, again and again until it is not refused.

    Each attempt begins with an outermost ``atomic()`` and has to load the rows that it changes. It is made
    again after `ErrRecordVersionConflict`, `TransientConflict`, an undiagnosed refusal, and the engine's own
    refusals of any statement (deadlock, serialization failure, busy). It is not after another actor's
    decision, a missing row, or a refusal of an object that lost before. ``on_won`` and ``on_commit`` hooks
    run once, after the commit. An `Outcome` that the function returns learns of the attempts.

    Args:
        policy: how long to wait, and when to give up; by default ``RetryPolicy()``.
        using: the database whose transaction is owned; by default ``"default"``.

    Raises:
        TypeError: the function is asynchronous or a generator, or the policy is none.
        CannotRetryHere: when called inside another ``atomic()``, or with autocommit off; before any SQL.
        RetriesExhausted: when called, and the policy gave up. ``last`` is the last conflict.
        UnknownOutcome: when called, and the connection was lost during COMMIT.

    Example:
        >>> @retry_on_conflict  # doctest: +SKIP
        ... def add(pk: int, n: int) -> Outcome:
        ...     order = Order.objects.get(pk=pk)
        ...     order.quantity += n
        ...     return order.save_if_current()
    """
    if callable(policy):
        return _decorated(policy, RetryPolicy(), DEFAULT_DB_ALIAS)
    return partial(_decorated, policy=check_policy(policy), alias=using or DEFAULT_DB_ALIAS)


def _decorated(fn: Callable[P, R], policy: RetryPolicy, alias: str) -> Callable[P, R]:
    check_plain(fn)

    @wraps(fn)
    def retried(*args: P.args, **kwargs: P.kwargs) -> R:
        tally = Tally()
        work = partial(_attempt, alias, partial(fn, *args, **kwargs))
        return told(drive(retries(policy, tally), work, time.sleep), tally)

    return retried


async def aretry_on_conflict(
    fn: Callable[..., R],
    /,
    *args: Any,
    policy: RetryPolicy | None = None,
    using: str | None = None,
    **kwargs: Any,
) -> R:
    """Run a synchronous function as `retry_on_conflict` does; each attempt is one hop to Django's thread.

    The waits are awaited outside the thread. A cancelled wait is an ordinary CancelledError; a cancelled
    attempt carries ``cas_unknown``, as the verbs' own do.

    Args:
        fn: the unit of work; not ``async``, because a transaction belongs to one thread.
        *args: its arguments.
        **kwargs: its named arguments.
        policy: how long to wait, and when to give up; by default ``RetryPolicy()``.
        using: the database whose transaction is owned; by default ``"default"``.

    Raises:
        TypeError: the function is asynchronous or a generator, or the policy is none.
        CannotRetryHere: the thread's connection is inside another ``atomic()``, or has autocommit off.
        RetriesExhausted: the policy gave up. ``last`` is the last conflict.
        UnknownOutcome: the connection was lost during COMMIT.
    """
    check_plain(fn)
    tally = Tally()
    attempt = partial(_aattempt, using or DEFAULT_DB_ALIAS, partial(fn, *args, **kwargs))
    return told(await adrive(retries(check_policy(policy), tally), attempt, asyncio.sleep), tally)


def retrying(policy: RetryPolicy | None = None, using: str | None = None) -> Iterator[Attempt]:
    """Iterate over attempts; the loop ends with the first whose block is not refused.

    Args:
        policy: how long to wait, and when to give up; by default ``RetryPolicy()``.
        using: the database whose transaction is owned; by default ``"default"``.

    Raises:
        TypeError: the policy is none.
        CannotRetryHere: inside another ``atomic()``, or with autocommit off; before any SQL.
        RetriesExhausted: the policy gave up. ``last`` is the last conflict.
        RuntimeError: an attempt was not entered.
        UnknownOutcome: the connection was lost during COMMIT.

    Example:
        >>> for attempt in retrying():  # doctest: +SKIP
        ...     with attempt:
        ...         order = Order.objects.get(pk=7)
        ...         order.save_if_current()
    """
    return _attempts(check_policy(policy), using or DEFAULT_DB_ALIAS)


def _attempts(policy: RetryPolicy, alias: str) -> Iterator[Attempt]:
    tally = Tally()
    loop = retries(policy, tally)
    attempt = Attempt(alias, loop, tally, next(loop))
    while attempt.again:
        attempt.wait()
        yield attempt


class Attempt:
    """One attempt after the other: a context manager around a transaction of its own.

    Attributes:
        number: 1 for the first attempt.
        waited: seconds waited so far.
    """

    def __init__(self, alias: str, loop: Retries, tally: Tally, wait: float) -> None:
        self._alias, self._loop, self._tally = alias, loop, tally
        self._wait: float | None = wait
        self._own: OwnTransaction | None = None

    @property
    def number(self) -> int:
        """Return how many attempts have begun."""
        return self._tally.attempts

    @property
    def waited(self) -> float:
        """Return the seconds waited so far."""
        return self._tally.waited

    @property
    def again(self) -> bool:
        """Tell whether another attempt is to be made."""
        return self._own is None or self._wait is not None

    def wait(self) -> None:
        """Wait until the attempt is to be made, outside any transaction.

        Raises:
            RuntimeError: the one before was not entered.
        """
        if self._wait is None:
            raise RuntimeError("retrying() hands out attempts to be entered: `with attempt:`")
        if self._wait:
            time.sleep(self._wait)
        self._wait = self._own = None

    def __enter__(self) -> Attempt:
        own = OwnTransaction(self._alias)
        while not own.begin():
            self._lost(own)
            self.wait()
        self._own = own
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        assert self._own is not None
        swallow = self._own.__exit__(kind, error, trace)
        self._lost(self._own)
        return swallow

    def _lost(self, own: OwnTransaction) -> None:
        if own.conflict is not None:
            self._wait = self._loop.send(own.conflict)


def _attempt(alias: str, work: Callable[[], R]) -> R | Refused:
    """Make one attempt, in a transaction that has ended when this returns."""
    own = OwnTransaction(alias)
    result: Any = None
    if own.begin():
        with own:
            result = finished(work())
            own.watch.end()
    return _final(result) if own.conflict is None else Refused(own.conflict)


_aattempt = hop(_attempt, whole=True)


def _final(result: R) -> R:
    """Tell an outcome that it is final, unless a caller's transaction is open, as in a TestCase."""
    still_open = any(c.in_atomic_block for c in connections.all(initialized_only=True))
    return result if still_open else final(result)
