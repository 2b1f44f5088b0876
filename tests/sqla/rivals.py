"""What a stranger does to a row."""

from __future__ import annotations

from typing import Any

from sqlalchemy import update

from tests.sqla.databases import Engines


def bump(db: Engines, model: type[Any], key: object, **values: Any) -> None:
    """Write as a stranger does, from another connection, past every session."""
    table = model.__table__
    (column,) = table.primary_key
    version = next(c for c in table.columns if c.info.get("cas_orm_role") == "record_version")
    with db.sync.begin() as connection:
        new = {version.name: version + 1, **values}
        connection.execute(update(table).where(column == key).values(new))
