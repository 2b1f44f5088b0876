"""Compare-and-swap for SQLAlchemy models: mixins, and verbs by key. The session comes first.

Example:
    >>> job.state = "done"                                   # doctest: +SKIP
    >>> job.save_if_current(session, expect=Expect(state="running"))  # doctest: +SKIP
"""

from cas_orm_sqla.claiming import aclaim, arequeue_stale, claim, requeue_stale
from cas_orm_sqla.deleting import (
    adelete_if_current,
    atry_delete_if_current,
    delete_if_current,
    try_delete_if_current,
)
from cas_orm_sqla.guarded import AsyncCasSession, CasSession, guard
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
