"""After a lost connection or a cancelled await: find out whether the write was applied.

A plain read never tells, because the statement may still be waiting in the server. Sending the very same
statement again does, where it believes a version: if it matches, the write is applied now, and the first one
can only lose; if it does not, the row's write token says whose write was last. A statement that believes no
version would match twice, so there only the token decides (ADR 0016).
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from django.apps import apps
from django.db import connections, router
from django.db.models import QuerySet

from cas_orm import UNSET, Expect, Outcome, UnknownOutcome, Verdict
from cas_orm.facts import Facts
from cas_orm.values import Number
from cas_orm_django import write
from cas_orm_django.columns import AnyModel, Columns, columns_of
from cas_orm_django.diagnose import diagnose
from cas_orm_django.script import Script
from cas_orm_django.transactions import in_transaction, own_transaction
from cas_orm_django.twins import described, hop
from cas_orm_django.watch import Watch

__all__ = ["asettle", "settle"]


def settle(error: BaseException, using: str | None = None) -> Outcome:
    """Return how an unknown write ended, once and for all.

    A write that believed a version, in autocommit or in the library's own transaction, is sent again with
    the same token on a fresh connection. Everything else (inside the caller's transaction, without a
    version, an error that was pickled) is settled by a locking read of the token.

    Args:
        error: the `UnknownOutcome`, or the CancelledError that carries one as ``cas_unknown``.
        using: the database; by default the one that was written to.

    Returns:
        WON when the write is applied; otherwise the verdict of a write that never will be.

    Raises:
        UnknownOutcome: the model has no write token, the row has moved too far to tell, or a deleted row
            may have been deleted by anybody.
        TransientConflict: the engine refused while settling; try again.
    """
    unknown = getattr(error, "cas_unknown", error)
    if not isinstance(unknown, UnknownOutcome):
        raise TypeError(f"settle() takes an UnknownOutcome, not {type(error).__name__}")
    inflight = unknown.inflight
    if isinstance(inflight, Watch):
        if inflight.script is None:  # cancelled before anything was sent, and nothing will be
            return Outcome(Verdict.UNDIAGNOSED)
        unknown, inflight = described(inflight), inflight.script
    if unknown.token is None:
        raise unknown
    if isinstance(inflight, Script):
        return _settle_sent(unknown, inflight, using or inflight.alias)
    columns = columns_of(cast(AnyModel, apps.get_model(unknown.model)))
    return _judge(columns, using or router.db_for_write(columns.model), unknown, None)


def _settle_sent(unknown: UnknownOutcome, script: Script, alias: str) -> Outcome:
    """Send the statement again where that is harmless, and judge by the token."""
    connection = connections[alias]
    alone = not unknown.in_transaction and not in_transaction(connection)
    if not in_transaction(connection):
        connection.close()
    if alone and script.belief.version is not None:
        script.alias = alias
        script.answered.clear()
        connection.ensure_connection()
        if write.send(connection, script):
            return write.won(script, provisional=False)
    return _judge(script.columns, alias, unknown, script)


def _judge(columns: Columns, alias: str, unknown: UnknownOutcome, script: Script | None) -> Outcome:
    """Decide by the token in the row, read under a lock, behind whatever is still waiting."""
    assert columns.token is not None
    names = [f.attname for f in (columns.version, columns.token, columns.generation) if f is not None]
    belief = script.belief if script is not None else columns.belief(_expect(unknown), None)
    settled = partial(
        Outcome,
        model=columns.label,
        key=unknown.key,
        expected=Facts(belief.facts()),
        verb="save" if script is None else script.verb,
    )
    with own_transaction(alias):
        rows: QuerySet[Any] = QuerySet(columns.model, using=alias).filter(pk=unknown.key)
        row = rows.select_for_update().values_list(*names).first()
        if row is None:
            raise unknown  # applied and deleted since, or deleted before: the row cannot tell
        version, token = row[0], row[1]
        if token is not None and bytes(token) == unknown.token:
            generation = row[2] if len(row) > 2 else None
            return settled(Verdict.WON, record_version=version, run_seq=generation)
        if belief.version is None or version > belief.version + 1:
            raise unknown  # too far: ours may have been one of the writes in between
        if script is None and version == belief.version and not unknown.in_transaction:
            raise unknown  # the statement may still be waiting in the server
        verdict, found = diagnose(columns, alias, unknown.key, belief)
    return settled(verdict, actual=None if found is None else Facts(found))


def _expect(unknown: UnknownOutcome) -> Expect:
    """Return the belief that travelled with a pickled error."""
    columns = dict(unknown.expected or {})
    version, generation = (columns.pop(role, UNSET) for role in ("record_version", "run_seq"))
    return Expect.read(cast(Number, version), cast(Number, generation), columns)


asettle = hop(settle)
