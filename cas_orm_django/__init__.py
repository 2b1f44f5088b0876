"""Compare-and-swap for Django models.

Names are resolved on first use (PEP 562), so that the package can stand in INSTALLED_APPS.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cas_orm_django.claiming import (
        aclaim,
        arequeue_stale,
        claim,
        requeue_stale,
    )
    from cas_orm_django.job import JobMixin
    from cas_orm_django.lifecycle import (
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
    from cas_orm_django.mixins import (
        CasMixin,
        CasVerbsMixin,
        RecordVersionMixin,
        RunSeqMixin,
        WriteTokenMixin,
    )
    from cas_orm_django.query import (
        CasManager,
        CasQuerySet,
    )
    from cas_orm_django.retry import (
        aretry_on_conflict,
        retry_on_conflict,
        retrying,
    )
    from cas_orm_django.settling import (
        asettle,
        settle,
    )
    from cas_orm_django.store import DjangoRunStore
    from cas_orm_django.verbs import (
        adelete_if_current,
        anew_generation_if_current,
        atry_delete_if_current,
        atry_new_generation_if_current,
        atry_update_if_current,
        aupdate_if_current,
        delete_if_current,
        new_generation_if_current,
        try_delete_if_current,
        try_new_generation_if_current,
        try_update_if_current,
        update_if_current,
    )
    from cas_orm_django.workflow import WorkflowRunMixin

__all__ = [
    "CasManager",
    "CasMixin",
    "CasQuerySet",
    "CasVerbsMixin",
    "DjangoRunStore",
    "JobMixin",
    "RecordVersionMixin",
    "RunSeqMixin",
    "WorkflowRunMixin",
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
    "heartbeat_if_current",
    "new_generation_if_current",
    "requeue_if_current",
    "requeue_stale",
    "retry_on_conflict",
    "retrying",
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
    "claiming": ("aclaim", "arequeue_stale", "claim", "requeue_stale"),
    "workflow": ("WorkflowRunMixin",),
    "store": ("DjangoRunStore",),
    "job": ("JobMixin",),
    "mixins": ("CasMixin", "CasVerbsMixin", "RecordVersionMixin", "RunSeqMixin", "WriteTokenMixin"),
    "query": ("CasManager", "CasQuerySet"),
    "retry": ("aretry_on_conflict", "retry_on_conflict", "retrying"),
    "settling": ("asettle", "settle"),
}
_LIFECYCLE = ("start", "save_status", "finish", "heartbeat", "requeue")


def _room_of(name: str) -> str:
    verb = name.removeprefix("a").removeprefix("try_").removesuffix("_if_current")
    if verb in _LIFECYCLE:
        return "lifecycle"
    return next((room for room, names in _ROOMS.items() if name in names), "verbs")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_room_of(name)}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
