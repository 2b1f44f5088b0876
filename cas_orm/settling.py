"""What became of a write whose answer was lost: the part that no ORM has a say in.

A plain read never tells, because the statement may still be waiting in the server. Sending the very same
statement again does, where it believes a version: if it matches, the write is applied now, and the first one
can only lose; if it does not, the row's write token says whose write was last. So does one that hands the row
over, or closes a job: in its generation it matches once. Any other statement that believes no version would
match twice, so there only the token decides (ADR 0016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from cas_orm.belief import Belief, Believing, resolve
from cas_orm.errors import UnknownOutcome
from cas_orm.expect import Expect
from cas_orm.outcome import Outcome
from cas_orm.script import Script
from cas_orm.values import UNSET, Number
from cas_orm.watch import Watch

F = TypeVar("F")


def unknown_in(error: BaseException) -> tuple[UnknownOutcome, Script[Any, Any] | None]:
    """Return the unknown outcome in an error, and the write that is in doubt, unless it was pickled.

    A cancelled write may have got further since; it is described as it is now.

    Raises:
        TypeError: another error.
        UnknownOutcome: without a write token nothing can be told.
    """
    unknown = getattr(error, "cas_unknown", error)
    if not isinstance(unknown, UnknownOutcome):
        raise TypeError(f"settle() takes an UnknownOutcome, not {type(error).__name__}")
    inflight = unknown.inflight
    if isinstance(inflight, Watch) and inflight.script is not None:
        unknown, inflight = inflight.unknown(), inflight.script
    if unknown.token is None and not never_sent(unknown):
        raise unknown
    return unknown, inflight if isinstance(inflight, Script) else None


def never_sent(unknown: UnknownOutcome) -> bool:
    """Tell whether the await was cancelled before anything was sent; nothing will be."""
    return isinstance(unknown.inflight, Watch) and unknown.inflight.script is None


def may_send_again(unknown: UnknownOutcome, script: Script[Any, Any]) -> bool:
    """Tell whether sending the same statement again is harmless: the first could then only lose."""
    return not unknown.in_transaction and (script.belief.version is not None or _matches_once(script))


def _matches_once(script: Script[Any, Any]) -> bool:
    """Tell whether a write that believes no version ends what it believes: the generation, or an open job."""
    return script.belief.generation is not None and (script.hands_over or script.target is not None)


def travelled(model: Believing[F], unknown: UnknownOutcome) -> Belief[F]:
    """Return the belief that travelled with a pickled error."""
    columns = dict(unknown.expected or {})
    version, generation = (columns.pop(role, UNSET) for role in ("record_version", "run_seq"))
    return resolve(model, Expect.read(cast(Number, version), cast(Number, generation), columns), None)


def by_token(
    unknown: UnknownOutcome,
    script: Script[Any, Any],
    row: Sequence[Any] | None,
    *,
    pickled: bool,
    beats: bool,
) -> Outcome | None:
    """Decide by what the row says under a lock, behind whatever was still waiting.

    Args:
        unknown: what is in doubt.
        script: the write; when ``pickled`` only its row and its belief.
        row: version, token and generation (None without one); None when the row is gone.
        pickled: the statement is not at hand, and so cannot have been sent again.
        beats: whether there are writes that leave a new token and no new version, such as heartbeats.

    Returns:
        WON when the row carries the write's token; None when the write never will be applied.

    Raises:
        UnknownOutcome: the row cannot tell.
    """
    if row is None:
        raise unknown  # applied and deleted since, or deleted before
    version, token, generation = row
    if token is not None and bytes(token) == unknown.token:
        return replace(script.won(provisional=False), record_version=version, run_seq=generation)
    believed = script.belief.version
    if believed is None:
        if _matches_once(script) and generation == script.belief.generation:
            return None  # not handed over; if the job is closed, it says how
        raise unknown
    if version > believed + (not beats):
        raise unknown  # too far: ours may have been one of the writes in between
    if pickled and version == believed and not unknown.in_transaction:
        raise unknown  # the statement may still be waiting in the server
    return None
