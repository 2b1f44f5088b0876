"""``settle()``: after a lost connection or a cancelled await, find out whether the write was applied."""

from __future__ import annotations

from typing import Any, cast

from django.apps import apps
from django.db import connections, router
from django.db.models import QuerySet

from cas_orm import Outcome, UnknownOutcome, Verdict
from cas_orm.settling import by_token, may_send_again, never_sent, travelled, unknown_in
from cas_orm_django import write
from cas_orm_django.columns import AnyModel, columns_of
from cas_orm_django.diagnose import diagnose
from cas_orm_django.script import Script
from cas_orm_django.transactions import in_transaction, own_transaction
from cas_orm_django.twins import hop

__all__ = ["asettle", "settle"]


def settle(error: BaseException, using: str | None = None) -> Outcome:
    """Return how an unknown write ended, once and for all.

    A write that believed a version, handed the row over or closed a job, in autocommit or in the library's
    own transaction, is sent again with the same token on a fresh connection. Everything else (inside the
    caller's transaction, a write that could match twice, an error that was pickled) is settled by a locking
    read of the token.

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
    unknown, script = unknown_in(error)
    if never_sent(unknown):
        return Outcome(Verdict.UNDIAGNOSED)
    if isinstance(script, Script):
        return _settle_sent(unknown, script, using or script.alias)
    columns = columns_of(cast(AnyModel, apps.get_model(unknown.model)))
    alias = using or router.db_for_write(columns.model)
    told = Script(columns, unknown.key, travelled(columns, unknown), "save", {}, alias=alias)
    return _judge(unknown, told, pickled=True)


def _settle_sent(unknown: UnknownOutcome, script: Script, alias: str) -> Outcome:
    """Send the statement again where that is harmless, and judge by the token."""
    connection = connections[alias]
    alone = not in_transaction(connection)
    if alone:
        connection.close()
    script.alias = alias
    if alone and may_send_again(unknown, script):
        script.answered.clear()
        connection.ensure_connection()
        if write.send(connection, script):
            return script.won(provisional=False)
    return _judge(unknown, script, pickled=False)


def _judge(unknown: UnknownOutcome, script: Script, *, pickled: bool) -> Outcome:
    columns, alias = script.columns, script.alias
    names = [None if f is None else f.attname for f in (columns.version, columns.token, columns.generation)]
    with own_transaction(alias):
        rows: QuerySet[Any] = QuerySet(columns.model, using=alias).filter(pk=unknown.key)
        found = rows.select_for_update().values(*filter(None, names)).first()
        row = None if found is None else [name and found[name] for name in names]
        beats = bool(columns.unversioned)
        settled = by_token(unknown, script, row, pickled=pickled, beats=beats)
        if settled is None:
            settled = script.refused(*diagnose(script))
    return settled


asettle = hop(settle)
