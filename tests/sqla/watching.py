"""What is sent to a database, and what a row looks like to somebody who reads it afresh."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event, inspect, select, update
from sqlalchemy.orm import Session


@contextmanager
def updates(engine: Engine) -> Iterator[list[tuple[str, set[str]]]]:
    """Collect the UPDATEs that are sent: the table, and the columns that are assigned."""
    sent: list[tuple[str, set[str]]] = []

    def listen(connection: Any, cursor: Any, sql: str, *rest: Any) -> None:
        found = re.match(r'UPDATE [`"]?(.+?)[`"]? SET (.*?) WHERE ', sql, re.DOTALL)
        if found:
            sent.append((found[1].replace("%%", "%"), {_column(one) for one in _split(found[2])}))

    event.listen(engine, "before_cursor_execute", listen)
    try:
        yield sent
    finally:
        event.remove(engine, "before_cursor_execute", listen)


def _split(assignments: str) -> list[str]:
    """Split at the commas that are not inside brackets."""
    parts, depth = [""], 0
    for character in assignments:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _column(assignment: str) -> str:
    return assignment.split("=")[0].strip().strip('`"').replace("%%", "%")


def loaded(obj: Any) -> dict[str, Any]:
    """Return what the object shows without a query, by attribute name."""
    state = inspect(obj)
    shown = {k: v for k, v in state.dict.items() if k in state.mapper.attrs and k not in _related(state)}
    return {k: v for k, v in shown.items() if k not in state.unloaded}


def afresh(engine: Engine, obj: Any, *names: str) -> dict[str, Any]:
    """Return the same attributes as another session reads them."""
    state = inspect(obj)
    with Session(engine) as session:
        found = session.get(type(obj), state.identity)
        assert found is not None
        return {name: getattr(found, name) for name in names}


def _related(state: Any) -> set[str]:
    return set(state.mapper.relationships.keys())


def rival(engine: Engine, obj: Any, **values: Any) -> None:
    """Let somebody else raise the version, and write these columns of its table, by column name."""
    mapper = inspect(type(obj))
    version = mapper.version_id_col
    table = version.table
    keys = list(table.primary_key) or list(mapper.primary_key)
    where = [c == part for c, part in zip(keys, inspect(obj).identity, strict=True)]
    with engine.begin() as connection:
        found = connection.execute(update(table).where(*where).values({version: version + 1, **values}))
        assert found.rowcount == 1


def version_of(engine: Engine, obj: Any) -> int:
    """Return the version in the row."""
    mapper = inspect(type(obj))
    version = mapper.version_id_col
    keys = list(version.table.primary_key) or list(mapper.primary_key)
    where = [c == part for c, part in zip(keys, inspect(obj).identity, strict=True)]
    with engine.connect() as connection:
        return connection.execute(select(version).where(*where)).scalar_one()
