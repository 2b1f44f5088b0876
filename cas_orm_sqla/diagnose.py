"""After zero rows: one fresh read that says why."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, Select, case, select

from cas_orm import Verdict, judge
from cas_orm_sqla.belief import AttributeBelief
from cas_orm_sqla.capabilities import isolation_of
from cas_orm_sqla.script import Script

_SNAPSHOTS: Final = ("REPEATABLE READ", "SERIALIZABLE")


def diagnose(
    connection: Connection, script: Script, *, fresh: bool = False
) -> tuple[Verdict, dict[str, object] | None]:
    """Read the row again on the connection that wrote, and judge.

    Args:
        connection: the one that wrote; or, when ``fresh``, one that has no snapshot yet and must not wait.
        script: the write that matched no row.
        fresh: see ``connection``.

    Returns:
        The verdict, and what was found by role and column name; None when the row is gone, or when the
        read cannot be trusted to be newer than the belief.
    """
    columns, belief = script.columns, script.belief
    roles = {"record_version": columns.version.column}
    if columns.generation is not None:
        roles["run_seq"] = columns.generation.column
    selected = {**roles, **{name: attribute.column for name, attribute, _ in belief.columns}}
    selected |= {name: columns.own[name].column for name in script.target or ()}
    if belief.budget is not None:
        selected[belief.budget[0]] = belief.budget[1].column
    query: Select[Any] = select(*selected.values()).where(*columns.discriminated)
    if belief.where is not None:
        query = query.add_columns(case((belief.where, 1), else_=0))
    if len(columns.parts) > 1:
        query = query.select_from(columns.mapper.persist_selectable)
    for attribute, part in zip(columns.owner.keys, script.identity, strict=True):
        query = query.where(attribute.column == part)
    if not fresh and needs_locking_read(connection):
        query = query.with_for_update()
    row = connection.execute(query).one_or_none()
    if row is None:
        return Verdict.MISSING, None
    found = dict(zip(selected, row, strict=False))
    if _is_old_snapshot(connection, found, belief):
        return Verdict.UNDIAGNOSED, None
    where_holds = None if belief.where is None else bool(row[-1])
    verdict = judge(
        belief.expect(), found, target=script.target, budget=belief.limit(), where_holds=where_holds
    )
    return verdict, None if verdict is Verdict.UNDIAGNOSED else found


def needs_locking_read(connection: Connection) -> bool:
    """Tell whether a plain read inside this transaction would show the old row for ever.

    MariaDB's REPEATABLE READ, SQLAlchemy's default there, fixes its view at the first read; only a locking
    read sees past it. The refused UPDATE has locked the row already.
    """
    return connection.dialect.name in ("mysql", "mariadb") and isolation_of(connection) in _SNAPSHOTS


def _is_old_snapshot(connection: Connection, found: dict[str, object], belief: AttributeBelief) -> bool:
    """Tell whether a PostgreSQL snapshot is older than what the writer learned elsewhere.

    Versions and generations never fall, so a lower number than the believed one is an old one.
    """
    if connection.dialect.name != "postgresql" or isolation_of(connection) not in _SNAPSHOTS:
        return False
    return any(int(str(found[role])) < number for role, number in belief.numbers().items())
