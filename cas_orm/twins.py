"""One verb, four names: ``try_x`` is written out; ``x`` raises, and an adapter adds ``ax`` and ``atry_x``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from cas_orm.outcome import Outcome

P = ParamSpec("P")


def writes(verb: Callable[P, Outcome]) -> Callable[P, Outcome]:
    """Mark a verb as Django marks save() and delete(): never to be called from a template."""
    verb.alters_data = True  # type: ignore[attr-defined]
    return verb


def raising(verb: Callable[P, Outcome]) -> Callable[P, Outcome]:
    """Return ``x`` for ``try_x``: the same, but a refusal is raised."""
    named = verb.__name__.removeprefix("try_")

    @wraps(verb)
    def bare(*args: P.args, **kwargs: P.kwargs) -> Outcome:
        return verb(*args, **kwargs).or_raise()

    rename(bare, verb, named)
    bare.__doc__ = f"{verb.__doc__}\n\nA refusal is raised; `try_{named}` returns it as an outcome instead."
    return bare


def rename(twin: Callable[..., object], verb: Callable[..., object], name: str) -> None:
    """Let a twin answer to its own name in tracebacks and in the documentation."""
    twin.__name__ = name
    twin.__qualname__ = f"{verb.__qualname__.removesuffix(verb.__name__)}{name}"


def rename_async(twin: Callable[..., object], verb: Callable[..., object]) -> None:
    """Name the asynchronous twin of a verb, and say so in its docstring."""
    rename(twin, verb, f"a{verb.__name__}")
    twin.__doc__ = f"{verb.__doc__}\n\nAsynchronous twin of `{verb.__name__}`."
