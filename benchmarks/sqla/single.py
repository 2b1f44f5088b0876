"""One row, one writer: what a guarded write costs against a flush with ``version_id_col``.

Every side writes in one transaction for each round, but for the two that commit every write.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, bindparam, event, update
from sqlalchemy.orm import Session

from benchmarks.measure import Timing, interleaved
from benchmarks.sqla import databases
from benchmarks.sqla.case import Case, change, stored
from benchmarks.sqla.models import TEXTS, Counted, Guarded, Plain
from cas_orm import Expect

FLUSH = "flush, version_id_col"
FLUSH_COMMIT = "flush, version_id_col, commit"
CORE = "Core, prebuilt, RETURNING"
ORM_UPDATE = "ORM update() built per call"

#: side -> the side it is divided by; database -> the goal, and the floor below which nothing lands
FIGURES: dict[str, tuple[str, dict[str, tuple[float, float | None]]]] = {
    "save_if_current()": (FLUSH, {"sqlite": (0.55, 0.65), "postgres": (0.75, 0.85)}),
    "save_if_current(expect=state)": (FLUSH, {}),
    "guarded flush": (FLUSH, {}),
    "save_if_current(), commit": (FLUSH_COMMIT, {}),
    ORM_UPDATE: (FLUSH, {}),
    CORE: (FLUSH, {}),
}
#: short rounds, many of them: the machine has other work to do
ROUNDS = 25
CALLS = {"sqlite": 500, "postgres": 200, "mariadb": 150}


def run() -> Iterator[tuple[str, dict[str, Timing]]]:
    """Measure on every database; yield its name and the timings by side."""
    for name, url in databases.urls().items():
        with databases.engine(name, url) as engine, _cases(engine) as cases:
            calls = {side: case.call for side, case in cases.items()}
            around = {side: case.round for side, case in cases.items()}
            yield name, interleaved(calls, CALLS[name], ROUNDS, around=around)


@contextmanager
def _cases(engine: Engine) -> Iterator[dict[str, Case]]:
    belief = Expect(state="running")
    ours = [Session(engine, expire_on_commit=False) for _ in range(4)]
    rivals = [Session(engine, expire_on_commit=False) for _ in range(3)]
    with engine.connect() as core, engine.connect() as raw, closing(_All([*ours, *rivals])):
        sent = _captured(ours[1], belief)
        yield {
            FLUSH: _flush(rivals[0], Counted),
            "save_if_current()": _save(ours[0]),
            "save_if_current(expect=state)": _save(ours[1], expect=belief),
            "guarded flush": _flush(ours[2], Guarded),
            FLUSH_COMMIT: _flush(rivals[1], Counted, commit=True),
            "save_if_current(), commit": _save(ours[3], commit=True),
            ORM_UPDATE: _orm_update(rivals[2]),
            CORE: _core(core),
            "driver, same SQL": _driver(raw, *sent),
        }


class _All:
    """Close every session, whatever happened."""

    def __init__(self, sessions: list[Session]) -> None:
        self.sessions = sessions

    def close(self) -> None:
        for session in self.sessions:
            session.close()


def _save(session: Session, *, expect: Expect | None = None, commit: bool = False) -> Case:
    obj = stored(session, Guarded)

    def write() -> None:
        change(obj)
        obj.save_if_current(session, expect=expect)
        if commit:
            session.commit()

    return Case(write, session.commit, ours=True)


def _flush(session: Session, model: type[Any], *, commit: bool = False) -> Case:
    obj = stored(session, model)

    def write() -> None:
        change(obj)
        session.flush()
        if commit:
            session.commit()

    return Case(write, session.commit, ours=model is Guarded)


def _orm_update(session: Session) -> Case:
    """Spell the write out with ``update(Model)`` every time, as programs without a library do."""
    obj = stored(session, Plain)
    key, numbers = obj.id, [obj.record_version, 0]

    def write() -> None:
        numbers[1] += 1
        statement = (
            update(Plain)
            .where(Plain.id == key, Plain.record_version == numbers[0], Plain.run_seq == 0)
            .where(Plain.state == "running")
            .values(count=numbers[1], text=TEXTS[numbers[1] & 1], record_version=Plain.record_version + 1)
            .execution_options(synchronize_session=False)
        )
        assert session.execute(statement).rowcount == 1  # type: ignore[attr-defined]
        numbers[0] += 1

    return Case(write, session.commit)


def _core(connection: Connection) -> Case:
    """Execute one prebuilt statement with the same columns and conditions: the limit."""
    table: Any = Plain.__table__
    key = connection.execute(table.insert()).inserted_primary_key[0]
    connection.commit()
    columns, returns = table.c, connection.dialect.update_returning
    statement = (
        update(table)
        .where(columns.id == bindparam("key"), columns.record_version == bindparam("version"))
        .where(columns.run_seq == bindparam("generation"), columns.state == bindparam("believed"))
        .values(count=bindparam("new_count"), text=bindparam("new_text"))
        .values(record_version=columns.record_version + 1)
    )
    statement = statement.returning(columns.record_version) if returns else statement
    bound = {"key": key, "version": 1, "generation": 0, "believed": "running", "new_count": 0}

    def write() -> None:
        bound["new_count"] += 1
        bound["new_text"] = TEXTS[bound["new_count"] & 1]
        result = connection.execute(statement, bound)
        bound["version"] = result.scalar_one() if returns else bound["version"] + result.rowcount

    return Case(write, connection.commit)


def _captured(session: Session, belief: Expect) -> tuple[str, Any, Any]:
    """Return what the library sends to the driver: the text, the parameters, and which is the version."""
    obj, sent = stored(session, Guarded), []

    def record(connection: Any, cursor: Any, sql: str, parameters: Any, context: Any, many: bool) -> None:
        if sql.startswith("UPDATE"):
            sent.append((sql, parameters, context.compiled.positiontup))

    event.listen(session.get_bind(), "before_cursor_execute", record)
    change(obj)
    obj.save_if_current(session, expect=belief)
    event.remove(session.get_bind(), "before_cursor_execute", record)
    session.commit()
    [(sql, parameters, order)] = sent
    version = "cas_believed_version"
    return sql, parameters, order.index(version) if order else version


def _driver(connection: Connection, sql: str, parameters: Any, version: Any) -> Case:
    """Send the same text with the same parameters through the driver alone."""
    bound = dict(parameters) if isinstance(parameters, dict) else list(parameters)
    bound[version] += 1
    driver: Any = connection.connection.driver_connection

    def write() -> None:
        cursor = driver.cursor()
        cursor.execute(sql, bound)
        count = len(cursor.fetchall()) if " RETURNING " in sql else cursor.rowcount
        cursor.close()
        assert count == 1
        bound[version] += 1

    return Case(write, driver.commit)
