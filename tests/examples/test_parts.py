"""The pure parts of the demo: tally, layout, progress."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from sqlalchemy import make_url

from examples.demo import layout
from examples.demo.columns import ON_DJANGO
from examples.demo.database import place
from examples.demo.on_sqlalchemy.base import with_values
from examples.demo.on_sqlalchemy.engine import engine_url
from examples.demo.progress import Progress
from examples.demo.story import WRITES, Actor, Row, Told
from examples.demo.tally import Round, Tally, verdict

PLAIN, CAS = ON_DJANGO
ALONE: dict[Actor, Row] = {actor: {**answer._asdict()} for actor, answer in WRITES.items()}
EXECUTOR, CANCELLER = Actor.EXECUTOR, Actor.CANCELLER
YES, NO = Told(True, "yes"), Told(False, "no")


def played(executor: Told, canceller: Told, row: Row) -> Round:
    return Round(number=7, told={EXECUTOR: executor, CANCELLER: canceller}, row=row, alone=ALONE)


@pytest.mark.parametrize(
    ("one", "promise", "lost"),
    [
        (played(YES, NO, ALONE[EXECUTOR]), "", []),
        (played(NO, YES, ALONE[CANCELLER]), "", []),
        (played(YES, YES, ALONE[EXECUTOR]), "round 7 had 2 winners", [CANCELLER]),
        (played(NO, NO, ALONE[EXECUTOR]), "round 7 had 0 winners", []),
        (played(YES, NO, ALONE[CANCELLER]), "round 7: the row is not", [EXECUTOR]),
        (played(YES, NO, {**ALONE[EXECUTOR], "logs": "else"}), "round 7: the row is not", [EXECUTOR]),
    ],
)
def test_a_round_is_judged(one: Round, promise: str, lost: list[Actor]) -> None:
    """One winner whose row stands, or the promise is broken."""
    assert one.broken_promise.startswith(promise)
    assert bool(one.broken_promise) is bool(promise)
    assert one.lost == lost


@pytest.mark.parametrize(
    ("plain", "cas", "code"),
    [
        (played(YES, YES, ALONE[EXECUTOR]), played(YES, NO, ALONE[EXECUTOR]), 0),
        (played(YES, NO, ALONE[EXECUTOR]), played(YES, NO, ALONE[EXECUTOR]), 2),
        (played(YES, YES, ALONE[EXECUTOR]), played(YES, YES, ALONE[EXECUTOR]), 1),
        (played(YES, NO, ALONE[EXECUTOR]), played(NO, NO, ALONE[EXECUTOR]), 1),
    ],
)
def test_the_exit_code(plain: Round, cas: Round, code: int) -> None:
    """A broken promise weighs more than a race that did not happen."""
    assert verdict([Tally(PLAIN, [plain]), Tally(CAS, [cas])]).code == code


def test_the_figures() -> None:
    """Each counts what its label says."""
    rounds = [
        played(YES, YES, ALONE[EXECUTOR]),
        played(YES, YES, ALONE[CANCELLER]),
        played(YES, NO, ALONE[EXECUTOR]),
    ]
    tally = Tally(PLAIN, rounds)
    assert tally.canceled_but_successful == 1
    assert tally.successful_but_canceled == 1
    assert tally.both_told_success == tally.lossy == 2
    assert tally.mixed == 0
    assert tally.winners_per_round == "1 to 2"


def test_a_mix_is_counted() -> None:
    """A row with one value of each actor is neither's, and both have lost."""
    row = {**ALONE[EXECUTOR], "state": ALONE[CANCELLER]["state"]}
    tally = Tally(PLAIN, [played(YES, YES, row), played(YES, NO, ALONE[EXECUTOR])])
    assert (tally.mixed, tally.lossy) == (1, 1)
    assert tally.rounds[0].lost == [EXECUTOR, CANCELLER]


def test_a_statement_is_laid_out() -> None:
    """Clauses begin lines, assignments stay whole where they fit, and no word is lost."""
    sql = """UPDATE "t" SET "a" = 'two words', "b" = "b" + 1 WHERE "id" = 1 AND "c" = 'x' RETURNING "b\""""
    lines = layout.statement(sql, 30)
    assert lines == [
        'UPDATE "t"',
        " SET \"a\" = 'two words',",
        '     "b" = "b" + 1',
        ' WHERE "id" = 1',
        "   AND \"c\" = 'x'",
        ' RETURNING "b"',
    ]
    assert " ".join(sql.split()) == " ".join(" ".join(lines).split())


def test_cells_stand_side_by_side() -> None:
    """Shorter cells are filled up; empty lines at the end go."""
    assert layout.side_by_side([["a", "b", ""], ["c"]], 3) == ["a    c", "b"]


@pytest.mark.parametrize(
    ("url", "spelled"),
    [
        (
            "postgres://me:p%40ss@db:5433/shop?sslmode=require",
            "postgresql+psycopg://me:p%40ss@db:5433/shop?sslmode=require",
        ),
        ("postgresql://me@db/shop", "postgresql+psycopg://me@db/shop"),
        (
            "mysql://root@127.0.0.1:3306/shop?charset=utf8mb4",
            "mysql+pymysql://root@127.0.0.1:3306/shop?charset=utf8mb4",
        ),
        ("sqlite:////tmp/a.sqlite3", "sqlite:////tmp/a.sqlite3"),
        ("sqlite:///a.sqlite3", "sqlite:///a.sqlite3"),
    ],
)
def test_both_orms_are_told_of_one_database(url: str, spelled: str) -> None:
    """The URL that Django is given names the same database for SQLAlchemy."""
    assert engine_url(place(url)) == make_url(spelled)


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("UPDATE t SET a=?, b=(t.b + ?)\nWHERE t.a = ?", ("x", 1, "y")),
        ("UPDATE t SET a=%s, b=(t.b + %s) WHERE t.a = %s", ("x", 1, "y")),
        ("UPDATE t SET a=%(p)s, b=(t.b + %(q)s) WHERE t.a = %(r)s", {"p": "x", "q": 1, "r": "y"}),
    ],
)
def test_values_stand_where_their_placeholders_stood(sql: str, values: Any) -> None:
    """Whatever the driver calls a placeholder."""
    assert with_values(sql, values) == "UPDATE t SET a = 'x', b = (t.b + 1) WHERE t.a = 'y'"


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_moves_on_a_terminal() -> None:
    """One line, drawn over and over, and one that stays."""
    stream = Terminal()
    with Progress("a race", 3, stream) as progress:
        for number in (1, 2, 3):
            progress.at(number)
    shown = stream.getvalue()
    assert shown.count("\n") == 1
    assert shown.startswith("\ra race [....")
    assert shown.rpartition("\x1b[K")[2].startswith("a race: 3 of 3 rounds, ")
