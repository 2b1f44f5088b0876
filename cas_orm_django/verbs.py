"""The verbs that write given values: on an object, and as functions by key.

By-key forms name the row by its model and primary key and believe exactly what they are told. They load
nothing, remember nothing and are not fenced.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from django.core.files import File
from django.db import connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet
from django.db.models.deletion import Collector

from cas_orm import Expect, InvalidExpectation, Outcome
from cas_orm.belief import need_belief, need_generation, need_run_seq
from cas_orm.twins import raising
from cas_orm_django import instance, memory, write
from cas_orm_django.belief import FieldBelief, Where
from cas_orm_django.columns import Columns, columns_of
from cas_orm_django.keys import clean_key, keys_by_key
from cas_orm_django.parked import check_fence, need_row
from cas_orm_django.script import Keys, Script, delete_script, update_script
from cas_orm_django.statement import ALWAYS, compiled_where
from cas_orm_django.twins import hop

__all__ = [
    "adelete_if_current",
    "anew_generation_if_current",
    "atry_delete_if_current",
    "atry_new_generation_if_current",
    "atry_update_if_current",
    "aupdate_if_current",
    "delete_if_current",
    "new_generation_if_current",
    "try_delete_if_current",
    "try_new_generation_if_current",
    "try_update_if_current",
    "update_if_current",
]


def try_update_if_current(
    model: type[models.Model],
    key: object,
    *,
    expect: Expect,
    set: Mapping[str, object],
    where: Where | None = None,
    on_won: write.OnWon | None = None,
    using: str | None = None,
) -> Outcome:
    """Write these values if the row is as believed: one UPDATE, nothing loaded.

    Args:
        model: the row's model.
        key: its primary key; a tuple when composite.
        expect: all that is believed, besides the key.
        set: values or expressions by attribute name; ``auto_now`` columns are written with them.
        where: a further condition over plain columns of the version's table.
        on_won: called with the outcome after the commit, when the write won.
        using: the database; by default the router's choice.

    Returns:
        The outcome; ``record_version`` is the row's new version.

    Raises:
        MissingExpectation: neither ``expect`` nor ``where`` says anything.
        InvalidExpectation: a belief or a column that cannot be compared or written.
        TransientConflict: the engine refused.
        UnknownOutcome: the connection was lost in flight.
    """
    columns = columns_of(model)
    belief = columns.belief(expect, where)
    _need_belief(columns, belief, "update_if_current", using or router.db_for_write(model))
    return _write_by_key(columns, key, belief, set, "update", on_won, using)


def try_new_generation_if_current(
    model: type[models.Model],
    key: object,
    *,
    expect: Expect,
    set: Mapping[str, object] | None = None,
    where: Where | None = None,
    on_won: write.OnWon | None = None,
    using: str | None = None,
) -> Outcome:
    """Hand the row over to a new generation: ``run_seq + 1``, and these values with it.

    Args:
        model: the row's model; it must have a generation.
        key: its primary key.
        expect: what is believed; ``run_seq`` is required.
        set: values or expressions by attribute name.
        where: as for `try_update_if_current`.
        on_won: as for `try_update_if_current`.
        using: as for `try_update_if_current`.

    Returns:
        The outcome; ``run_seq`` is the new generation.

    Raises:
        MissingExpectation: ``expect`` names no ``run_seq``.
        InvalidExpectation: the model has no generation, or a belief or column does not fit.
        TransientConflict: the engine refused.
        UnknownOutcome: the connection was lost in flight.
    """
    columns = columns_of(model)
    need_generation(columns)
    belief = columns.belief(expect, where)
    need_run_seq(columns, belief, "new_generation_if_current")
    return _write_by_key(columns, key, belief, set or {}, "new_generation", on_won, using)


def try_delete_if_current(
    model: type[models.Model],
    key: object,
    *,
    expect: Expect,
    where: Where | None = None,
    on_won: write.OnWon | None = None,
    using: str | None = None,
) -> Outcome:
    """Delete the row if it is as believed.

    One DELETE where the ORM has nothing to cascade to and nobody to signal; otherwise the guarded UPDATE
    first and the ORM's own delete after it, in one transaction.

    Args:
        model: as for `try_update_if_current`.
        key: as for `try_update_if_current`.
        where: as for `try_update_if_current`.
        on_won: as for `try_update_if_current`.
        using: as for `try_update_if_current`.
        expect: what is believed; required.

    Raises:
        MissingExpectation: neither ``expect`` nor ``where`` says anything.
        InvalidExpectation: a belief that cannot be compared.
        TransientConflict: the engine refused.
        UnknownOutcome: the connection was lost in flight.
    """
    columns = columns_of(model)
    belief = columns.belief(expect, where)
    alias = using or router.db_for_write(model)
    _need_belief(columns, belief, "delete_if_current", alias)
    pk = clean_key(columns, key)
    keys = keys_by_key(columns, alias, pk)
    rows: QuerySet[Any] = QuerySet(model, using=alias).filter(pk=pk)
    connection = connections[alias]
    if Collector(using=alias, origin=rows).can_fast_delete(rows):
        script = delete_script(columns, connection, pk, keys, belief)
    else:
        script = update_script(columns, connection, pk, keys, belief, {}, verb="delete")
        script.after = rows.delete
    return write.run(connection, script, on_won)


def update_object(
    obj: models.Model,
    *,
    expect: Expect,
    set: Mapping[str, object],
    where: Where | None,
    on_won: write.OnWon | None,
    using: str | None,
) -> Outcome:
    """Write these values to the object's row; see `CasVerbsMixin.try_update_if_current`."""
    columns = columns_of(type(obj))
    check_fence(obj)
    remembered = memory.recall(obj)
    belief = columns.belief(expect, where)
    if belief.version is not None and remembered is not None:
        remembered.check_version_known()
    _need_belief(columns, belief, "update_if_current", instance.alias_of(obj, using))
    return _write_object(obj, columns, belief, set, "update", on_won, using)


def new_generation_of_object(
    obj: models.Model,
    *,
    expect: Expect | None,
    set: Mapping[str, object] | None,
    where: Where | None,
    on_won: write.OnWon | None,
    using: str | None,
) -> Outcome:
    """Hand the object's row over; see `CasVerbsMixin.try_new_generation_if_current`."""
    columns = columns_of(type(obj))
    need_generation(columns)
    check_fence(obj)
    belief = instance.believed(obj, columns, expect, where)
    need_run_seq(columns, belief, "new_generation_if_current")
    return _write_object(obj, columns, belief, set or {}, "new_generation", on_won, using)


def _need_belief(columns: Columns, belief: FieldBelief, verb: str, alias: str) -> None:
    """Refuse a belief that every row meets, the caller's condition included."""
    owner = columns.owner.model
    need_belief(columns, belief, verb, lambda: compiled_where(alias, owner, belief.where)[0] == ALWAYS)


def _write_by_key(
    columns: Columns,
    key: object,
    belief: FieldBelief,
    assigned: Mapping[str, object],
    verb: str,
    on_won: write.OnWon | None,
    using: str | None,
) -> Outcome:
    alias = using or router.db_for_write(columns.model)
    pk = clean_key(columns, key)
    connection = connections[alias]
    script = _script(columns, connection, pk, keys_by_key(columns, alias, pk), belief, assigned, verb)
    return write.run(connection, script, on_won)


def _write_object(
    obj: models.Model,
    columns: Columns,
    belief: FieldBelief,
    assigned: Mapping[str, object],
    verb: str,
    on_won: write.OnWon | None,
    using: str | None,
) -> Outcome:
    need_row(obj, vouched=belief.version is not None)
    connection = connections[instance.alias_of(obj, using)]
    script = _script(columns, connection, obj.pk, instance.keys_of(obj, columns), belief, assigned, verb)
    outcome = write.run(
        connection,
        script,
        on_won,
        lambda won: instance.take_over(obj, connection, script, won, assign=script.values),
    )
    if not outcome:
        memory.remember(obj).fence = outcome
    return outcome


def _script(
    columns: Columns,
    connection: BaseDatabaseWrapper,
    pk: object,
    keys: Keys,
    belief: FieldBelief,
    assigned: Mapping[str, object],
    verb: str,
) -> Script:
    values, bumps = assignments(columns, assigned)
    hands_over = verb == "new_generation"
    return update_script(
        columns,
        connection,
        pk,
        keys,
        belief,
        values,
        verb=verb,
        bumps=bumps or hands_over,
        hands_over=hands_over,
        token=None if columns.token is None else os.urandom(16),
    )


def assignments(columns: Columns, assigned: Mapping[str, object]) -> tuple[dict[str, object], bool]:
    """Return what to write by attribute name, ``auto_now`` columns included, and whether that bumps.

    Raises:
        InvalidExpectation: a name that is not a writable column.
    """
    values: dict[str, object] = {}
    fields = []
    for name, value in assigned.items():
        field = columns.writable(name)
        fields.append(field)
        if isinstance(value, File) and not getattr(value, "_committed", False):
            raise InvalidExpectation(
                f"{columns.label}.{name}: a file that is not stored yet cannot be set; save the object "
                "[cas-invalid-expectation]"
            )
        if hasattr(value, "prepare_database_save") and field.is_relation:
            value = value.prepare_database_save(field)
        values[field.attname] = value
    bumps = not fields or not columns.unversioned.issuperset(fields)
    for field in columns.by_attname.values():
        written_too = bumps or field in columns.unversioned
        if getattr(field, "auto_now", False) and field.attname not in values and written_too:
            values[field.attname] = field.pre_save(SimpleNamespace(), False)  # type: ignore[arg-type]  # needs only setattr
    return values, bumps


update_if_current = raising(try_update_if_current)
aupdate_if_current = hop(update_if_current)
atry_update_if_current = hop(try_update_if_current)

new_generation_if_current = raising(try_new_generation_if_current)
anew_generation_if_current = hop(new_generation_if_current)
atry_new_generation_if_current = hop(try_new_generation_if_current)

delete_if_current = raising(try_delete_if_current)
adelete_if_current = hop(delete_if_current)
atry_delete_if_current = hop(try_delete_if_current)
