"""The mixins: which columns a class gets. The verbs that come with them are in `on_object`."""

from __future__ import annotations

from sqlalchemy import BigInteger, LargeBinary
from sqlalchemy.orm import Mapped, MappedAsDataclass, mapped_column

from cas_orm_sqla.columns import MARK, new_token
from cas_orm_sqla.on_object import CasVerbsMixin

__all__ = [
    "CasDataclassMixin",
    "CasMixin",
    "CasVerbsMixin",
    "RecordVersionDataclassMixin",
    "RecordVersionMixin",
    "RunSeqDataclassMixin",
    "RunSeqMixin",
    "WriteTokenDataclassMixin",
    "WriteTokenMixin",
]


class RecordVersionMixin(CasVerbsMixin):
    """Add ``record_version``, 1 at every insert and one more with every successful write."""

    # A flush numbers by itself; the default is for ``insert(Model).values()``, which passes it by.
    record_version: Mapped[int] = mapped_column(
        BigInteger, nullable=False, insert_default=1, info={MARK: "record_version"}
    )


class RunSeqMixin(CasVerbsMixin):
    """Add ``run_seq``, the generation: a fencing token that rises by one at every hand-over."""

    run_seq: Mapped[int] = mapped_column(BigInteger, nullable=False, default=0, info={MARK: "run_seq"})


class CasMixin(RecordVersionMixin, RunSeqMixin):
    """Add ``record_version`` and ``run_seq``."""


class WriteTokenMixin(CasVerbsMixin):
    """Add ``write_token``: 16 random bytes, new with every write, so that a lost answer can be settled."""

    write_token: Mapped[bytes | None] = mapped_column(
        LargeBinary(16), default=new_token, onupdate=new_token, info={MARK: "write_token"}
    )


class RecordVersionDataclassMixin(CasVerbsMixin, MappedAsDataclass):
    """`RecordVersionMixin` for mapped dataclasses."""

    record_version: Mapped[int] = mapped_column(
        BigInteger, nullable=False, init=False, insert_default=1, info={MARK: "record_version"}
    )


class RunSeqDataclassMixin(CasVerbsMixin, MappedAsDataclass):
    """`RunSeqMixin` for mapped dataclasses."""

    run_seq: Mapped[int] = mapped_column(
        BigInteger, nullable=False, init=False, default=0, info={MARK: "run_seq"}
    )


class CasDataclassMixin(RecordVersionDataclassMixin, RunSeqDataclassMixin):
    """`CasMixin` for mapped dataclasses."""


class WriteTokenDataclassMixin(CasVerbsMixin, MappedAsDataclass):
    """`WriteTokenMixin` for mapped dataclasses."""

    write_token: Mapped[bytes | None] = mapped_column(
        LargeBinary(16), init=False, insert_default=new_token, onupdate=new_token, info={MARK: "write_token"}
    )
