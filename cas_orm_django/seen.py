"""What an object last saw of its row, without a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from django.core.exceptions import ImproperlyConfigured
from django.db import connections, models

from cas_orm import MissingExpectation
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
    if obj._state.adding:
        raise MissingExpectation(f"{columns.label}: the object was never read [cas-no-expectation]")
    asked = names or (["record_version"] if columns.generation is None else ["record_version", "run_seq"])
    values: dict[str, object] = {}
    for name in asked:
        role, attname = _address(columns, name)
        if attname not in obj.__dict__ or (role == "record_version" and remembered and remembered.doubt):
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
    them over: its other attributes are still those of the old version.
    """
    columns = columns_of(type(obj))
    numbers = [f for f in (columns.version, columns.generation) if f is not None]
    kept = [f for f in numbers if names is not None and not {f.name, f.attname} & set(names)]
    before = {f.attname: obj.__dict__.get(f.attname, memory.ABSENT) for f in kept}
    whole = memory.Snapshot(obj, columns.identity)
    yield
    for name, value in before.items():
        if value is memory.ABSENT:
            obj.__dict__.pop(name, None)
        else:
            obj.__dict__[name] = value
    if columns.version in kept or columns.version.attname not in obj.__dict__:
        return
    remembered = memory.recall(obj)
    if remembered is not None:
        remembered.reloaded()
    if obj._state.db is not None:  # what was read may be rolled back with the transaction
        memory.mark_won(obj, connections[obj._state.db], whole)


def has_generation(model: type[Any]) -> bool:
    """Tell whether a concrete model has a generation; an abstract one might get one."""
    if model._meta.abstract:
        return True
    try:
        return columns_of(cast(AnyModel, model)).generation is not None
    except ImproperlyConfigured:
        return False
