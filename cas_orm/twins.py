"""One verb, four names: ``try_x`` is written out; ``x`` raises, and an adapter adds ``ax`` and ``atry_x``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from cas_orm.outcome import Outcome

P = ParamSpec("P")
R = TypeVar("R")


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


class GenerationVerb:
    """A verb that only classes with a generation have.

    Args:
        verb: the method.
        has_generation: tells whether a class has one.
    """

    def __init__(self, verb: Callable[..., Any], has_generation: Callable[[type[Any]], bool]) -> None:
        self._verb, self._has_generation = verb, has_generation

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, obj: object, owner: type[Any]) -> Callable[..., Any]:
        if not self._has_generation(owner):
            raise AttributeError(f"{owner.__name__} has no generation, so it has no {self._name}()")
        return cast(Callable[..., Any], self._verb.__get__(obj, owner))
