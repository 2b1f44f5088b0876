"""Every statement that the verbs send, word for word, on five dialects; compiled, not run.

Oracle and SQL Server are compiled for and not tested: this is what they would be sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Dialect
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.mssql import pyodbc
from sqlalchemy.dialects.mysql import pymysql
from sqlalchemy.dialects.oracle import oracledb
from sqlalchemy.dialects.postgresql import psycopg

from cas_orm import Expect, one_of
from cas_orm.belief import resolve
from cas_orm_sqla.columns import columns_of
from cas_orm_sqla.script import Script, delete_script, update_script
from tests.sqla.golden import SQL
from tests.sqla.shapes import Book
from tests.sqla.shop import Device, Order, Seat, Ticket

DIALECTS: dict[str, Dialect] = {
    "sqlite": sqlite.dialect(),
    "postgresql": psycopg.dialect(),
    "mysql": pymysql.dialect(),
    "oracle": oracledb.dialect(),
    "mssql": pyodbc.dialect(paramstyle="named"),
}


def _update(
    model: type[Any], dialect: Dialect, expect: Expect, values: dict[str, Any], **options: Any
) -> Script:
    columns, key = columns_of(model), options.pop("key", (7,))
    belief = resolve(columns, expect, options.pop("where", None))
    return update_script(columns, dialect, key, belief, values, verb="save", **options)


SEEN = Expect(record_version=3)
#: name -> its script, and the parameters of each of its statements.
CASES: dict[str, tuple[Callable[[Dialect], Script], list[dict[str, Any]]]] = {
    "save": (
        lambda d: _update(Order, d, Expect(record_version=3, run_seq=2), {"title": "t", "n": 5}),
        [{"title": "t", "n": 5, "rise": 1, "key": 7, "version": 3, "generation": 2}],
    ),
    "save of nothing": (
        lambda d: _update(Order, d, Expect(record_version=3, run_seq=2), {}),
        [{"rise": 1, "key": 7, "version": 3, "generation": 2}],
    ),
    "save, generation not loaded": (
        lambda d: _update(Order, d, SEEN, {"n": 5}),
        [{"n": 5, "rise": 1, "key": 7, "version": 3}],
    ),
    "save, expecting a state": (
        lambda d: _update(Order, d, SEEN & Expect(run_seq=2, state=one_of("a", None), note=None), {"n": 5}),
        [{"n": 5, "rise": 1, "key": 7, "version": 3, "generation": 2, "0": "a"}],
    ),
    "save, with a condition": (
        lambda d: _update(Order, d, SEEN & Expect(run_seq=2), {"title": "t"}, where=Order.n < 9),
        [{"title": "t", "rise": 1, "key": 7, "version": 3, "generation": 2, "n_1": 9}],
    ),
    "save, with a write token": (
        lambda d: _update(Ticket, d, SEEN & Expect(run_seq=2), {"n": 5}, token=b"sixteen random b"),
        [{"n": 5, "token": b"sixteen random b", "rise": 1, "key": 7, "version": 3, "generation": 2}],
    ),
    "update, expression": (
        lambda d: _update(Order, d, Expect(run_seq=2), {"n": Order.n + 1}),
        [{"n_1": 1, "rise": 1, "key": 7, "generation": 2}],
    ),
    "update, unversioned": (
        lambda d: _update(Device, d, Expect(run_seq=2), {"hits": 5}, bumps=False),
        [{"hits": 5, "key": 7, "generation": 2}],
    ),
    "new generation": (
        lambda d: _update(Order, d, Expect(run_seq=2), {"state": "b"}, hands_over=True),
        [{"state": "b", "rise": 1, "rise of generation": 1, "key": 7, "generation": 2}],
    ),
    "composite key": (
        lambda d: _update(Seat, d, SEEN & Expect(run_seq=2), {"holder": "h"}, key=("A", 7)),
        [{"holder": "h", "rise": 1, "key": "A", "key 1": 7, "version": 3, "generation": 2}],
    ),
    "delete": (
        lambda d: delete_script(columns_of(Order), (7,), resolve(columns_of(Order), SEEN, None)),
        [{"key": 7, "version": 3}],
    ),
    "joined inheritance": (
        lambda d: _update(Book, d, SEEN & Expect(run_seq=2), {"name": "b", "pages": 9}),
        [
            {"name": "b", "rise": 1, "key": 7, "class": ["book"], "version": 3, "generation": 2},
            {"pages": 9, "key": 7},
        ],
    ),
    "joined inheritance, the child's table only": (
        lambda d: _update(Book, d, SEEN & Expect(run_seq=2), {"pages": 9}),
        [{"rise": 1, "key": 7, "class": ["book"], "version": 3, "generation": 2}, {"pages": 9, "key": 7}],
    ),
}
#: Parameters by shorter names.
SHORT = {
    "cas_set_write_token": "token",
    "cas_key_0": "key",
    "cas_key_1": "key 1",
    "cas_believed_version": "version",
    "cas_believed_generation": "generation",
    "kind_1": "class",
    "record_version_1": "rise",
    "run_seq_1": "rise of generation",
}


def _compiled(script: Script, dialect: Dialect) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for statement, params in script.steps:
        compiled = statement.sql.compile(dialect=dialect, column_keys=sorted(params))
        bound = compiled.construct_params(params)
        named = {
            SHORT.get(name, name.removeprefix("cas_set_").removeprefix("cas_believed_")): value
            for name, value in bound.items()
            if not name.startswith("ret_")  # Oracle's way to hand back
        }
        sql = re.sub(r"__\[POSTCOMPILE_(\w+)_1\]", r"… \1 …", str(compiled))  # a list, spelt out when sent
        found.append((" ".join(sql.split()), named))
    return found


def _golden(dialect: str) -> dict[str, list[str]]:
    """Read the texts: a line ``-- case``, then its statements, each ended by a semicolon."""
    cases = (part.partition("\n") for part in SQL[dialect].split("-- ")[1:])
    return {
        name: [" ".join(sql.split()) for sql in text.split(";") if sql.strip()] for name, _, text in cases
    }


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_statements(dialect: str, case: str) -> None:
    """Word for word, with its parameters: what is believed stands in plain columns of the table updated."""
    make, params = CASES[case]
    assert _compiled(make(DIALECTS[dialect]), DIALECTS[dialect]) == list(
        zip(_golden(dialect)[case], params, strict=True)
    )


def test_every_text_has_its_case() -> None:
    """Nothing stands there that is not compared."""
    assert {dialect: set(_golden(dialect)) for dialect in SQL} == {key: set(CASES) for key in DIALECTS}
