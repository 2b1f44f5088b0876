"""The asynchronous twins: one hop to the thread that owns the connections, as Django's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import sync_to_async

from cas_orm.twins import rename_async
from cas_orm.watch import Watch, watched

P = ParamSpec("P")
R = TypeVar("R")


def hop(verb: Callable[P, R], *, whole: bool = False) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return ``ax`` for ``x``; with `whole`, for a unit of work that is stored, or not, together.

    A cancelled await stays a CancelledError; its ``cas_unknown`` is the `UnknownOutcome` of the
    statement that the thread may still be executing.
    """

    @wraps(verb)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> R:
        watch = Watch(whole=whole)

        def shown() -> R:
            with watched(watch):
                return verb(*args, **kwargs)

        try:
            return await sync_to_async(shown, thread_sensitive=True)()
        except asyncio.CancelledError as cancelled:
            watch.cancelled = True
            cancelled.cas_unknown = watch.unknown()  # type: ignore[attr-defined]  # promised to settle()
            raise

    rename_async(twin, verb)
    return twin
