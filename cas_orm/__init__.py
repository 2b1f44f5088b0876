"""Compare-and-swap for database rows: beliefs, outcomes, errors. Knows no ORM."""

from cas_orm.errors import (
    AttemptsExhausted,
    CannotRetryHere,
    CasError,
    ChecksumMismatch,
    ConflictError,
    ErrRecordVersionConflict,
    IllegalTransition,
    InvalidExpectation,
    Livelocked,
    MissingExpectation,
    RecordMissing,
    RetriesExhausted,
    Superseded,
    TransientConflict,
    UnknownOutcome,
    UnsupportedBackend,
)
from cas_orm.expect import Expect
from cas_orm.outcome import Outcome, Verdict, judge
from cas_orm.retry import RetryPolicy
from cas_orm.values import UNSET, not_one_of, one_of

__all__ = [
    "UNSET",
    "AttemptsExhausted",
    "CannotRetryHere",
    "CasError",
    "ChecksumMismatch",
    "ConflictError",
    "ErrRecordVersionConflict",
    "Expect",
    "IllegalTransition",
    "InvalidExpectation",
    "Livelocked",
    "MissingExpectation",
    "Outcome",
    "RecordMissing",
    "RetriesExhausted",
    "RetryPolicy",
    "Superseded",
    "TransientConflict",
    "UnknownOutcome",
    "UnsupportedBackend",
    "Verdict",
    "judge",
    "not_one_of",
    "one_of",
]
