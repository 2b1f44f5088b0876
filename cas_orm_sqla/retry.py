"""Retry a unit of work, each attempt in a new session whose transaction the retry begins and ends (ADR 0008).

retries() ──▶ wait ──▶ new session ──▶ fn(session) ──▶ commit ──▶ its result
               ▲                                      │
               └──── rolled back, closed, and may be made again
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy.orm import Session

from cas_orm import RetryPolicy
from cas_orm.flow import Refused, Tally, adrive, drive, final, retries, told
from cas_orm.work import check_plain, check_policy, finished
from cas_orm_sqla.owned import check_free, own_session

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

__all__ = ["aretry_on_conflict", "retry_on_conflict"]

R = TypeVar("R")
S = TypeVar("S")


def retry_on_conflict(
    session_factory: Callable[[], Session], fn: Callable[[Session], R], policy: RetryPolicy | None = None
) -> R:
    """Return what ``fn(session)`` returns, committed; call it again until it is not refused.

    Each attempt has a session of its own, which is closed afterwards, and has to load the rows that it
    changes. It is made again after `ErrRecordVersionConflict`, `TransientConflict`, an undiagnosed refusal, a
    stale flush, and the engine's own refusals of any statement (deadlock, serialization failure, busy). It
    is not after another actor's decision, a missing row, or a refusal of an object that lost before.
    ``on_won`` hooks run once, after the commit. An `Outcome` that ``fn`` returns learns of the attempts.
    Objects that it returns are detached; they keep what they have loaded with ``expire_on_commit=False``.

    Args:
        session_factory: makes the sessions, for example a ``sessionmaker``.
        fn: the unit of work. It need not commit.
        policy: how long to wait, and when to give up; by default ``RetryPolicy()``.

    Raises:
        TypeError: a factory of another kind of session, an asynchronous ``fn``, or no policy.
        CannotRetryHere: the session is in a transaction already, or in AUTOCOMMIT; before any SQL.
        RetriesExhausted: the policy gave up. ``last`` is the last conflict.
        UnknownOutcome: the connection was lost during COMMIT.

    Example:
        >>> def add(session: Session) -> Outcome:  # doctest: +SKIP
        ...     order = session.get_one(Order, 7)
        ...     order.quantity += 1
        ...     return order.save_if_current(session)
        >>> retry_on_conflict(Factory, add)  # doctest: +SKIP
    """
    check_plain(fn)
    tally = Tally()
    attempt = partial(_attempt, session_factory, fn)
    return told(drive(retries(check_policy(policy), tally), attempt, time.sleep), tally)


async def aretry_on_conflict(
    session_factory: Callable[[], AsyncSession],
    fn: Callable[[AsyncSession], Awaitable[R]],
    policy: RetryPolicy | None = None,
) -> R:
    """Return what ``await fn(session)`` returns, committed; see `retry_on_conflict`.

    A cancelled wait is an ordinary CancelledError; a cancelled COMMIT carries ``cas_unknown``.

    Args:
        session_factory: makes the sessions, for example an ``async_sessionmaker``.
        fn: the unit of work. It need not commit.
        policy: how long to wait, and when to give up; by default ``RetryPolicy()``.

    Raises:
        TypeError: a factory of another kind of session, an ``fn`` whose result is not awaitable, or no
            policy.
        CannotRetryHere: the session is in a transaction already, or in AUTOCOMMIT; before any SQL.
        RetriesExhausted: the policy gave up. ``last`` is the last conflict.
        UnknownOutcome: the connection was lost during COMMIT.
    """
    if not callable(fn):
        raise TypeError(f"a function is needed here, not {type(fn).__name__}")
    tally = Tally()
    attempt = partial(_aattempt, session_factory, fn)
    return told(await adrive(retries(check_policy(policy), tally), attempt, asyncio.sleep), tally)


def _attempt(session_factory: Callable[[], Session], fn: Callable[[Session], R]) -> R | Refused:
    """Make one attempt, in a session that is closed when this returns."""
    session = _made(session_factory, Session)
    check_free(session)
    result: Any = None
    with session, own_session(session) as attempt:
        result = finished(fn(session))
    return final(result) if attempt.conflict is None else Refused(attempt.conflict)


async def _aattempt(
    session_factory: Callable[[], AsyncSession], fn: Callable[[AsyncSession], Awaitable[R]]
) -> R | Refused:
    """Make one attempt, in a session that is closed when this returns."""
    from sqlalchemy.ext.asyncio import AsyncSession  # needs greenlet

    session = _made(session_factory, AsyncSession)
    check_free(session.sync_session)
    result: Any = None
    async with session:
        own = _Asynchronously(session)
        async with own as attempt:
            pending = fn(session)
            if not inspect.isawaitable(pending):
                raise TypeError(f"aretry_on_conflict() takes an async function, and {fn!r} is none")
            result = await pending
    return final(result) if attempt.conflict is None else Refused(attempt.conflict)


class _Asynchronously:
    """`own_session`, its two ends each run in the greenlet of the AsyncSession."""

    def __init__(self, session: AsyncSession) -> None:
        self._session = session
        self._own = own_session(session.sync_session)

    async def __aenter__(self) -> Any:
        self._attempt = await self._session.run_sync(lambda _: self._own.__enter__())
        return self._attempt

    async def __aexit__(self, *reason: Any) -> bool | None:
        try:
            return await self._session.run_sync(lambda _: self._own.__exit__(*reason))
        except asyncio.CancelledError as cancelled:
            if self._attempt.watch.ending and not self._attempt.committed:
                cancelled.cas_unknown = self._attempt.watch.unknown()  # type: ignore[attr-defined]
            raise


def _made(session_factory: Callable[[], S], kind: type[S]) -> S:
    """Return the factory's session.

    Raises:
        TypeError: it is no factory, or makes something else.
    """
    if not callable(session_factory):
        raise TypeError(f"a factory of sessions is needed here, not a {type(session_factory).__name__}")
    session = session_factory()
    if not isinstance(session, kind):
        raise TypeError(f"the factory yields {type(session).__name__}; {kind.__name__} is needed here")
    return session
