"""The transaction of one attempt: begun durable, ended here, and judged by what ended it."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Any

from django.db import connections, transaction
from django.db.transaction import TransactionManagementError
from django.db.utils import Error

from cas_orm import CannotRetryHere, ConflictError, TransientConflict
from cas_orm.engine import Fault
from cas_orm.flow import refused_by_engine
from cas_orm.retry import may_be_retried
from cas_orm.watch import LOST_AT_COMMIT, Watch, watched, watching
from cas_orm_django import memory
from cas_orm_django.engine_errors import fault_of
from cas_orm_django.transactions import begins_immediate, in_transaction


class OwnTransaction:
    """A durable ``atomic()`` that keeps a conflict for the retry instead of raising it.

    Attributes:
        conflict: what has ended the attempt, if it may be made again.
        watch: what it has sent.
    """

    def __init__(self, alias: str) -> None:
        self.conflict: ConflictError | None = None
        self._alias = alias
        self._connection = connections[alias]
        self._atomic = transaction.atomic(using=alias, durable=True)
        self._nested = False
        self._fate: memory.Fate | None = None
        self.watch = next((w for w in watching() if w.whole), None) or Watch(whole=True)
        self._watched = ExitStack()

    def begin(self) -> bool:
        """Begin; False when the engine refuses, which `conflict` then tells.

        Raises:
            CannotRetryHere: a transaction of somebody else is open. Django's TestCase is let through.
        """
        self.conflict, self._nested = None, self._connection.in_atomic_block
        if not self._nested and in_transaction(self._connection):
            raise self._cannot("autocommit is off")
        try:
            with begins_immediate(self._connection):
                self._atomic.__enter__()
        except RuntimeError as durable:
            if self._nested:
                raise self._cannot("another atomic() is open") from durable
            raise
        except Error as error:
            self.conflict = refused_by_engine(fault_of(self._connection, error), error)
            if self.conflict is None:
                raise
            return False
        self._note()
        return True

    def __enter__(self) -> OwnTransaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._watched.close()
        connection: Any = self._connection  # `rollback_exc` is not in the stubs
        # Where the caller has swallowed an error that ended the transaction, Django rolls back in silence.
        broken_by = connection.rollback_exc if connection.needs_rollback else None
        if error is None:
            self.watch.ending = True
        try:
            self._atomic.__exit__(kind, error, trace)
        except Error as failed:
            if error is not None or self._committed:
                raise
            if not self._nested and fault_of(self._connection, failed) is Fault.UNKNOWN:
                raise self.watch.unknown(LOST_AT_COMMIT) from failed
            error = failed
            if not self._keeps(error):
                raise
            return True
        return self._keeps(_origin(error or broken_by))

    @property
    def _committed(self) -> bool:
        return self._fate is not None and self._fate.committed

    def _note(self) -> None:
        """Note what is sent from here on, and whether it is committed: a hook may fail after that."""
        if self.watch not in watching():
            self._watched.enter_context(watched(self.watch))
        if not self._nested:
            self._fate = memory.fate_of(self._connection)
            connection: Any = self._connection
            connection.rollback_exc = None  # Django keeps the one of an earlier transaction

    def _keeps(self, error: BaseException | None) -> bool:
        """Keep the conflict, if the attempt may be made again."""
        conflict = error if isinstance(error, ConflictError) and may_be_retried(error) else None
        if isinstance(error, Error):
            conflict = refused_by_engine(fault_of(self._connection, error), error)
        dead = isinstance(conflict, TransientConflict) and conflict.transaction != "open"
        if not (self._nested and dead):  # there is no transaction left for another attempt to nest in
            self.conflict = conflict
        return self.conflict is not None

    def _cannot(self, why: str) -> CannotRetryHere:
        return CannotRetryHere(
            f"a retry has to own its transaction on {self._alias!r}, and here {why}. Retry the outermost "
            "unit of work instead. [cas-cannot-retry]"
        )


def _origin(error: BaseException | None) -> BaseException | None:
    """Return what a transaction was broken by, where Django only says that it is."""
    while isinstance(error, TransactionManagementError) and error.__cause__ is not None:
        error = error.__cause__
    return error
