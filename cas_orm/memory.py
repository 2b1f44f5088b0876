"""What an object remembers of its refusals, whichever ORM it belongs to."""

from __future__ import annotations

from cas_orm.outcome import Outcome, Verdict


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
