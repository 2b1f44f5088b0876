"""The envelope that wakes a run: what its sender knew, how often it came back, its key in the queue."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final

_NUMBERS: Final = ("run_seq", "record_version", "last_transition_seq")


@dataclass(frozen=True, slots=True)
class WakeUp:
    """Ask for one tick of a run. The requeue count rides here, never on the row.

    A wakeup may come twice, late, or for nothing: handling it is idempotent.

    Args:
        run_id: which run.
        requeue_count: how often it was given back to the queue without progress.
        tier: which queue it belongs to.
        run_seq, record_version, last_transition_seq: the run as the sender saw it; None when it did not look.
        reason: what it is for; part of the key, so that two reasons are two wakeups.

    Example:
        >>> WakeUp("7", run_seq=2, last_transition_seq=5, record_version=9).task_key
        'cas:7:2:5:9:default:-:0'
    """

    run_id: str
    requeue_count: int = 0
    tier: str = "default"
    run_seq: int | None = None
    record_version: int | None = None
    last_transition_seq: int | None = None
    reason: str = ""
    __match_args__ = ("run_id",)

    def __init__(
        self,
        run_id: str,
        *,
        requeue_count: int = 0,
        tier: str = "default",
        run_seq: int | None = None,
        record_version: int | None = None,
        last_transition_seq: int | None = None,
        reason: str = "",
    ) -> None:
        set_: Callable[[Any, str, object], None] = object.__setattr__
        set_(self, "run_id", run_id)
        set_(self, "requeue_count", requeue_count)
        set_(self, "tier", tier)
        set_(self, "run_seq", run_seq)
        set_(self, "record_version", record_version)
        set_(self, "last_transition_seq", last_transition_seq)
        set_(self, "reason", reason)
        self._check()

    def _check(self) -> None:
        for name in ("run_id", "tier", "reason"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise ValueError(f"{name} is a text, not {type(value).__name__}")
        if not self.run_id or not self.tier:
            raise ValueError("run_id and tier are not empty")
        if type(self.requeue_count) is not int or self.requeue_count < 0:
            raise ValueError("requeue_count is a whole number from 0 on")
        for name in _NUMBERS:
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 0):
                raise ValueError(f"{name} is a whole number from 0 on, or None")

    @property
    def task_key(self) -> str:
        """The key under which a queue may deduplicate: another attempt is another key."""
        parts = (
            self.run_id,
            self.run_seq or 0,
            self.last_transition_seq or 0,
            self.record_version or 0,
            self.tier,
            self.reason or "-",
            self.requeue_count,
        )
        return ":".join(("cas", *map(str, parts)))

    def requeued(
        self,
        *,
        run_seq: int | None = None,
        record_version: int | None = None,
        last_transition_seq: int | None = None,
    ) -> WakeUp:
        """Return the envelope of the next attempt: one more requeue, and what has been seen since."""
        seen = {
            "run_seq": run_seq,
            "record_version": record_version,
            "last_transition_seq": last_transition_seq,
        }
        known: dict[str, Any] = {name: number for name, number in seen.items() if number is not None}
        return replace(self, requeue_count=self.requeue_count + 1, **known)

    def to_json(self) -> str:
        """Return the envelope as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> WakeUp:
        """Read back what `to_json` wrote; names that a newer sender added are passed over.

        Raises:
            ValueError: the text is not such an envelope.
        """
        plain = json.loads(text)
        if not isinstance(plain, dict) or "run_id" not in plain:
            raise ValueError("not a wakeup: a JSON object with a run_id is needed")
        known = {f.name for f in fields(cls)}
        return cls(**{name: value for name, value in plain.items() if name in known})
