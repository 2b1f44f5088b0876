"""What an object remembers of its refusals, whichever ORM it belongs to."""

from __future__ import annotations

from typing import Any

from cas_orm.outcome import Outcome, Verdict
from cas_orm.script import Script


class Memory:
    """The refusal that an object repeats, and the doubt about its version.

    Attributes:
        fence: the refusal that every later use repeats, until a reload.
        doubt: what was seen when the version was lost track of, or None.
    """

    __slots__ = ("doubt", "fence")

    def __init__(self, fence: Outcome | None = None, doubt: Outcome | None = None) -> None:
        self.fence = fence
        self.doubt = doubt

    def check_fence(self) -> None:
        """Repeat an earlier refusal without a statement.

        Raises:
            ConflictError: the object was refused and has not been reloaded since; ``fenced`` is True.
        """
        if self.fence is not None:
            raise self.fence.as_error(fenced=True)

    def check_version_known(self) -> None:
        """Refuse to compare a version that the object lost track of.

        Raises:
            ErrRecordVersionConflict: a verb that did not compare the version found it moved; ``fenced``.
        """
        if self.doubt is not None:
            raise self.doubt.as_error(fenced=True)

    def lose_track(self, outcome: Outcome, seen: int | None) -> None:
        """Remember that the row's version moved past what the object saw."""
        found = outcome.record_version
        self.doubt = Outcome(
            Verdict.STALE,
            model=outcome.model,
            key=outcome.key,
            expected={} if seen is None else {"record_version": seen},
            actual={} if found is None else {"record_version": found},
            verb="save",
        )

    def reloaded(self) -> None:
        """Lift fence and doubt: the version was just read again."""
        self.fence = self.doubt = None


def advanced(
    script: Script[Any, Any], outcome: Outcome, seen: object, *, covers: bool
) -> tuple[int | None, bool]:
    """Say how far a win brings an object: only as far as it can vouch for its other attributes (ADR 0023).

    Args:
        script: the write that has won.
        outcome: its outcome.
        seen: the version that the object had last seen, whatever else it is when there is none.
        covers: whether the write covered everything that the object has loaded.

    Returns:
        The version to show, or None to leave it as it is; and whether the object is in step with its row.
    """
    believed, new = script.belief.version, outcome.record_version
    if believed is not None:
        return new, covers or believed == seen
    if isinstance(seen, int):
        in_step = new == seen + script.bumps
        return (new if in_step else None), in_step
    return None, True
