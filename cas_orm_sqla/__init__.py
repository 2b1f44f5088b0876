"""Compare-and-swap for SQLAlchemy models: mixins, and verbs by key. The session comes first.

Example:
    >>> job.state = "done"                                   # doctest: +SKIP
    >>> job.save_if_current(session, expect=Expect(state="running"))  # doctest: +SKIP
"""

from cas_orm_sqla.guarded import AsyncCasSession, CasSession, guard
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
from cas_orm_sqla.verbs import (
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

__all__ = [
    "AsyncCasSession",
    "CasDataclassMixin",
    "CasMixin",
    "CasSession",
    "CasVerbsMixin",
    "RecordVersionDataclassMixin",
    "RecordVersionMixin",
    "RunSeqDataclassMixin",
    "RunSeqMixin",
    "WriteTokenDataclassMixin",
    "WriteTokenMixin",
    "adelete_if_current",
    "anew_generation_if_current",
    "aretry_on_conflict",
    "asettle",
    "atry_delete_if_current",
    "atry_new_generation_if_current",
    "atry_update_if_current",
    "aupdate_if_current",
    "delete_if_current",
    "guard",
    "new_generation_if_current",
    "retry_on_conflict",
    "settle",
    "try_delete_if_current",
    "try_new_generation_if_current",
    "try_update_if_current",
    "update_if_current",
]
