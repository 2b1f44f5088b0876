"""The asynchronous twins: one ``run_sync`` of the AsyncSession, in whose greenlet the sync verb runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy.orm import Session

from cas_orm.twins import rename_async
from cas_orm.watch import Watch, watched

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

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
    verb: Callable[Concatenate[Session, P], R], *, whole: bool = False
) -> Callable[Concatenate[AsyncSession, P], Coroutine[Any, Any, R]]:
    """Return ``ax`` for a function ``x`` whose first argument is the session; `whole`: of many rows."""

    @wraps(verb)
    async def twin(session: AsyncSession, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await _run(session, lambda inner: verb(inner, *args, **kwargs), whole)

    rename_async(twin, verb)
    return twin


async def _run(session: object, verb: Callable[[Session], R], whole: bool = False) -> R:
    from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session  # needs greenlet

    if isinstance(session, async_scoped_session):
        session = session()
    if not isinstance(session, AsyncSession):
        raise TypeError(f"an AsyncSession is needed here, not {type(session).__name__}")
    watch = Watch(whole=whole)

    def shown(inner: Session) -> R:
        with watched(watch):
            return verb(inner)

    try:
        return await session.run_sync(shown)
    except asyncio.CancelledError as cancelled:
        watch.cancelled = True
        cancelled.cas_unknown = watch.unknown()  # type: ignore[attr-defined]  # promised to settle()
        raise
