"""System checks: what would make the guard guard nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.core.checks import CheckMessage, Error, Warning
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, models

from cas_orm_django.columns import AnyField, Columns, columns_of
from cas_orm_django.query import CasQuerySet


def check_model(model: type[models.Model]) -> Iterator[CheckMessage]:
    """Check one CAS model; part of its own ``check()``."""
    if model._meta.abstract or model._meta.swapped:
        return
    try:
        columns = columns_of(model)
    except ImproperlyConfigured as error:
        yield Error(str(error), obj=model, id="cas_orm.E001")
        return
    yield from _check_numbers(model, columns)
    yield from _check_unversioned(model, columns)
    yield from _check_managers(model)
    if hasattr(model, "cas_transitions"):
        yield from _check_job(model, columns)


def _check_numbers(model: type[models.Model], columns: Columns) -> Iterator[CheckMessage]:
    for field in filter(None, (columns.version, columns.generation)):
        if not isinstance(field, models.IntegerField) or field.null:
            yield Error(
                f"{field.name} must be an integer column that is NOT NULL.",
                hint="NULL never equals anything, so no write would ever be accepted.",
                obj=model,
                id="cas_orm.E002",
            )
    if _is_indexed(columns.version):
        yield Warning(
            f"{columns.version.name} is indexed.",
            hint="Every write changes it: an index makes all of them slower, a unique one makes them wait.",
            obj=model,
            id="cas_orm.W001",
        )


def _is_indexed(field: AnyField) -> bool:
    meta = field.model._meta
    named: list[Iterable[str]] = [[name for name, _ in index.fields_orders] for index in meta.indexes]
    named += [c.fields for c in meta.constraints if isinstance(c, models.UniqueConstraint)]
    named += list(meta.unique_together)
    indexed = getattr(field, "db_index", False) or field.unique
    return bool(indexed or any(field.name in names for names in named))


def _check_unversioned(model: type[models.Model], columns: Columns) -> Iterator[CheckMessage]:
    for name in getattr(model, "cas_unversioned_fields", ()):
        if name in columns.roles or name not in columns.by_name:
            yield Error(
                f"cas_unversioned_fields names {name!r}, which is not a plain column.",
                obj=model,
                id="cas_orm.E003",
            )


def _check_managers(model: type[models.Model]) -> Iterator[CheckMessage]:
    for kind, manager in (("base", model._base_manager), ("default", model._default_manager)):
        if not isinstance(manager.get_queryset(), CasQuerySet):
            yield Error(
                f"The {kind} manager of {model._meta.label} does not bump the version.",
                hint=(
                    "Derive managers from CasManager and querysets from CasQuerySet, and keep "
                    "`class Meta(CasMixin.Meta)` or set base_manager_name to such a manager: related "
                    "managers and SET_NULL write through the base manager."
                ),
                obj=model,
                id="cas_orm.E004",
            )


def _check_job(model: type[models.Model], columns: Columns) -> Iterator[CheckMessage]:
    for problem in columns.lifecycle.problems():
        yield Error(
            f"{model._meta.label}: {problem}.",
            hint="Correct the cas_… options of the class: what they say now cannot be carried out.",
            obj=model,
            id="cas_orm.E007",
        )
    if not columns.lifecycle.can_give_up():
        yield Warning(
            "cas_transitions has no edge from the running state to that of cas_gave_up.",
            hint="requeue_stale() will refuse the class: add the edge, or leave cas_max_attempts out.",
            obj=model,
            id="cas_orm.W004",
        )
    if columns.by_name.get("heartbeat_at") not in columns.unversioned:
        yield Warning(
            "cas_unversioned_fields leaves heartbeat_at out.",
            hint=(
                "A full save would write an old heartbeat back, and the job would look stale. "
                'Add "heartbeat_at".'
            ),
            obj=model,
            id="cas_orm.W003",
        )


def check_databases(databases: Iterable[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Check the settings, and what only a connection can tell, of the named databases."""
    messages: list[CheckMessage] = []
    for alias in databases or ():
        messages.extend(_check_mysql(alias) if connections[alias].vendor == "mysql" else ())
    return messages


def check_sqlite(app_configs: Any = None, **_: Any) -> list[CheckMessage]:
    """Ask for transactions that begin IMMEDIATE: deferred ones are refused without waiting."""
    return [
        Warning(
            f"Database {alias!r}: transactions that read first cannot wait for a rival writer.",
            hint="Set OPTIONS['transaction_mode'] to 'IMMEDIATE'.",
            id="cas_orm.W002",
        )
        for alias in connections
        if connections[alias].vendor == "sqlite"
        and connections[alias].settings_dict["OPTIONS"].get("transaction_mode", "").upper() != "IMMEDIATE"
    ]


def _check_mysql(alias: str) -> Iterator[CheckMessage]:
    with connections[alias].cursor() as cursor:
        cursor.execute("SELECT @@sql_mode")
        (mode,) = cursor.fetchone()
    if not {"STRICT_TRANS_TABLES", "STRICT_ALL_TABLES"} & set(mode.split(",")):
        yield Error(
            f"Database {alias!r} runs without a strict sql_mode.",
            hint="At its maximum a version would stop growing, and every later write would be accepted.",
            id="cas_orm.E005",
        )
    names = _cas_tables()
    with connections[alias].cursor() as cursor:
        cursor.execute(
            "SELECT table_name, engine FROM information_schema.tables WHERE table_schema = DATABASE()"
        )
        engines = dict(cursor.fetchall())
    for name in sorted(names & engines.keys()):
        if engines[name] not in ("InnoDB", None):
            yield Error(
                f"Table {name} uses the engine {engines[name]}, where a rollback does not undo a write.",
                hint="Use InnoDB.",
                id="cas_orm.E006",
            )


def _cas_tables() -> set[str]:
    from django.apps import apps

    from cas_orm_django.mixins import CasVerbsMixin

    return {m._meta.db_table for m in apps.get_models() if issubclass(m, CasVerbsMixin)}
