"""Plain ``save()`` and ``delete()`` guarded, and the verbs that stand beside them.

    save_if_current ─┬─▶ the class wraps save(): park the request ─▶ obj.save() ─▶ save_base ─▶ save
                     └─▶ otherwise ──────────────────────────────────────────────────────────▶ save
    save ─┬─▶ being added ─▶ Django's own INSERT, forced for every table
          └─▶ otherwise ───▶ one conditional UPDATE (write.run)

A save never falls back to INSERT, and nothing on the object changes before the row count is known.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from django.db import connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.deletion import Collector
from django.db.models.signals import post_save, pre_save

from cas_orm import UNSET, ConflictError, Expect, InvalidExpectation, MissingExpectation, Outcome, Verdict
from cas_orm.belief import Belief, exact, resolve
from cas_orm_django import memory, write
from cas_orm_django.belief import FieldBelief, Where
from cas_orm_django.columns import AnyField, Columns, Table, columns_of, generated
from cas_orm_django.presave import Taken
from cas_orm_django.script import Script, delete_script, update_script
from cas_orm_django.transactions import in_transaction

ABSENT: Final = memory.ABSENT
Cascade: TypeAlias = Callable[..., tuple[int, dict[str, int]]]


@dataclass(slots=True)
class Parked:
    """What the caller of a verb asked for, on its way to the write through the user's own methods."""

    expect: Expect | None = None
    where: Where | None = None
    on_won: write.OnWon | None = None
    update_fields: frozenset[str] | None = None
    outcome: Outcome | None = None
    error: ConflictError | None = None

    def names_version(self) -> bool:
        """Tell whether the caller vouches for a version."""
        return self.expect is not None and self.expect.record_version is not UNSET


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
    memory.settle_marks(obj)
    names = None if update_fields is None else frozenset(update_fields)
    request = Parked(expect, where, on_won, names)
    indirect = columns.wraps_save or obj._state.fields_cache or (_is_new(obj) and not request.names_version())
    if not indirect or (names is not None and not names):
        return _update(obj, columns, request, names, using)
    options: dict[str, Any] = {} if using is None else {"using": using}
    if names is not None:
        options["update_fields"] = names
    return _through_own_method(obj, request, lambda: obj.save(**options), "save")


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
    request = _unpark(obj)
    if force_insert or (_is_new(obj) and not request.names_version()):
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


def _through_own_method(
    obj: models.Model, request: Parked, method: Callable[[], object], verb: str
) -> Outcome:
    """Run the user's own method with the request parked, and bring its outcome back."""
    memory.remember(obj).parked = request
    try:
        method()
    except ConflictError as error:
        if error is not request.error or request.outcome is None:
            raise
    finally:
        memory.remember(obj).parked = None
    if request.outcome is not None:
        return request.outcome
    label = columns_of(type(obj)).label
    return Outcome(Verdict.UNDIAGNOSED, label, obj.pk, verb=verb)  # the user's method wrote nothing


def _unpark(obj: models.Model) -> Parked:
    """Take the parked request; a plain save() has none. The first write of the object consumes it."""
    remembered = memory.recall(obj)
    if remembered is None or remembered.parked is None:
        return Parked()
    request, remembered.parked = remembered.parked, None
    return request


def _is_new(obj: models.Model) -> bool:
    pk = obj.pk
    return obj._state.adding or pk is None or (isinstance(pk, tuple) and None in pk)


def alias_of(obj: models.Model, using: str | None) -> str:
    """Return the database to write to: the router's choice, which an explicit one must equal."""
    chosen: str = router.db_for_write(type(obj), instance=obj)
    if obj._state.adding:
        return using or chosen
    if using is not None and using != chosen:
        raise InvalidExpectation(
            f"{obj._meta.label} belongs to {chosen!r}; its version says nothing about {using!r} "
            "[cas-invalid-expectation]"
        )
    return chosen


# -- INSERT ------------------------------------------------------------------------------------------------


def _insert(
    obj: models.Model, columns: Columns, original: Callable[..., None], request: Parked, using: str | None
) -> Outcome:
    alias = using or router.db_for_write(type(obj), instance=obj)
    before = memory.Snapshot(obj, identity(columns))
    start_afresh(obj, columns)
    inserted = False
    try:
        original(using=alias, force_insert=(models.Model,))
        inserted = True
    finally:
        if not inserted:
            before.restore(obj)
    memory.start_again(obj)
    memory.mark_won(obj, connections[alias], before)
    generation = None if columns.generation is None else obj.__dict__.get(columns.generation.attname)
    provisional = in_transaction(connections[alias])
    outcome = Outcome(Verdict.WON, columns.label, obj.pk, {}, None, 1, generation, provisional, verb="save")
    write.call_on_won(outcome, request.on_won, alias)
    return outcome


def start_afresh(obj: models.Model, columns: Columns) -> None:
    """Give a row that is about to be inserted version 1; a clone of a saved object starts over whole."""
    obj.__dict__[columns.version.attname] = 1
    if columns.generation is not None and obj._state.db is not None:
        obj.__dict__[columns.generation.attname] = columns.generation.get_default()
    if columns.token is not None:
        obj.__dict__[columns.token.attname] = os.urandom(16)


def identity(columns: Columns) -> tuple[str, ...]:
    """Return the attributes that say which row, and which state of it, an object stands for."""
    roles = (columns.version, columns.generation, columns.token)
    keys = [key.attname for table in columns.tables for key in table.keys]
    return tuple(dict.fromkeys([*keys, *(f.attname for f in roles if f is not None)]))


# -- UPDATE ------------------------------------------------------------------------------------------------


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
    if _is_new(obj) and not request.names_version():
        raise MissingExpectation(
            f"{columns.label}: an object that is being added has no version to compare [cas-no-expectation]"
        )
    alias = alias_of(obj, using)
    connection = connections[alias]
    fields, bumps = _fields(obj, columns, update_fields)
    belief = believed(obj, columns, request.expect, request.where, version=bumps)
    sent_fields = None if update_fields is None else update_fields | {columns.version.name}
    signal: dict[str, Any] = {
        "sender": type(obj),
        "instance": obj,
        "raw": False,
        "using": alias,
        "update_fields": sent_fields,
    }
    pre_save.send(**signal)
    taken = Taken(obj, fields, columns.active)
    token = None if columns.token is None else os.urandom(16)
    outcome = None
    try:
        script = update_script(
            columns,
            connection,
            obj.pk,
            keys_of(obj),
            belief,
            taken.values,
            verb="save",
            bumps=bumps,
            token=token,
        )
        outcome = write.run(
            connection, script, request.on_won, lambda won: take_over(obj, connection, script, won)
        )
    finally:
        if not outcome:
            taken.put_back()
    if not outcome:
        memory.remember(obj).fence = outcome
        return outcome
    post_save.send(created=False, **signal)
    return outcome


def _fields(
    obj: models.Model, columns: Columns, update_fields: frozenset[str] | None
) -> tuple[tuple[AnyField, ...], bool]:
    """Return what to write, and whether that bumps the version."""
    loaded = obj.__dict__.keys() >= columns.attnames
    if update_fields is None or (not loaded and update_fields == _all_loaded(obj)):
        if loaded:
            return columns.saved, True
        return tuple(f for f in columns.saved if f.attname in obj.__dict__), True
    named = sorted(update_fields - columns.generated)
    fields = dict.fromkeys(columns.writable(name) for name in named)
    return tuple(fields), not fields or not columns.unversioned.issuperset(fields)


def _all_loaded(obj: models.Model) -> set[str]:
    """Return what Django itself puts in ``update_fields`` when an object with deferred fields is saved."""
    keys = obj._meta.pk_fields
    fields = (f for f in obj._meta.concrete_fields if f not in keys)
    return {f.attname for f in fields if f.attname in obj.__dict__ or generated(f)}


def believed(
    obj: models.Model, columns: Columns, expect: Expect | None, where: Where | None, *, version: bool = True
) -> FieldBelief:
    """Return what an object's verb believes: the numbers it last saw, and what the caller adds.

    Raises:
        MissingExpectation: the version, or an explicit None, was never seen.
        ErrRecordVersionConflict: the object lost track of its row's version.
    """
    explicit = expect is not None and expect.record_version is not UNSET
    remembered = memory.recall(obj)
    if remembered is not None and (version or explicit):
        remembered.check_version_known()
    seen: FieldBelief = Belief()
    if version and not explicit:
        value = obj.__dict__.get(columns.version.attname, ABSENT)
        if value is ABSENT:
            raise MissingExpectation(
                f"{columns.label} {obj.pk}: the version was not loaded, so there is nothing to compare; "
                "reload the object [cas-no-expectation]"
            )
        seen.version = exact("record_version", value, columns.version_maximum)
    maximum = columns.generation_maximum
    if columns.generation is not None and maximum is not None and (expect is None or expect.run_seq is UNSET):
        value = obj.__dict__.get(columns.generation.attname, ABSENT)
        if value is not ABSENT:
            seen.generation = exact("run_seq", value, maximum)
    return resolve(columns, expect, where, seen)


def keys_of(obj: models.Model) -> Callable[[Table], list[Any]]:
    """Return how to find each table's key on the object."""
    return lambda table: [getattr(obj, key.attname) for key in table.keys]


def take_over(
    obj: models.Model,
    connection: BaseDatabaseWrapper,
    script: Script,
    outcome: Outcome,
    assign: Mapping[str, object] | None = None,
) -> None:
    """Bring the object in step with the row that it has just won; ``assign`` are a verb's given values."""
    columns, attributes = script.columns, obj.__dict__
    before = memory.Snapshot(obj, identity(columns)) if connection.in_atomic_block else None
    for name, value in (assign or {}).items():
        setattr(obj, name, value)
    for step in script.steps:
        for field in step.unseen:
            if field in script.answered:
                attributes[field.attname] = script.answered[field]
            else:
                attributes.pop(field.attname, None)
    if columns.token is not None and script.token is not None:
        attributes[columns.token.attname] = script.token
    if script.hands_over and columns.generation is not None:
        attributes[columns.generation.attname] = outcome.run_seq
    _take_version(obj, script, outcome)
    obj._state.db = script.alias
    obj._state.adding = False
    if before is not None:
        memory.mark_won(obj, connection, before)


def _take_version(obj: models.Model, script: Script, outcome: Outcome) -> None:
    """Advance the version only as far as the object can vouch for its other attributes."""
    name = script.columns.version.attname
    seen = obj.__dict__.get(name, ABSENT)
    if script.belief.version is not None:
        obj.__dict__[name] = outcome.record_version
    elif seen is ABSENT:
        return
    elif isinstance(seen, int) and outcome.record_version == seen + script.bumps:
        obj.__dict__[name] = outcome.record_version
    else:
        memory.remember(obj).lose_track(outcome, seen if isinstance(seen, int) else None)


# -- DELETE ------------------------------------------------------------------------------------------------


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
    request = Parked(expect, where, on_won)
    options: dict[str, Any] = {} if using is None else {"using": using}
    if columns.wraps_delete:
        return _through_own_method(obj, request, lambda: obj.delete(**options), "delete")
    return _delete(obj, columns, request, using, lambda alias: original(using=alias))[0]


def delete(
    obj: models.Model, original: Cascade, using: str | None, keep_parents: bool
) -> tuple[int, dict[str, int]]:
    """Do what ``Model.delete`` does, guarded. ``original`` is Django's, for its cascade."""
    columns = columns_of(type(obj))
    request = _unpark(obj)
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
    remembered = memory.settle_marks(obj)
    if remembered is not None:
        remembered.check_fence()
    key = obj.pk
    if key is None or (isinstance(key, tuple) and None in key):
        raise ValueError(f"{columns.label} object cannot be deleted because it has no primary key")
    if obj._state.adding and not request.names_version():
        raise MissingExpectation(
            f"{columns.label}: an object that was never read has no version to compare [cas-no-expectation]"
        )
    alias = alias_of(obj, using)
    connection = connections[alias]
    belief = believed(obj, columns, request.expect, request.where)
    counts = [(1, {columns.label: 1})]
    token = None if columns.token is None else os.urandom(16)
    if Collector(using=alias, origin=obj).can_fast_delete(obj):
        script = delete_script(columns, connection, key, keys_of(obj), belief)
        script.token = token
    else:
        script = update_script(columns, connection, key, keys_of(obj), belief, {}, verb="delete", token=token)
        script.after = lambda: counts.append(cascade(alias))
    before = memory.Snapshot(obj, identity(columns))

    def forget_key(_: Outcome) -> None:
        setattr(obj, columns.model._meta.pk.attname, None)
        memory.mark_won(obj, connection, before)

    outcome = write.run(connection, script, request.on_won, forget_key)
    if not outcome:
        memory.remember(obj).fence = outcome
        return outcome, (0, {})
    return outcome, counts[-1]
