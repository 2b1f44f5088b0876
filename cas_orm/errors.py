"""What can go wrong, as one tree.

    CasError
    ├── ConflictError                  nothing was written
    │   ├── ErrRecordVersionConflict   STALE: reload, recompute, retry
    │   ├── Superseded                 SUPERSEDED, WRONG_STATE: another actor decided
    │   ├── AttemptsExhausted          EXHAUSTED: the row's attempt budget is spent
    │   ├── RecordMissing              MISSING: the row is gone
    │   └── TransientConflict          the engine refused; may be tried again
    ├── MissingExpectation             there is no version to compare: fail closed
    ├── InvalidExpectation             (ValueError) the belief cannot be compared
    ├── IllegalTransition              (ValueError) not an edge of the lifecycle
    ├── UnknownOutcome                 the connection was lost in flight
    ├── CannotRetryHere                a retry would run inside somebody else's transaction
    ├── RetriesExhausted               the policy's retries are used up
    ├── Livelocked                     a run was requeued too often without progress
    ├── ChecksumMismatch               a row does not match its checksum
    └── UnsupportedBackend             this backend cannot count, or cannot lock

Every error has a ``code``; ``docs/errors/<code>`` explains it. Messages name rows, versions and
columns, and never a column's value. Every error can be pickled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from cas_orm.outcome import Verdict

__all__ = [
    "AttemptsExhausted",
    "CannotRetryHere",
    "CasError",
    "ChecksumMismatch",
    "ConflictError",
    "ErrRecordVersionConflict",
    "IllegalTransition",
    "InvalidExpectation",
    "Livelocked",
    "MissingExpectation",
    "RecordMissing",
    "RetriesExhausted",
    "Superseded",
    "TransientConflict",
    "UnknownOutcome",
    "UnsupportedBackend",
]


class CasError(Exception):
    """Base of everything that this library raises on purpose.

    Attributes:
        code: the stable name of the error, for example ``cas-stale``.
    """

    code: str = "cas-error"


class ConflictError(CasError):
    """Nothing was written, because the row is not as the writer believed.

    Raised itself only for `Verdict.UNDIAGNOSED`: the write was refused although the row looks as
    believed (an old snapshot, a vetoing trigger, row security).

    Attributes:
        model: the model's label, for example ``"shop.Order"``.
        key: the row's primary key; a tuple when it is composite.
        expected: what the writer believed, by role and column name.
        actual: what the diagnosing read found, or None when it is not known.
        verdict: the judgement, or None when the engine refused before one could be made.
        fenced: True when the object was refused before and no statement was sent this time.
    """

    code = "cas-undiagnosed"

    def __init__(
        self,
        message: str = "",
        *,
        model: str = "",
        key: object = None,
        expected: Mapping[str, object] | None = None,
        actual: Mapping[str, object] | None = None,
        verdict: Verdict | None = None,
        code: str | None = None,
        fenced: bool = False,
    ) -> None:
        super().__init__(message)
        self.model = model
        self.key = key
        self.expected = expected
        self.actual = actual
        self.verdict = verdict
        self.fenced = fenced
        if code is not None:
            self.code = code


class ErrRecordVersionConflict(ConflictError):
    """Somebody else has written the row since it was read: reload, recompute, save again."""

    code = "cas-stale"


class Superseded(ConflictError):
    """Another actor has decided: the generation moved on, or a believed column changed.

    Never retried on behalf of the old attempt. The code is ``cas-superseded`` for a newer generation
    and ``cas-wrong-state`` for another column.
    """

    code = "cas-superseded"


class AttemptsExhausted(ConflictError):
    """The row's attempt budget is spent; only a person's requeue opens a new one."""

    code = "cas-exhausted"


class RecordMissing(ConflictError):
    """The row is gone. A save never inserts it again."""

    code = "cas-missing"


class TransientConflict(ConflictError):
    """The database engine refused the statement; nothing was written. ``__cause__`` is its error.

    Attributes:
        transaction: ``"dead"`` when the transaction that the statement ran in is rolled back, or can
            only be rolled back; ``"open"`` when only the statement was undone; ``"unknown"``.
    """

    code = "cas-transient"

    def __init__(
        self,
        message: str = "",
        *,
        transaction: Literal["dead", "open", "unknown"] = "unknown",
        model: str = "",
        key: object = None,
        expected: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message, model=model, key=key, expected=expected)
        self.transaction: Literal["dead", "open", "unknown"] = transaction


class MissingExpectation(CasError):
    """There is no version, or no generation, to compare: the write fails closed."""

    code = "cas-no-expectation"


class InvalidExpectation(CasError, ValueError):
    """The belief names something that cannot be compared exactly, or must not be written."""

    code = "cas-invalid-expectation"


class IllegalTransition(CasError, ValueError):
    """The lifecycle has no such edge; nothing was sent."""

    code = "cas-illegal-transition"


class UnknownOutcome(CasError):
    """The connection was lost, or the await cancelled, while the write was in flight.

    The write may have been applied, may never be, or may still be waiting in the server. Pass the
    error to the adapter's ``settle()`` to find out; a plain read cannot tell.

    Attributes:
        model: the model's label.
        key: the row's primary key.
        expected: what the writer believed.
        token: the write token that the statement carried, or None.
        in_transaction: True when the caller's own transaction was open.
        inflight: the adapter's record of the statement; not pickled.
    """

    code = "cas-unknown-outcome"

    def __init__(
        self,
        message: str = "",
        *,
        model: str = "",
        key: object = None,
        expected: Mapping[str, object] | None = None,
        token: bytes | None = None,
        in_transaction: bool = False,
        inflight: object = None,
    ) -> None:
        super().__init__(message)
        self.model = model
        self.key = key
        self.expected = expected
        self.token = token
        self.in_transaction = in_transaction
        self.inflight = inflight

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), self.args, {**self.__dict__, "inflight": None})


class CannotRetryHere(CasError):
    """A retry must own its transaction, and here somebody else's is open. No statement was sent."""

    code = "cas-cannot-retry"


class RetriesExhausted(CasError):
    """The policy's retries, or its time, are used up. Nothing was written by the last attempt.

    Attributes:
        attempts: how often the work was tried.
        waited: seconds spent waiting between the attempts.
        last: the conflict that ended the last attempt.
    """

    code = "cas-retries-exhausted"

    def __init__(
        self, message: str = "", *, attempts: int = 0, waited: float = 0.0, last: ConflictError | None = None
    ) -> None:
        super().__init__(message)
        self.attempts = attempts
        self.waited = waited
        self.last = last


class Livelocked(CasError):
    """A run was requeued too often without progress and has been force-failed."""

    code = "cas-livelocked"


class ChecksumMismatch(CasError):
    """A row's content does not match its checksum: corruption, never a conflict, never retried."""

    code = "cas-checksum"


class UnsupportedBackend(CasError):
    """This database, driver or setting cannot do what the guarantee needs; the message says what."""

    code = "cas-unsupported"
