"""Which statement is in flight, for the asynchronous twin that awaits it and may be cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from cas_orm.errors import UnknownOutcome
from cas_orm.script import Script

_CANCELLED: Final = "the await was cancelled while the write was in flight"


@dataclass(slots=True)
class Watch:
    """Shows a twin how far its verb has got.

    Attributes:
        script: the write that was sent, or is about to be.
        in_transaction: whether the caller's own transaction was open.
        cancelled: whether the twin's await is over, so that nothing more may be sent.
    """

    script: Script[Any, Any] | None = None
    in_transaction: bool = False
    cancelled: bool = False

    def unknown(self) -> UnknownOutcome:
        """Return what is known of the write by now: a thread may have got further since."""
        if self.script is None:
            return UnknownOutcome(
                f"{_CANCELLED}; pass this error to settle() [cas-unknown-outcome]", inflight=self
            )
        return self.script.unknown(_CANCELLED, self.in_transaction, inflight=self)


_WATCH: Final[ContextVar[Watch | None]] = ContextVar("cas_orm_watch", default=None)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Let the verb that runs inside show what it sends."""
    before = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(before)


def about_to_send(script: Script[Any, Any], in_transaction: bool) -> None:
    """Show a write to the twin that awaits it.

    Raises:
        asyncio.CancelledError: nobody awaits the answer any more, so it must not be sent.
    """
    watch = _WATCH.get()
    if watch is None or watch.script is not None:
        return
    watch.script, watch.in_transaction = script, in_transaction
    if watch.cancelled:
        from asyncio import CancelledError  # not at import: the core is light

        raise CancelledError
