"""The asynchronous twins: one hop to the thread that owns the connections, as Django's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import sync_to_async

from cas_orm import UnknownOutcome
from cas_orm.facts import Facts
from cas_orm.twins import cancelled_in_flight, rename_async
from cas_orm_django.watch import WATCH, Watch

P = ParamSpec("P")
R = TypeVar("R")


def hop(verb: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return ``ax`` for ``x``.

    A cancelled await stays a CancelledError; its ``cas_unknown`` is the `UnknownOutcome` of the
    statement that the thread may still be executing.
    """

    @wraps(verb)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> R:
        watch = Watch()

        def watched() -> R:
            before = WATCH.set(watch)
            try:
                return verb(*args, **kwargs)
            finally:
                WATCH.reset(before)

        try:
            return await sync_to_async(watched, thread_sensitive=True)()
        except asyncio.CancelledError as cancelled:
            watch.cancelled = True
            cancelled.cas_unknown = described(watch)  # type: ignore[attr-defined]  # promised to settle()
            raise

    rename_async(twin, verb)
    return twin


def described(watch: Watch) -> UnknownOutcome:
    """Return what is known of a cancelled write by now: the thread may have got further since."""
    script = watch.script
    if script is None:
        return cancelled_in_flight(inflight=watch)
    return cancelled_in_flight(
        model=script.columns.label,
        key=script.key,
        expected=Facts(script.belief.facts()),
        token=script.token,
        in_transaction=watch.in_transaction,
        inflight=watch,
    )
