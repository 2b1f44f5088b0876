"""The boundary where a driver's error becomes one of ours: picks its code, asks the core's table."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.orm import Session

from cas_orm.engine import Fault, advice, classify, driver_code
from cas_orm_sqla.capabilities import commits_itself
from cas_orm_sqla.script import Script


def fault_of(vendor: str, error: DBAPIError) -> Fault | None:
    """Class the error; None means that it is about the statement, not about other writers."""
    if error.connection_invalidated:
        return Fault.UNKNOWN
    code = driver_code(vendor, error.orig)
    if code is None and not isinstance(error, OperationalError | InterfaceError):
        return None
    return classify(vendor, code)


def translated(
    session: Session, vendor: str, error: DBAPIError, script: Script, *, in_transaction: bool
) -> Exception:
    """Return what to raise from a driver's error, and end the session's transaction where it is dead."""
    fault = fault_of(vendor, error)
    if fault is None:
        return error
    if fault is not Fault.OPEN:
        _end(session, refuses=vendor == "postgresql" and not script.in_savepoint)
    helps = advice(vendor, driver_code(vendor, error.orig))
    return script.engine_error(fault, in_transaction=in_transaction, advice=helps)


def _end(session: Session, *, refuses: bool) -> None:
    """See to it that nothing more is written in a transaction that the server has taken back.

    The session stays as it is until its owner rolls back: were it rolled back here, it would begin anew by
    itself, and commit the second half alone. PostgreSQL refuses every statement until then, unless a
    savepoint of the library's own was in between. MariaDB never does. Then the connection is given up: the
    server lets go of the locks, and SQLAlchemy refuses. In AUTOCOMMIT there is nothing to end.

    Args:
        session: whose transaction it is.
        refuses: whether the server itself refuses to go on.
    """
    if refuses or not (session.is_active and session.in_transaction()):
        return
    connection = session.connection()
    if not connection.invalidated and not commits_itself(connection):
        connection.invalidate()
