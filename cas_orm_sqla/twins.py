"""The asynchronous twins: one ``run_sync`` of the AsyncSession, in whose greenlet the sync verb runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session
from sqlalchemy.orm import Session

from cas_orm import UnknownOutcome
from cas_orm.facts import Facts
from cas_orm.twins import cancelled_in_flight, rename_async
from cas_orm_sqla import write

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


def hop(
    verb: Callable[Concatenate[S, Session, P], R],
) -> Callable[Concatenate[S, AsyncSession, P], Coroutine[Any, Any, R]]:
    """Return ``ax`` for a method ``x`` whose first argument is the session."""

    @wraps(verb)
    async def twin(self: S, session: AsyncSession, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await _run(session, lambda inner: verb(self, inner, *args, **kwargs))

    rename_async(twin, verb)
    return twin


def hop_function(
    verb: Callable[Concatenate[Session, P], R],
) -> Callable[Concatenate[AsyncSession, P], Coroutine[Any, Any, R]]:
    """Return ``ax`` for a function ``x`` whose first argument is the session."""

    @wraps(verb)
    async def twin(session: AsyncSession, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await _run(session, lambda inner: verb(inner, *args, **kwargs))

    rename_async(twin, verb)
    return twin


async def _run(session: object, verb: Callable[[Session], R]) -> R:
    if isinstance(session, async_scoped_session):
        session = session()
    if not isinstance(session, AsyncSession):
        raise TypeError(f"an AsyncSession is needed here, not {type(session).__name__}")
    watch = write.Watch()

    def watched(inner: Session) -> R:
        before = write.WATCH.set(watch)
        try:
            return verb(inner)
        finally:
            write.WATCH.reset(before)

    try:
        return await session.run_sync(watched)
    except asyncio.CancelledError as cancelled:
        cancelled.cas_unknown = _unknown(watch)  # type: ignore[attr-defined]  # promised to settle()
        raise


def _unknown(watch: write.Watch) -> UnknownOutcome:
    script = watch.script
    if script is None:
        return cancelled_in_flight()
    return cancelled_in_flight(
        model=script.columns.label,
        key=script.key,
        expected=Facts(script.belief.facts()),
        token=script.token,
        in_transaction=watch.in_transaction,
        inflight=script,
    )
