"""An object and its row: where it lives, what it believes, and how it falls in step after a win."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper

from cas_orm import UNSET, Expect, InvalidExpectation, MissingExpectation, Outcome
from cas_orm.belief import Belief, exact, names_version
from cas_orm.lifecycle import FINISHED
from cas_orm.memory import advanced
from cas_orm_django import memory
from cas_orm_django.belief import FieldBelief, Where
from cas_orm_django.columns import Columns
from cas_orm_django.memory import ABSENT
from cas_orm_django.script import Script
from cas_orm_django.transactions import in_transaction


def believed(
    obj: models.Model, columns: Columns, expect: Expect | None, where: Where | None, *, version: bool = True
) -> FieldBelief:
    """Return what an object's verb believes: the numbers it last saw, and what the caller adds.

    Raises:
        MissingExpectation: the version, or an explicit None, was never seen.
        ErrRecordVersionConflict: the object lost track of its row's version.
    """
    explicit = names_version(expect)
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
    named = expect is not None and expect.run_seq is not UNSET
    if columns.generation is not None and maximum is not None and not named and not obj._state.adding:
        value = obj.__dict__.get(columns.generation.attname, ABSENT)
        if value is not ABSENT:
            seen.generation = exact("run_seq", value, maximum)
    return columns.belief(expect, where, seen)


def keys_of(obj: models.Model, columns: Columns) -> Mapping[str, Any]:
    """Return the key values of every table; a child's parent may have a deferred one, known by its link."""
    if len(columns.tables) == 1:
        return obj.__dict__
    return {key.attname: getattr(obj, key.attname) for table in columns.tables for key in table.keys}


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


def take_over(
    obj: models.Model,
    connection: BaseDatabaseWrapper,
    script: Script,
    outcome: Outcome,
    assign: Mapping[str, object] | None = None,
) -> None:
    """Bring the object in step with the row that it has just won; ``assign`` are a verb's given values."""
    columns, attributes = script.columns, obj.__dict__
    before = None
    if in_transaction(connection):
        given = () if assign is None else script.values  # the verb's values, which a rollback takes back
        before = memory.Snapshot(obj, tuple(dict.fromkeys((*columns.identity, *given))))
    for name, value in (assign or {}).items():
        setattr(obj, name, value)
    for step in script.steps:
        for field in step.unseen:
            if field.attname in script.answered:
                attributes[field.attname] = script.answered[field.attname]
            else:
                attributes.pop(field.attname, None)
    if columns.token is not None and script.token is not None:
        attributes[columns.token.attname] = script.token
    if script.hands_over and columns.generation is not None:
        attributes[columns.generation.attname] = outcome.run_seq
    elif obj._state.adding and columns.generation is not None:  # it had a default, not the row's
        attributes.pop(columns.generation.attname, None)
        if outcome.run_seq is not None:
            attributes[columns.generation.attname] = outcome.run_seq
    _take_version(obj, script, outcome)
    obj._state.db = script.alias
    obj._state.adding = False
    if before is not None:
        memory.mark_won(obj, connection, before)


def take_found(obj: models.Model, script: Script, outcome: Outcome) -> None:
    """Take over what was applied before: the values that the verb was to reach, and the version.

    What else that write has changed was not read: it is deferred, or a later save would write over it.
    """
    columns, found = script.columns, outcome.actual or {}
    before = memory.Snapshot(obj, columns.identity)
    for name in script.target or ():
        setattr(obj, name, found[name])
    seen, version = obj.__dict__.get(columns.version.attname, ABSENT), outcome.record_version
    if version != seen:
        for name in FINISHED - set(script.target or ()):
            obj.__dict__.pop(name, None)
    obj.__dict__[columns.version.attname] = version
    if isinstance(seen, int) and version not in (seen, seen + script.bumps):
        memory.remember(obj).lose_track(outcome, seen)
    if outcome.provisional:
        memory.mark_won(obj, connections[script.alias], before)


def _take_version(obj: models.Model, script: Script, outcome: Outcome) -> None:
    """Advance the version only as far as the object can vouch for its other attributes."""
    name = script.columns.version.attname
    seen = obj.__dict__.get(name, ABSENT)
    shown, in_step = advanced(script, outcome, seen, covers=script.whole)
    if shown is not None:
        obj.__dict__[name] = shown
    if not in_step:
        memory.remember(obj).lose_track(outcome, seen if isinstance(seen, int) else None)
