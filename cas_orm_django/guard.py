"""Plain ``save()`` guarded, and the verb that stands beside it.

    save_if_current ─┬─▶ the class wraps save(): park the request ─▶ obj.save() ─▶ save_base ─▶ save
                     └─▶ otherwise ──────────────────────────────────────────────────────────▶ save
    save ─┬─▶ being added ─▶ Django's own INSERT, forced for every table
          └─▶ otherwise ───▶ one conditional UPDATE (write.run)

A save never falls back to INSERT, and nothing on the object changes before the row count is known.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from django.db import connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.signals import post_save, pre_save

from cas_orm import (
    Expect,
    MissingExpectation,
    Outcome,
    UnknownOutcome,
    Verdict,
)
from cas_orm_django import memory, write
from cas_orm_django.belief import FieldBelief, Where
from cas_orm_django.columns import AnyField, Columns, columns_of, generated
from cas_orm_django.instance import alias_of, believed, keys_of, take_over
from cas_orm_django.parked import Parked, check_fence, is_new, need_row, through_own_method, unpark
from cas_orm_django.presave import Taken
from cas_orm_django.script import update_script
from cas_orm_django.transactions import in_transaction


def try_save(
    obj: models.Model,
    *,
    expect: Expect | None = None,
    update_fields: Iterable[str] | None = None,
    where: Where | None = None,
    on_won: write.OnWon | None = None,
    using: str | None = None,
) -> Outcome:
    """Save the object if its row is still as believed; see `CasVerbsMixin.try_save_if_current`."""
    columns = columns_of(type(obj))
    check_fence(obj)
    names = None if update_fields is None else frozenset(update_fields)
    request = Parked(expect, where, on_won)
    options: dict[str, Any] = {} if using is None else {"using": using}
    if names is not None:
        options["update_fields"] = names
    outer = unpark(obj)
    if outer is not None:  # called from the user's own save(), which is running already
        outer.join(request)
        return through_own_method(obj, outer, lambda: models.Model.save(obj, **options), "save")
    indirect = columns.wraps_save or obj._state.fields_cache or (is_new(obj) and not request.names_version())
    if not indirect or (names is not None and not names):
        return _update(obj, columns, request, names, using)
    return through_own_method(obj, request, lambda: obj.save(**options), "save")


def save_base(
    obj: models.Model,
    original: Callable[..., None],
    *,
    force_insert: object,
    force_update: bool,
    using: str | None,
    update_fields: frozenset[str] | None,
) -> None:
    """Do what ``Model.save_base`` does, guarded. ``original`` is Django's, for an INSERT.

    Raises:
        ConflictError: the row is not as believed.
        MissingExpectation: there is no version to compare.
    """
    columns = columns_of(type(obj))
    memory.settle_marks(obj)
    request = unpark(obj) or Parked()
    if force_insert or (is_new(obj) and not request.names_version()):
        if (
            update_fields is not None
            or force_update
            or request.expect is not None
            or request.where is not None
        ):
            raise MissingExpectation(
                f"{columns.label}: an object that is being added has no version to compare; load it, or "
                "name the version in expect= [cas-no-expectation]"
            )
        request.outcome = _insert(obj, columns, original, request, using)
        return
    outcome = request.outcome = _update(obj, columns, request, update_fields, using)
    if not outcome:
        request.error = outcome.as_error()
        raise request.error


def _insert(
    obj: models.Model, columns: Columns, original: Callable[..., None], request: Parked, using: str | None
) -> Outcome:
    alias = using or router.db_for_write(type(obj), instance=obj)
    before = memory.Snapshot(obj, columns.identity)
    start_afresh(obj, columns)
    remembered = memory.recall(obj)
    marks = len(remembered.marks) if remembered is not None else 0
    obj._state.adding = True
    try:
        original(using=alias, force_insert=(models.Model,))
    finally:
        if obj._state.adding:  # not inserted; a failing post_save comes after the row
            before.restore(obj)
        else:
            memory.start_again(obj)
            memory.mark_won(obj, connections[alias], before, marks)
            write.call_on_won(_inserted(obj, columns, alias), request.on_won, alias)
    return _inserted(obj, columns, alias)


def _inserted(obj: models.Model, columns: Columns, alias: str) -> Outcome:
    generation = None if columns.generation is None else obj.__dict__.get(columns.generation.attname)
    provisional = in_transaction(connections[alias])
    return Outcome(Verdict.WON, columns.label, obj.pk, {}, None, 1, generation, provisional, verb="save")


def start_afresh(obj: models.Model, columns: Columns) -> None:
    """Give a row that is about to be inserted version 1; a clone of a saved object starts over whole."""
    obj.__dict__[columns.version.attname] = 1
    if columns.generation is not None and obj._state.db is not None:
        obj.__dict__[columns.generation.attname] = columns.generation.get_default()
    if columns.token is not None:
        obj.__dict__[columns.token.attname] = os.urandom(16)


def _update(
    obj: models.Model,
    columns: Columns,
    request: Parked,
    update_fields: frozenset[str] | None,
    using: str | None,
) -> Outcome:
    remembered = memory.recall(obj)
    if remembered is not None:
        remembered.check_fence()
    need_row(obj, vouched=request.names_version())
    alias = alias_of(obj, using)
    connection = connections[alias]
    fields, bumps, whole = _fields(obj, columns, update_fields)
    belief = believed(obj, columns, request.expect, request.where, version=bumps)
    sent_fields = None if update_fields is None else update_fields | {columns.version.name}
    signal: dict[str, Any] = {
        "sender": type(obj),
        "instance": obj,
        "raw": False,
        "using": alias,
        "update_fields": sent_fields,
    }
    if columns.listeners:
        pre_save.send(**signal)
    outcome = _write(obj, columns, connection, fields, belief, request, bumps=bumps, whole=whole)
    if not outcome:
        memory.remember(obj).fence = outcome
        return outcome
    try:
        post_save.send(created=False, **signal)
    finally:
        write.call_on_won(outcome, request.on_won, alias)
    return outcome


def _write(
    obj: models.Model,
    columns: Columns,
    connection: BaseDatabaseWrapper,
    fields: tuple[AnyField, ...],
    belief: FieldBelief,
    request: Parked,
    *,
    bumps: bool,
    whole: bool,
) -> Outcome:
    """Take the values, send them, and put back what taking them has done if they did not arrive."""
    taken = Taken(obj)
    token = None if columns.token is None else os.urandom(16)
    keep = False

    def in_step(outcome: Outcome) -> None:
        nonlocal keep
        keep = True
        take_over(obj, connection, script, outcome)

    try:
        taken.take(fields, columns.active)
        script = update_script(
            columns,
            connection,
            obj.pk,
            keys_of(obj, columns),
            belief,
            taken.values,
            verb="save",
            bumps=bumps,
            token=token,
            whole=whole,
        )
        return write.attempt(connection, script, request.on_won, in_step)
    except UnknownOutcome:
        keep = True  # the row may name the file that was just stored
        raise
    finally:
        if not keep:
            taken.put_back()


def _fields(
    obj: models.Model, columns: Columns, update_fields: frozenset[str] | None
) -> tuple[tuple[AnyField, ...], bool, bool]:
    """Return what to write, whether that bumps the version, and whether it is all that is loaded."""
    loaded = obj.__dict__.keys() >= columns.attnames
    if update_fields is None or (not loaded and update_fields == _all_loaded(obj)):
        if loaded:
            return columns.saved, True, True
        return tuple(f for f in columns.saved if f.attname in obj.__dict__), True, True
    named = sorted(update_fields - columns.generated)
    fields = dict.fromkeys(columns.writable(name) for name in named)
    return tuple(fields), not fields or not columns.unversioned.issuperset(fields), False


def _all_loaded(obj: models.Model) -> set[str]:
    """Return what Django itself puts in ``update_fields`` when an object with deferred fields is saved."""
    keys = obj._meta.pk_fields
    fields = (f for f in obj._meta.concrete_fields if f not in keys)
    return {f.attname for f in fields if f.attname in obj.__dict__ or generated(f)}
