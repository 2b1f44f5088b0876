"""Which write is in flight: for the twin that awaits it and may be cancelled, and for the retry around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from cas_orm.errors import TransientConflict, UnknownOutcome
from cas_orm.script import Script

LOST_AT_COMMIT: Final = (
    "the connection was lost during COMMIT, so everything in the transaction is stored, or nothing"
)
_CANCELLED: Final = "the await was cancelled while the write was in flight"


@dataclass(slots=True, eq=False)
class Watch:
    """Shows a twin how far its verb has got, or a retry what its unit of work has come to.

    Attributes:
        script: the write that was sent, or is about to be; of a unit of work the last one that has won.
        in_transaction: whether the caller's own transaction was open.
        cancelled: whether the twin's await is over, so that nothing more may be sent.
        whole: whether a whole unit of work is shown, which is stored, or not, together.
        won: whether `script` has.
        ending: whether the unit of work has done all that it does, so that only the COMMIT is left.
        dead: the refusal with which the engine has ended the transaction of the unit of work.
        around: the watch that this one is inside of.
    """

    script: Script[Any, Any] | None = None
    in_transaction: bool = False
    cancelled: bool = False
    whole: bool = False
    won: bool = False
    ending: bool = False
    dead: TransientConflict | None = None
    around: Watch | None = None

    def unknown(self, why: str = _CANCELLED) -> UnknownOutcome:
        """Return what is known of the write by now: a thread may have got further since."""
        if self.script is not None:
            return self.script.unknown(why, self.in_transaction, inflight=self)
        # Without a guarded write in it nobody can tell what became of a transaction that was committing.
        nothing_sent = None if self.ending else self
        return UnknownOutcome(
            f"{why}; pass this error to settle() [cas-unknown-outcome]",
            in_transaction=self.ending,
            inflight=nothing_sent,
        )

    def end(self) -> None:
        """Go on to the COMMIT.

        Raises:
            asyncio.CancelledError: nobody awaits the answer any more, so it must not be committed.
        """
        self.ending = True
        self.check_awaited()

    def check_awaited(self) -> None:
        """Stop where nobody awaits the answer any more.

        Raises:
            asyncio.CancelledError: the await is over.
        """
        if self.cancelled:
            from asyncio import CancelledError  # not at import: the core is light

            raise CancelledError


_WATCH: Final[ContextVar[Watch | None]] = ContextVar("cas_orm_watch", default=None)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Let the verb that runs inside show what it sends."""
    watch.around = _WATCH.get()
    before = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(before)


def watching() -> Sequence[Watch]:
    """Return who is to be shown what happens, from the inside out."""
    watch = _WATCH.get()
    if watch is None:
        return ()
    found = [watch]
    while watch.around is not None:
        watch = watch.around
        found.append(watch)
    return found


def about_to_send(script: Script[Any, Any], in_transaction: bool) -> None:
    """Show a write to the twin that awaits it.

    Raises:
        asyncio.CancelledError: nobody awaits the answer any more, so it must not be sent.
    """
    for watch in watching():
        if watch.script is None:
            watch.script, watch.in_transaction = script, in_transaction
        elif not watch.whole:
            continue
        watch.check_awaited()


def has_won(script: Script[Any, Any]) -> None:
    """Show a win to the retry around it: a token tells for everything in the transaction."""
    for watch in watching():
        if watch.whole and (script.token is not None or not watch.won):
            watch.script, watch.won = script, True


def has_died(conflict: TransientConflict) -> None:
    """Show to the retry around it that the transaction can only be rolled back."""
    for watch in watching():
        if watch.whole:
            watch.dead = conflict
