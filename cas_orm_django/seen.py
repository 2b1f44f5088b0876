"""What an object last saw of its row, without a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connections, models

from cas_orm import MissingExpectation, Outcome, Verdict
from cas_orm_django import memory
from cas_orm_django.columns import AnyModel, Columns, columns_of


def seen(obj: models.Model, names: Sequence[str]) -> Mapping[str, object]:
    """Return these roles and columns as the object has them; no names mean version and generation.

    Raises:
        MissingExpectation: one is deferred, or the object was never read.
        InvalidExpectation: a name that cannot be believed.
    """
    columns = columns_of(type(obj))
    remembered = memory.settle_marks(obj)
    doubtful = remembered is not None and remembered.doubt is not None
    if obj._state.adding:
        raise MissingExpectation(f"{columns.label}: the object was never read [cas-no-expectation]")
    asked = names or (["record_version"] if columns.generation is None else ["record_version", "run_seq"])
    values: dict[str, object] = {}
    for name in asked:
        role, attname = _address(columns, name)
        if attname not in obj.__dict__ or (role == "record_version" and doubtful):
            raise MissingExpectation(f"{columns.label}.{name} was not loaded [cas-no-expectation]")
        values[role] = obj.__dict__[attname]
    return values


def _address(columns: Columns, name: str) -> tuple[str, str]:
    if name in ("record_version", columns.version.attname):
        return "record_version", columns.version.attname
    if columns.generation is not None and name in ("run_seq", columns.generation.attname):
        return "run_seq", columns.generation.attname
    field = columns.believable(name)
    return field.attname, field.attname


@contextmanager
def reloading(obj: models.Model, names: Sequence[str] | None) -> Iterator[None]:
    """Let a reload renew the belief only when it names the version, or everything.

    A bumping queryset always loads version and generation. On a partial reload the object must not take
    them over: its other attributes are still those of the old version. For the same reason a deferred
    version that is loaded afterwards leaves the object in doubt.
    """
    columns = columns_of(type(obj))
    attributes, version = obj.__dict__, columns.version
    numbers = [f for f in (version, columns.generation) if f is not None]
    kept = [f for f in numbers if names is not None and not {f.name, f.attname} & set(names)]
    before = {f.attname: attributes.get(f.attname, memory.ABSENT) for f in numbers}
    whole = memory.Snapshot(obj, columns.identity)
    if before[version.attname] is not memory.ABSENT:
        attributes[version.attname] = _NOT_RELOADED
    returned = False
    try:
        yield
        returned = attributes.get(version.attname, _NOT_RELOADED) is not _NOT_RELOADED
    finally:
        for f in numbers:
            if f in kept or (f is version and not returned):
                _put_back(attributes, f.attname, before[f.attname])
    if version in kept or not returned:
        return
    if names is not None and before[version.attname] is memory.ABSENT:
        found = Outcome(Verdict.WON, columns.label, obj.pk, record_version=attributes[version.attname])
        memory.remember(obj).lose_track(found, None)
        return
    remembered = memory.recall(obj)
    if remembered is not None:
        remembered.reloaded()
    connection = connections[obj._state.db or DEFAULT_DB_ALIAS]
    if memory.has_written(connection):  # what was read may be rolled back with the transaction
        memory.mark_won(obj, connection, whole)


_NOT_RELOADED: Final = object()


def _put_back(attributes: dict[str, object], name: str, value: object) -> None:
    if value is memory.ABSENT:
        attributes.pop(name, None)
    else:
        attributes[name] = value


def has_generation(model: type[Any]) -> bool:
    """Tell whether a concrete model has a generation; an abstract one might get one."""
    if model._meta.abstract:
        return True
    try:
        return columns_of(cast(AnyModel, model)).generation is not None
    except ImproperlyConfigured:
        return False
