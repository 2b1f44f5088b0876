"""What both SQLAlchemy sides share: the table, the referee's look at a row, the captured SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import sqlalchemy
from sqlalchemy import Engine, event, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from examples.demo.on_sqlalchemy.models import Base, GuardedJob, PlainJob
from examples.demo.on_sqlalchemy.table import SqlalchemyWorkshop
from examples.demo.own_table import own_table
from examples.demo.story import WRITES, Actor, DemoError, Row, fresh_keys, told_apart

#: SQLAlchemy writes "a=b" where Django writes "a = b"; no value of the story holds the sign.
ASSIGNED = re.compile(r"(?<=\w)=(?=\S)")
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "mysql": "MySQL"}


class SqlalchemySide:
    """A side without the code of the team."""

    model: ClassVar[type[PlainJob | GuardedJob]]
    calls: ClassVar[Mapping[Actor, str]]

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._sent: list[str] | None = None

    @property
    def table(self) -> sqlalchemy.Table:
        """The table of the jobs."""
        return Base.metadata.tables[self.model.__tablename__]  # type: ignore[attr-defined]

    def describe(self) -> tuple[str, str]:
        """Name SQLAlchemy and the database, with their versions."""
        dialect: Any = self.engine.dialect
        name = "MariaDB" if getattr(dialect, "is_mariadb", False) else NAMES[dialect.name]
        version = ".".join(map(str, dialect.server_version_info))
        return f"SQLAlchemy {sqlalchemy.__version__}", f"{name} {version}"

    @contextmanager
    def jobs(self, rounds: int) -> Iterator[list[int]]:
        """Create the table with one running job for every round; drop it at the end.

        Raises:
            DemoError: the database refused something.
        """
        try:
            with own_table(SqlalchemyWorkshop(self.engine, self.table)):
                keys = fresh_keys(rounds)
                with Session(self.engine) as session:
                    session.add_all(self.model(id=key, state="running") for key in keys)
                    session.commit()
                yield keys
        except DBAPIError as error:
            raise DemoError(f"the database refused: {error.orig}") from error

    def row(self, key: int) -> Row:
        """Read a job as it stands."""
        with self.engine.connect() as connection:
            query = select(self.table).where(self.table.c.id == key)
            row = dict(connection.execute(query).mappings().one())
        del row["id"]
        return told_apart(row)

    def alone(self, actor: Actor) -> Row:
        """Say how a job must look after this actor, and nobody else, has written it."""
        return {"action": "start", **WRITES[actor]._asdict()}

    def listen(self) -> None:
        """Capture the statements of this process's connections, from now on."""
        if self._sent is None:
            event.listen(self.engine, "before_cursor_execute", self._capture)
        self._sent = []

    def sent(self) -> list[str]:
        """Return the statements that were sent since the last `listen`."""
        return list(self._sent or ())

    def _capture(self, connection: object, cursor: object, sql: str, values: Any, *_: object) -> None:
        self._sent = [*(self._sent or ()), with_values(sql, values)]


def with_values(sql: str, values: Mapping[str, object] | tuple[object, ...]) -> str:
    """Put the values where their placeholders stand, to be read by people."""
    sql = ASSIGNED.sub(" = ", " ".join(sql.split()))
    if isinstance(values, Mapping):
        return sql % {name: literal(value) for name, value in values.items()}
    if "%s" not in sql:
        sql = sql.replace("%", "%%").replace("?", "%s")
    return sql % tuple(map(literal, values))


def literal(value: object) -> str:
    """Spell a number, a text of the story or nothing in SQL."""
    if value is None:
        return "NULL"
    return repr(value) if isinstance(value, int) else f"'{value}'"
