"""A router that sends everything to the database under test, so that tests read like ordinary code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_reads: ContextVar[str | None] = ContextVar("reads", default=None)
_writes: ContextVar[str | None] = ContextVar("writes", default=None)


@contextmanager
def routed(writes: str | None, reads: str | None = None) -> Iterator[None]:
    """Send reads and writes of this context to these aliases; a new thread starts without any."""
    tokens = _reads.set(reads or writes), _writes.set(writes)
    try:
        yield
    finally:
        _reads.reset(tokens[0])
        _writes.reset(tokens[1])


class CurrentAlias:
    """Route to what :func:`routed` says, and to Django's own choice outside it."""

    def db_for_read(self, model: type, **hints: Any) -> str | None:
        """Return the alias under test."""
        return _reads.get()

    def db_for_write(self, model: type, **hints: Any) -> str | None:
        """Return the alias under test."""
        return _writes.get()

    def allow_relation(self, *objects: Any, **hints: Any) -> bool:
        """Allow every relation: aliases may be doors to one database."""
        return True
