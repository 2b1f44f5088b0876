"""Compare-and-swap for SQLAlchemy models: mixins, and verbs by key. The session comes first.

Names are resolved on first use (PEP 562): who imports a mixin is spared the jobs, the stores and asyncio.

Example:
    >>> job.state = "done"                                   # doctest: +SKIP
    >>> job.save_if_current(session, expect=Expect(state="running"))  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cas_orm_sqla.asynchronous import AsyncCasSession
    from cas_orm_sqla.claiming import aclaim, arequeue_stale, claim, requeue_stale
    from cas_orm_sqla.deleting import (
        adelete_if_current,
        atry_delete_if_current,
        delete_if_current,
        try_delete_if_current,
    )
    from cas_orm_sqla.guarded import CasSession, guard
    from cas_orm_sqla.job import JobDataclassMixin, JobMixin
    from cas_orm_sqla.lifecycle import (
        afinish_if_current,
        aheartbeat_if_current,
        arequeue_if_current,
        asave_status_if_current,
        astart_if_current,
        atry_finish_if_current,
        atry_heartbeat_if_current,
        atry_requeue_if_current,
        atry_save_status_if_current,
        atry_start_if_current,
        finish_if_current,
        heartbeat_if_current,
        requeue_if_current,
        save_status_if_current,
        start_if_current,
        try_finish_if_current,
        try_heartbeat_if_current,
        try_requeue_if_current,
        try_save_status_if_current,
        try_start_if_current,
    )
    from cas_orm_sqla.mixins import (
        CasDataclassMixin,
        CasMixin,
        CasVerbsMixin,
        RecordVersionDataclassMixin,
        RecordVersionMixin,
        RunSeqDataclassMixin,
        RunSeqMixin,
        WriteTokenDataclassMixin,
        WriteTokenMixin,
    )
    from cas_orm_sqla.retry import aretry_on_conflict, retry_on_conflict
    from cas_orm_sqla.settling import asettle, settle
    from cas_orm_sqla.store import SqlaRunStore
    from cas_orm_sqla.verbs import (
        anew_generation_if_current,
        atry_new_generation_if_current,
        atry_update_if_current,
        aupdate_if_current,
        new_generation_if_current,
        try_new_generation_if_current,
        try_update_if_current,
        update_if_current,
    )
    from cas_orm_sqla.workflow import WorkflowRunDataclassMixin, WorkflowRunMixin

__all__ = [
    "AsyncCasSession",
    "CasDataclassMixin",
    "CasMixin",
    "CasSession",
    "CasVerbsMixin",
    "JobDataclassMixin",
    "JobMixin",
    "RecordVersionDataclassMixin",
    "RecordVersionMixin",
    "RunSeqDataclassMixin",
    "RunSeqMixin",
    "SqlaRunStore",
    "WorkflowRunDataclassMixin",
    "WorkflowRunMixin",
    "WriteTokenDataclassMixin",
    "WriteTokenMixin",
    "aclaim",
    "adelete_if_current",
    "afinish_if_current",
    "aheartbeat_if_current",
    "anew_generation_if_current",
    "arequeue_if_current",
    "arequeue_stale",
    "aretry_on_conflict",
    "asave_status_if_current",
    "asettle",
    "astart_if_current",
    "atry_delete_if_current",
    "atry_finish_if_current",
    "atry_heartbeat_if_current",
    "atry_new_generation_if_current",
    "atry_requeue_if_current",
    "atry_save_status_if_current",
    "atry_start_if_current",
    "atry_update_if_current",
    "aupdate_if_current",
    "claim",
    "delete_if_current",
    "finish_if_current",
    "guard",
    "heartbeat_if_current",
    "new_generation_if_current",
    "requeue_if_current",
    "requeue_stale",
    "retry_on_conflict",
    "save_status_if_current",
    "settle",
    "start_if_current",
    "try_delete_if_current",
    "try_finish_if_current",
    "try_heartbeat_if_current",
    "try_new_generation_if_current",
    "try_requeue_if_current",
    "try_save_status_if_current",
    "try_start_if_current",
    "try_update_if_current",
    "update_if_current",
]

_ROOMS = {
    "asynchronous": ("AsyncCasSession",),
    "claiming": ("aclaim", "arequeue_stale", "claim", "requeue_stale"),
    "guarded": ("CasSession", "guard"),
    "job": ("JobDataclassMixin", "JobMixin"),
    "retry": ("aretry_on_conflict", "retry_on_conflict"),
    "settling": ("asettle", "settle"),
    "store": ("SqlaRunStore",),
    "workflow": ("WorkflowRunDataclassMixin", "WorkflowRunMixin"),
}
_VERBS = {"update": "verbs", "new_generation": "verbs", "delete": "deleting"}


def _room_of(name: str) -> str:
    verb = name.removesuffix("_if_current")
    if verb != name:
        return _VERBS.get(verb.removeprefix("a").removeprefix("try_"), "lifecycle")
    return next((room for room, names in _ROOMS.items() if name in names), "mixins")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_room_of(name)}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
