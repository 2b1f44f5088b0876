"""One row, one writer: what a guarded write costs against Django's own save()."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.db import connections
from django.test.utils import CaptureQueriesContext

from benchmarks.measure import Side, Timing, interleaved
from benchmarks.models import Guarded, Plain
from cas_orm import Expect

#: side -> the side it is divided by; database -> the goal, and the floor below which nothing lands
FIGURES: dict[str, tuple[str, dict[str, tuple[float, float | None]]]] = {
    "save_if_current()": ("plain save()", {"sqlite": (0.30, 0.40), "postgres": (0.50, 0.60)}),
    "guarded save()": ("plain save()", {"sqlite": (0.50, None)}),
    "save_if_current(expect=state)": ("cursor, same SQL", {"sqlite": (2.0, None), "postgres": (1.3, None)}),
}
CALLS = {"sqlite": 3000, "postgres": 700, "mariadb": 500}


def run(databases: dict[str, str]) -> Iterator[tuple[str, dict[str, Timing]]]:
    """Measure on every database; yield its name and the timings by side."""
    for name, alias in databases.items():
        with _tables(alias):
            yield name, interleaved(_sides(alias), CALLS[name])


def _sides(alias: str) -> dict[str, Side]:
    plain = Plain.objects.using(alias).create()
    guarded = Guarded.objects.using(alias).create()
    saved = Guarded.objects.using(alias).create()
    expecting = Guarded.objects.using(alias).create()
    belief = Expect(state="running")
    return {
        "plain save()": plain.save,
        "save_if_current()": guarded.save_if_current,
        "guarded save()": saved.save,
        "save_if_current(expect=state)": lambda: expecting.save_if_current(expect=belief),
        "cursor, same SQL": _by_hand(alias, belief),
    }


def _by_hand(alias: str, belief: Expect) -> Callable[[], object]:
    """Send through Django's cursor what the library sends: the limit."""
    obj = Guarded.objects.using(alias).create()
    connection = connections[alias]
    with CaptureQueriesContext(connection) as captured, _uninterpolated(connection) as sent:
        obj.save_if_current(expect=belief)
    assert len(captured) == 1
    sql, params = sent[0]
    position = _version_position(sql)
    version = [obj.record_version]

    def write() -> None:
        bound = list(params)
        bound[position] = version[0]
        with connection.cursor() as cursor:
            cursor.execute(sql, bound)
            count = len(cursor.fetchall()) if "RETURNING" in sql else cursor.rowcount
        assert count == 1
        version[0] += 1

    return write


def _version_position(sql: str) -> int:
    """Return which parameter is the believed version: those before it in the text are counted."""
    where = sql.index(" WHERE ")
    column = sql.index("record_version", where)
    return sql[:column].count("%s")


class _uninterpolated:
    """Record statements with their parameters, as the driver gets them."""

    def __init__(self, connection: object) -> None:
        self.sent: list[tuple[str, list[object]]] = []
        self._wrapper = connection.execute_wrapper(self._record)  # type: ignore[attr-defined]

    def _record(self, execute: Callable[..., object], sql: str, params: list[Any], *rest: object) -> object:
        self.sent.append((sql, list(params)))
        return execute(sql, params, *rest)

    def __enter__(self) -> list[tuple[str, list[object]]]:
        self._wrapper.__enter__()
        return self.sent

    def __exit__(self, *exc: object) -> None:
        self._wrapper.__exit__(*exc)


class _tables:
    def __init__(self, alias: str) -> None:
        self.alias = alias

    def __enter__(self) -> None:
        self.__exit__()
        with connections[self.alias].schema_editor() as editor:
            for model in (Plain, Guarded):
                editor.create_model(model)

    def __exit__(self, *exc: object) -> None:
        connection = connections[self.alias]
        there = connection.introspection.table_names()
        with connection.schema_editor() as editor:
            for model in (Plain, Guarded):
                if model._meta.db_table in there:
                    editor.delete_model(model)
