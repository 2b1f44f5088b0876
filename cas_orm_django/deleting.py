"""``delete()`` guarded, and the verb that stands beside it.

One DELETE where the ORM has nothing to cascade to and nobody to tell; otherwise the guarded UPDATE first and
Django's own delete after it, in one transaction.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeAlias

from django.db import connections, models
from django.db.models.deletion import Collector

from cas_orm import Expect, Outcome
from cas_orm_django import memory, write
from cas_orm_django.belief import FieldBelief, Where
from cas_orm_django.columns import Columns, columns_of
from cas_orm_django.instance import alias_of, believed, keys_of
from cas_orm_django.parked import Parked, check_fence, need_row, through_own_method, unpark
from cas_orm_django.script import delete_script, update_script

Cascade: TypeAlias = Callable[..., tuple[int, dict[str, int]]]


def try_delete(
    obj: models.Model,
    original: Cascade,
    *,
    expect: Expect | None = None,
    where: Where | None = None,
    on_won: write.OnWon | None = None,
    using: str | None = None,
) -> Outcome:
    """Delete the object if its row is still as believed; see `CasVerbsMixin.try_delete_if_current`."""
    columns = columns_of(type(obj))
    check_fence(obj)
    request = Parked(expect, where, on_won)
    options: dict[str, Any] = {} if using is None else {"using": using}
    if columns.wraps_delete:
        return through_own_method(obj, request, lambda: obj.delete(**options), "delete")
    return _delete(obj, columns, request, using, lambda alias: original(using=alias))[0]


def delete(
    obj: models.Model, original: Cascade, using: str | None, keep_parents: bool
) -> tuple[int, dict[str, int]]:
    """Do what ``Model.delete`` does, guarded. ``original`` is Django's, for its cascade."""
    columns = columns_of(type(obj))
    request = unpark(obj) or Parked()
    outcome, counts = _delete(
        obj, columns, request, using, lambda alias: original(using=alias, keep_parents=keep_parents)
    )
    request.outcome = outcome
    if not outcome:
        request.error = outcome.as_error()
        raise request.error
    return counts


def _delete(
    obj: models.Model,
    columns: Columns,
    request: Parked,
    using: str | None,
    cascade: Callable[[str], tuple[int, dict[str, int]]],
) -> tuple[Outcome, tuple[int, dict[str, int]]]:
    check_fence(obj)
    key = obj.pk
    if key is None or (isinstance(key, tuple) and None in key):
        raise ValueError(f"{columns.label} object cannot be deleted because it has no primary key")
    need_row(obj, vouched=request.names_version())
    alias = alias_of(obj, using)
    connection = connections[alias]
    belief = believed(obj, columns, request.expect, request.where)
    counts = [(1, {columns.label: 1})]
    token = None if columns.token is None else os.urandom(16)
    if columns.deletes_as_django and Collector(using=alias, origin=obj).can_fast_delete(obj):
        script = delete_script(columns, connection, key, keys_of(obj, columns), belief)
        script.token = token  # not written, but it lets settle() send the statement again
    else:
        script = update_script(
            columns, connection, key, keys_of(obj, columns), belief, {}, verb="delete", token=token
        )
        script.after = lambda: counts.append(_cascade(obj, columns, belief, lambda: cascade(alias)))
    before = memory.Snapshot(obj, columns.identity)

    deleted = False

    def forget_key(_: Outcome) -> None:
        nonlocal deleted
        deleted = True
        if script.after is None:  # Django's own delete has done it, unless it is a soft one
            setattr(obj, columns.model._meta.pk.attname, None)
        memory.mark_won(obj, connection, before)

    try:
        outcome = write.run(connection, script, request.on_won, forget_key)
    finally:
        if not deleted:
            before.restore(obj)
    if not outcome:
        memory.remember(obj).fence = outcome
        return outcome, (0, {})
    return outcome, counts[-1]


def _cascade(
    obj: models.Model,
    columns: Columns,
    belief: FieldBelief,
    original: Callable[[], tuple[int, dict[str, int]]],
) -> tuple[int, dict[str, int]]:
    """Let Django delete, the object in step with the row that was bumped: receivers may save it."""
    if belief.version is not None:
        obj.__dict__[columns.version.attname] = belief.version + 1
    return original()
