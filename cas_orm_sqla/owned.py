"""The transaction of one attempt: begun in a session that has none, ended here, judged by what ended it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session, SessionTransaction
from sqlalchemy.orm.exc import StaleDataError

from cas_orm import CannotRetryHere, ConflictError, Verdict
from cas_orm.engine import Fault
from cas_orm.flow import refused_by_engine
from cas_orm.retry import may_be_retried
from cas_orm.watch import LOST_AT_COMMIT, Watch, watched
from cas_orm_sqla.capabilities import commits_itself
from cas_orm_sqla.engine_errors import fault_of
from cas_orm_sqla.stale import StaleFlush


class Attempt:
    """What one attempt has come to.

    Attributes:
        conflict: what has ended it, if it may be made again.
        committed: whether the COMMIT has succeeded; a hook may fail after that.
        watch: what it has sent.
    """

    def __init__(self) -> None:
        self.conflict: ConflictError | None = None
        self.committed = False
        self.watch = Watch(whole=True)
        self._databases: set[str] = set()

    def begun(self, session: Session, transaction: SessionTransaction, connection: Connection) -> None:
        """Take SQLite's write lock, where it can still be waited for, before anything is read (ADR 0019)."""
        if transaction.nested:
            return
        self._databases.add(connection.dialect.name)
        if commits_itself(connection):
            raise cannot("the connection is in AUTOCOMMIT: an attempt could not be undone")
        if connection.dialect.name == "sqlite":
            driver: Any = connection.connection.driver_connection
            if driver.in_transaction:  # the engine has begun deferred; nothing has been done in it yet
                connection.exec_driver_sql("ROLLBACK")
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    def has_committed(self, session: Session) -> None:
        """Note the COMMIT of the transaction itself, not of a savepoint."""
        self.committed = not session.in_nested_transaction()

    def keeps(self, error: Exception) -> bool:
        """Keep the conflict, if the attempt may be made again.

        Raises:
            UnknownOutcome: the connection was lost during COMMIT.
        """
        if self.committed:
            return False
        if isinstance(error, ConflictError):
            self.conflict = error if may_be_retried(error) else None
        elif isinstance(error, StaleDataError):
            self.conflict = stale(error)
        elif isinstance(error, DBAPIError):
            fault = self._fault_of(error)
            if fault is Fault.UNKNOWN and self.watch.ending:
                raise self.watch.unknown(LOST_AT_COMMIT) from error
            self.conflict = refused_by_engine(fault, error)
        return self.conflict is not None

    def _fault_of(self, error: DBAPIError) -> Fault | None:
        """Class an error of any of the session's databases; it does not say of which."""
        faults = {fault_of(name, error) for name in self._databases} - {None}
        return next((f for f in (Fault.DEAD, Fault.OPEN, Fault.UNKNOWN) if f in faults), None)


@contextmanager
def own_session(session: Session) -> Iterator[Attempt]:
    """Begin the session's transaction, and end it with the block: commit, or undo and keep the conflict.

    Raises:
        CannotRetryHere: the connection commits every statement by itself.
        UnknownOutcome: the connection was lost during COMMIT.
    """
    attempt = Attempt()
    event.listen(session, "after_begin", attempt.begun)
    event.listen(session, "after_commit", attempt.has_committed)
    try:
        with watched(attempt.watch), session.begin() as transaction:
            yield attempt
            if attempt.watch.dead is not None:  # swallowed by the caller: nothing can be stored any more
                raise attempt.watch.dead
            if transaction.is_active:
                session.flush()
            attempt.watch.end()
    except (ConflictError, StaleDataError, DBAPIError) as error:
        if not attempt.keeps(error):
            raise
    finally:
        event.remove(session, "after_begin", attempt.begun)
        event.remove(session, "after_commit", attempt.has_committed)


def check_free(session: Session) -> None:
    """Refuse a session whose transaction is somebody else's, before anything is sent.

    Raises:
        CannotRetryHere: it is in a transaction, or bound to a connection that is.
    """
    if session.in_transaction():
        raise cannot("the session that the factory has yielded is in a transaction already")
    by_class: Mapping[Any, object] = getattr(session, "binds", {}) or getattr(session, "_Session__binds", {})
    for bind in (session.bind, *by_class.values()):  # `binds` from SQLAlchemy 2.1 on
        if isinstance(bind, Connection) and bind.in_transaction():
            raise cannot("the session is bound to a connection that is in a transaction already")


def stale(error: StaleDataError) -> StaleFlush:
    """Return a stale flush of a session that does not judge, as the conflict that it is."""
    conflict = StaleFlush(
        f"a flush found a row that was not as the session had seen it [{ConflictError.code}]",
        verdict=Verdict.UNDIAGNOSED,
    )
    conflict.__cause__ = error
    return conflict


def cannot(why: str) -> CannotRetryHere:
    """Return the refusal to retry in a transaction of somebody else."""
    return CannotRetryHere(
        f"a retry has to own its transaction, and here {why}. Retry the outermost unit of work, with a "
        "factory of new sessions. [cas-cannot-retry]"
    )
