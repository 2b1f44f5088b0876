"""The boundary where a driver's error becomes one of ours: picks its code, asks the core's table."""

from __future__ import annotations

from django.db import InterfaceError, OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import Error

from cas_orm.engine import Fault, advice, classify, driver_code
from cas_orm_django.script import Script


def code_of(vendor: str, error: Error) -> str | int | None:
    """Return the driver's own code: SQLSTATE on PostgreSQL, a number elsewhere, None when it has none."""
    return driver_code(vendor, error.__cause__)


def fault_of(connection: BaseDatabaseWrapper, error: Error) -> Fault | None:
    """Class the error; None means that it is about the statement, not about other writers."""
    code = code_of(connection.vendor, error)
    if code is None and not isinstance(error, OperationalError | InterfaceError):
        return None
    return classify(connection.vendor, code)


def translated(
    connection: BaseDatabaseWrapper, error: Error, script: Script, *, in_transaction: bool
) -> Exception:
    """Return what to raise from a driver's error, and mark the framework's transaction where it is dead.

    As in Django's own save(), an error that is not about other writers passes unchanged and leaves an
    open ``atomic()`` block fit only for rollback. Django's own refusals have no driver's error behind them.
    """
    if error.__cause__ is None:
        return error
    fault = fault_of(connection, error)
    if fault is not Fault.OPEN and connection.in_atomic_block:
        connection.needs_rollback = True
        connection.rollback_exc = error  # type: ignore[attr-defined]  # not in the stubs
    if fault is None:
        return error
    if fault is Fault.UNKNOWN and not in_transaction:
        connection.close_if_unusable_or_obsolete()
    helps = advice(connection.vendor, code_of(connection.vendor, error))
    return script.engine_error(fault, in_transaction=in_transaction, advice=helps)
