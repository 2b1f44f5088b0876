"""Fixtures bypass the guard, as Django means them to; but they may not lower a row's numbers."""

from __future__ import annotations

from typing import Any

from django.db import connections, models
from django.db.models import QuerySet

from cas_orm_django import memory
from cas_orm_django.columns import columns_of


def never_lower(sender: type[models.Model], instance: models.Model, raw: bool, using: str, **_: Any) -> None:
    """Raise the numbers of a restored row to at least the existing row's + 1; a fresh row keeps its own.

    Connected to ``pre_save`` of every CAS model. A lowered version would let an old writer win, a lowered
    generation an old worker. Inside a transaction, where ``loaddata`` runs, the row is locked meanwhile.
    """
    if not raw:
        return
    memory.fate_of(connections[using])
    columns = columns_of(sender)
    concrete = columns.model._meta.concrete_model
    if columns.owner.model is not concrete or instance.pk is None:
        return  # a parent's fixture carries the version
    fields = [f for f in (columns.version, columns.generation) if f is not None]
    rows: QuerySet[Any] = QuerySet(concrete, using=using).filter(pk=instance.pk)
    if connections[using].in_atomic_block:
        rows = rows.select_for_update()
    row = rows.values_list(*(f.attname for f in fields)).first()
    for field, number in zip(fields, row or (), strict=False):
        given = getattr(instance, field.attname)
        if type(given) is not int or given <= number:
            setattr(instance, field.attname, number + 1)
