"""After zero rows: one fresh read that says why."""

from __future__ import annotations

from typing import Any, Final

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, Case, QuerySet, Value, When

from cas_orm import Verdict, judge
from cas_orm_django.belief import FieldBelief
from cas_orm_django.script import Script
from cas_orm_django.statement import ALWAYS, NEVER, compiled_where
from cas_orm_django.transactions import in_transaction

_WHERE_HOLDS: Final = "cas_where_holds"


def diagnose(script: Script) -> tuple[Verdict, dict[str, object] | None]:
    """Read the row again, from the database that was written to, and judge.

    Returns:
        The verdict, and what was found by role and column name; None when the row is gone, or when the
        read cannot be trusted to be newer than the belief.
    """
    connection, belief = connections[script.alias], script.belief
    found, where_holds = _read(script, connection)
    if found is not None and _is_old_snapshot(connection, found, belief):
        return Verdict.UNDIAGNOSED, None
    verdict = judge(
        belief.expect(), found, target=script.target, budget=belief.limit(), where_holds=where_holds
    )
    return verdict, None if verdict is Verdict.UNDIAGNOSED else found


def _read(script: Script, connection: BaseDatabaseWrapper) -> tuple[dict[str, object] | None, bool | None]:
    columns, belief = script.columns, script.belief
    names = {"record_version": columns.version.attname}
    if columns.generation is not None:
        names["run_seq"] = columns.generation.attname
    names |= {name: name for name, _, _ in belief.columns}
    names |= {name: name for name in script.target or ()}
    if belief.budget is not None:
        names[belief.budget[0]] = belief.budget[0]
    rows: QuerySet[Any] = QuerySet(columns.model, using=connection.alias).filter(pk=script.key)
    constant = {NEVER: False, ALWAYS: True}.get(
        compiled_where(connection.alias, columns.owner.model, belief.where)[0]
    )
    asks = belief.where is not None and constant is None
    if asks:
        held = When(belief.where, then=Value(True))
        rows = rows.annotate(**{_WHERE_HOLDS: Case(held, default=Value(False), output_field=BooleanField())})
    if needs_locking_read(connection):
        rows = rows.select_for_update()
    extra = (_WHERE_HOLDS,) if asks else ()
    row = next(iter(rows.values_list(*names.values(), *extra)), None)
    if row is None:
        return None, None
    return dict(zip(names, row, strict=False)), bool(row[-1]) if asks else constant


def needs_locking_read(connection: BaseDatabaseWrapper) -> bool:
    """Tell whether a plain read inside this transaction would show the old row for ever.

    MariaDB's REPEATABLE READ fixes its view at the first read; only a locking read sees past it. The
    refused UPDATE has locked the row already, so the read does not lock more.
    """
    if connection.vendor != "mysql" or not in_transaction(connection):
        return False
    return getattr(connection, "isolation_level", None) != "read committed"


def _is_old_snapshot(connection: BaseDatabaseWrapper, found: dict[str, object], belief: FieldBelief) -> bool:
    """Tell whether a PostgreSQL snapshot is older than what the writer learned elsewhere.

    Versions and generations never fall. A snapshot that shows a lower number than the believed one
    refuses although the row may be exactly as believed.
    """
    if connection.vendor != "postgresql" or not in_transaction(connection):
        return False
    if all(int(str(found[role])) >= number for role, number in belief.numbers().items()):
        return False
    with connection.cursor() as cursor:
        cursor.execute("SHOW transaction_isolation")
        (isolation,) = cursor.fetchone()
    return isolation in ("repeatable read", "serializable")
