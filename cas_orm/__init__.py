"""Compare-and-swap for database rows: beliefs, outcomes, errors, coordination. Knows no ORM.

The names of the coordinator and of sweeps are resolved on first use (PEP 562): a web worker that only saves
is spared them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from cas_orm.checksum import ChecksumPolicy, state_checksum
    from cas_orm.claims import StaleCounts
    from cas_orm.coordinate import AsyncCoordinator, Coordinator
    from cas_orm.handled import Committed, Failed, ForceFailed, Gone, Idle, Requeued
    from cas_orm.livelock import LivelockPolicy
    from cas_orm.requeue import RequeuePolicy
    from cas_orm.runs import Queue, RunSnapshot, Store, Tick, Transition
    from cas_orm.wakeup import WakeUp

__all__ = [
    "UNSET",
    "AsyncCoordinator",
    "AttemptsExhausted",
    "CannotRetryHere",
    "CasError",
    "ChecksumMismatch",
    "ChecksumPolicy",
    "Committed",
    "ConflictError",
    "Coordinator",
    "ErrRecordVersionConflict",
    "Expect",
    "Failed",
    "ForceFailed",
    "Gone",
    "Idle",
    "IllegalTransition",
    "InvalidExpectation",
    "LivelockPolicy",
    "Livelocked",
    "MissingExpectation",
    "Outcome",
    "Queue",
    "RecordMissing",
    "RequeuePolicy",
    "Requeued",
    "RetriesExhausted",
    "RetryPolicy",
    "RunSnapshot",
    "StaleCounts",
    "Store",
    "Superseded",
    "Tick",
    "TransientConflict",
    "Transition",
    "UnknownOutcome",
    "UnsupportedBackend",
    "Verdict",
    "WakeUp",
    "judge",
    "not_one_of",
    "one_of",
    "state_checksum",
]

_ROOMS = {
    "checksum": ("ChecksumPolicy", "state_checksum"),
    "claims": ("StaleCounts",),
    "coordinate": ("AsyncCoordinator", "Coordinator"),
    "handled": ("Committed", "Failed", "ForceFailed", "Gone", "Idle", "Requeued"),
    "livelock": ("LivelockPolicy",),
    "requeue": ("RequeuePolicy",),
    "runs": ("Queue", "RunSnapshot", "Store", "Tick", "Transition"),
    "wakeup": ("WakeUp",),
}


def __getattr__(name: str) -> Any:
    for room, names in _ROOMS.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"cas_orm.{room}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
