"""One verb, four names: ``try_x`` is written out; ``x`` raises, ``ax`` and ``atry_x`` hop to a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import sync_to_async

from cas_orm import Outcome, UnknownOutcome
from cas_orm_django import write

P = ParamSpec("P")
R = TypeVar("R")


def raising(verb: Callable[P, Outcome]) -> Callable[P, Outcome]:
    """Return ``x`` for ``try_x``: the same, but a refusal is raised."""
    named = verb.__name__.removeprefix("try_")

    @wraps(verb)
    def bare(*args: P.args, **kwargs: P.kwargs) -> Outcome:
        return verb(*args, **kwargs).or_raise()

    _rename(bare, verb, named)
    bare.__doc__ = f"{verb.__doc__}\n\nA refusal is raised; `try_{named}` returns it as an outcome instead."
    return bare


def hop(verb: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return ``ax`` for ``x``: one hop to the thread that owns the connections, as Django's own twins.

    A cancelled await stays a CancelledError; its ``cas_unknown`` is the `UnknownOutcome` of the
    statement that the thread may still be executing.
    """

    @wraps(verb)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> R:
        watch = write.Watch()

        def watched() -> R:
            before = write.WATCH.set(watch)
            try:
                return verb(*args, **kwargs)
            finally:
                write.WATCH.reset(before)

        try:
            return await sync_to_async(watched, thread_sensitive=True)()
        except asyncio.CancelledError as cancelled:
            cancelled.cas_unknown = _unknown(watch)  # type: ignore[attr-defined]  # promised to settle()
            raise

    _rename(twin, verb, f"a{verb.__name__}")
    twin.__doc__ = f"{verb.__doc__}\n\nAsynchronous twin of `{verb.__name__}`."
    return twin


def _rename(twin: Callable[..., object], verb: Callable[..., object], name: str) -> None:
    twin.__name__ = name
    twin.__qualname__ = f"{verb.__qualname__.removesuffix(verb.__name__)}{name}"


def _unknown(watch: write.Watch) -> UnknownOutcome:
    script = watch.script
    message = "the await was cancelled while the write was in flight; pass this error to settle()"
    if script is None:
        return UnknownOutcome(f"{message} [cas-unknown-outcome]")
    return UnknownOutcome(
        f"{script.columns.label} {script.key}: {message} [cas-unknown-outcome]",
        model=script.columns.label,
        key=script.key,
        expected=script.belief.facts(),
        token=script.token,
        in_transaction=watch.in_transaction,
        inflight=script,
    )
