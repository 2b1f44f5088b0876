"""The boundary where a driver's error becomes one of ours: picks its code, asks the core's table."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.orm import Session

from cas_orm.engine import Fault, classify, driver_code
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
        _end(session, vendor)
    return script.engine_error(fault, in_transaction=in_transaction)


def _end(session: Session, vendor: str) -> None:
    """Roll back what the server has: a savepoint where it survives, else everything.

    MariaDB has rolled back the whole transaction itself; going on would commit the second half alone.
    """
    nested = session.get_nested_transaction()
    if nested is not None and vendor == "postgresql":
        nested.rollback()
    else:
        session.rollback()
