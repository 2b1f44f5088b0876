"""The unit of work, as a caller hands it over: what can be retried at all."""

from __future__ import annotations

import inspect
from typing import Any, Final, TypeVar

from cas_orm.retry import RetryPolicy

R = TypeVar("R")

_NEITHER: Final = "an asynchronous function, or a generator, would run after the transaction has ended"


def check_policy(policy: RetryPolicy | None) -> RetryPolicy:
    """Return the policy, or the default one.

    Raises:
        TypeError: something else.
    """
    if policy is None:
        return RetryPolicy()
    if not isinstance(policy, RetryPolicy):
        raise TypeError(f"policy is a RetryPolicy, not {type(policy).__name__}")
    return policy


def check_plain(fn: Any) -> None:
    """Refuse what does its work only after it has returned.

    Raises:
        TypeError: not callable, an ``async def`` or a generator function.
    """
    if not callable(fn):
        raise TypeError(f"a function is needed here, not {type(fn).__name__}")
    for kind in (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction):
        if kind(fn) or kind(getattr(fn, "__call__", None)):  # noqa: B004  # not whether: which
            raise TypeError(f"{fn!r}: {_NEITHER}")


def finished(result: R) -> R:
    """Return what a plain function has returned.

    Raises:
        TypeError: it is an awaitable, so the work has not been done yet.
    """
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise TypeError(_NEITHER)
    return result
