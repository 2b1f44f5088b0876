"""Look at and empty the tables of the shop behind the library's back."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db import connections, models, transaction


def empty(alias: str) -> None:
    """Delete the rows of every model of the shop, children first: far quicker than a flush."""
    models_ = apps.get_app_config("shop").get_models(include_auto_created=True)
    own = [m for m in models_ if m._meta.managed and not m._meta.proxy]
    own.sort(key=lambda m: bool(m._meta.auto_created))
    log = apps.get_model("admin", "LogEntry")
    connection = connections[alias]
    quote = connection.ops.quote_name
    with transaction.atomic(using=alias), connection.cursor() as cursor:
        for model in [log, *reversed(own)]:
            cursor.execute(f"DELETE FROM {quote(model._meta.db_table)}")


def key_sql(model: type[models.Model], key: Any, alias: str) -> tuple[str, list[Any]]:
    """Return the WHERE of a primary key and its parameters."""
    connection = connections[alias]
    fields = model._meta.pk_fields
    values = key if len(fields) > 1 else (key,)
    params = [f.get_db_prep_value(v, connection) for f, v in zip(fields, values, strict=True)]
    return " AND ".join(f"{connection.ops.quote_name(f.column)} = %s" for f in fields), params


def rival(model: type[models.Model], key: Any, alias: str, **columns: Any) -> int:
    """Write columns of one table as a stranger would, in plain SQL; return the row count."""
    connection = connections[alias]
    quote = connection.ops.quote_name
    fields = [model._meta.get_field(name) for name in columns]
    sets = ", ".join(f"{quote(f.column)} = %s" for f in fields)
    values = [f.get_db_prep_save(v, connection) for f, v in zip(fields, columns.values(), strict=True)]
    where, params = key_sql(model, key, alias)
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {quote(model._meta.db_table)} SET {sets} WHERE {where}", [*values, *params])
        return cursor.rowcount


def remove(model: type[models.Model], key: Any, alias: str) -> None:
    """Delete one row of one table in plain SQL."""
    where, params = key_sql(model, key, alias)
    connection = connections[alias]
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {connection.ops.quote_name(model._meta.db_table)} WHERE {where}", params)


def row(model: type[models.Model], key: Any, alias: str) -> dict[str, Any] | None:
    """Return one row as the database has it now, by column attribute name; None when it is gone."""
    query = models.QuerySet(model, using=alias).filter(pk=key)
    found = query.values(*(f.attname for f in model._meta.concrete_fields)).first()
    return dict(found) if found is not None else None
