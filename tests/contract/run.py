"""Turn a contract test, an ``async def`` over an api, into a test that pytest calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from tests.contract.adapters.base import Api


def contract(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Let the api, the first argument of the test, drive it."""
    first = next(iter(inspect.signature(test).parameters))

    def run(**fixtures: Any) -> None:
        api: Api = fixtures[first]
        api.drive(test(**fixtures))

    run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
    run.__signature__ = inspect.signature(test)  # type: ignore[attr-defined]  # pytest reads the fixtures from it
    return run
