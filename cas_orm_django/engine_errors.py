"""The boundary where a driver's error becomes one of ours: picks its code, asks the core's table."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import InterfaceError, OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import Error

from cas_orm import TransientConflict, UnknownOutcome
from cas_orm.engine import Fault, classify, driver_code


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
    connection: BaseDatabaseWrapper,
    error: Error,
    *,
    model: str,
    key: object,
    expected: Mapping[str, object],
    token: bytes | None,
    in_transaction: bool,
    inflight: object,
) -> Exception:
    """Return what to raise from a driver's error, and mark the framework's transaction where it is dead.

    As in Django's own save(), an error that is not about other writers passes unchanged and leaves an
    open ``atomic()`` block fit only for rollback.
    """
    fault = fault_of(connection, error)
    if fault is not Fault.OPEN and connection.in_atomic_block:
        connection.needs_rollback = True
        connection.rollback_exc = error  # type: ignore[attr-defined]  # not in the stubs
    if fault is None:
        return error
    if fault is Fault.UNKNOWN:
        if not in_transaction:
            connection.close_if_unusable_or_obsolete()
        return UnknownOutcome(
            f"{model} {key}: the connection was lost in flight; pass this error to settle() "
            "[cas-unknown-outcome]",
            model=model,
            key=key,
            expected=expected,
            token=token,
            in_transaction=in_transaction,
            inflight=inflight,
        )
    return TransientConflict(
        f"{model} {key} was not written: the database refused the statement; the transaction is "
        f"{fault.value} [cas-transient]",
        transaction=fault.value,
        model=model,
        key=key,
        expected=expected,
    )
