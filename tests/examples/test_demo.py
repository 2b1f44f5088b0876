"""The demo as its user runs it: real processes, every database that is there."""

from __future__ import annotations

import os
import re
import signal

import pytest

from tests.examples.conftest import Query, demo, ended

ROUNDS = 12
TABLES = "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'cas_demo%'"
NAMES = ("canceled", "successful")
HERE = {"postgres": " AND table_schema = 'public'", "mysql": " AND table_schema = DATABASE()", "": ""}


ORMS = ("Django", "SQLAlchemy")
#: ORM -> the tables of its two sides
SIDES = {"Django": ("cas_demo_plain", "cas_demo_guarded"), "SQLAlchemy": ("cas_demo_last", "cas_demo_swap")}


def figures(output: str) -> dict[str, list[str]]:
    """Read the table: label -> one figure per column, from left to right."""
    found = re.findall(r"^(\w[\w', ]+?) {3,}(\S.*)$", output, re.MULTILINE)
    return {label: re.split(r" {2,}", cells) for label, cells in found}


def tables(url: str, ask: Query) -> list[object]:
    return ask(TABLES + HERE[url.partition(":")[0]])


def test_the_race(scratch: tuple[str, Query]) -> None:
    """Something is lost without compare-and-swap, nothing with it, all is shown, no table stays behind."""
    url, ask = scratch
    process = demo(DATABASE_URL=url, ROUNDS=str(ROUNDS), COLUMNS="100")
    output = ended(process)
    assert process.returncode == 0, output
    table = figures(output)
    every = str(ROUNDS)
    assert table["rounds"] == [every] * 4
    assert table["winners per round"] == ["2", "1", "2", "1"]
    assert table["both told success"] == [every, "0", every, "0"]
    shown = [table[f"{told} but shown {seen}"] for told, seen in (NAMES, NAMES[::-1])]
    mixed = table["neither's row, a mix of both"]
    assert [row[1::2] for row in (*shown, mixed)] == [["0", "0"]] * 3
    for orm in (0, 2):  # in a mixed row both were shown the other's
        assert sum(int(row[orm]) for row in shown) == ROUNDS + int(mixed[orm])
    assert mixed[0] == "0"  # Django's save() writes every column
    assert max(map(len, output.splitlines())) <= 100
    assert tables(url, ask) == []
    for orm in ORMS:
        shows_the_sql(orm, re.sub(r"[`\"]|::\w+", "", output))
    shows_plain_progress(output)


def test_a_wider_terminal_is_used() -> None:
    """Between 80 and 100 columns, and never more; the figures stand in a line of that width."""
    for columns, used in (("60", 80), ("100", 100), ("250", 100)):
        process = demo("tests.examples.saboteur", "SQLAlchemy", "neither", "crash", COLUMNS=columns)
        output = ended(process)
        assert process.returncode == 0, output
        assert max(map(len, output.splitlines())) == used
        if used == 100:
            assert "AND cas_demo_swap.action = 'start'\n" in output


def shows_the_sql(orm: str, output: str) -> None:
    """The statements that went over the connections: the belief is in those of one side."""
    for table in SIDES[orm]:
        assert output.count(f"UPDATE {table}") == 2
    prefix = "" if orm == "Django" else "cas_demo_swap."
    assert output.count(f"AND {prefix}run_seq = 0") == 2
    for belief in ("state = 'running'", "action = 'start'"):  # the executor's, by the object
        assert output.count(f"AND {prefix}{belief}") == 1
    assert output.count(f"AND {prefix}state IN") == 1  # the canceller's, by the key
    assert output.count("was told: won") == output.count("was told: wrong_state") == len(ORMS)


def shows_plain_progress(output: str) -> None:
    """Captured output holds no control characters and says how far it is."""
    for orm in ORMS:
        assert f"{orm}, last writer wins: 6 of 12 rounds\n" in output
        assert f"{orm}, compare-and-swap: 12 of 12 rounds, " in output
    assert "\r" not in output
    assert "\x1b" not in output


#: A sentence of the progress, by whose race is under way then.
MIDST = {orm: f"{orm}, compare-and-swap: 15 of 60" for orm in ORMS}


@pytest.mark.parametrize("orm", ORMS)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_ended_run_takes_everything_with_it(
    scratch: tuple[str, Query], orm: str, number: signal.Signals, code: int
) -> None:
    """Ctrl-C reaches all processes, a kill only the first: none is left, and no table."""
    url, ask = scratch
    process = demo(DATABASE_URL=url, ROUNDS="60")
    until(process, MIDST[orm])
    if number is signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    output = ended(process)
    assert process.returncode == code, output
    assert "Traceback" not in output
    assert tables(url, ask) == []


@pytest.mark.parametrize("orm", ORMS)
def test_a_killed_run_is_no_trouble(scratch: tuple[str, Query], orm: str) -> None:
    """The tables that it left are replaced and dropped by the next run."""
    url, ask = scratch
    process = demo(DATABASE_URL=url, ROUNDS="60")
    until(process, MIDST[orm])
    process.kill()
    next_run = demo(DATABASE_URL=url)
    output = ended(next_run)
    assert next_run.returncode == 0, output
    assert tables(url, ask) == []
    ended(process)  # its processes have gone as well


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"ROUNDS": "0"}, "ROUNDS must be a positive number"),
        ({"ROUNDS": "many"}, "ROUNDS must be a positive number"),
        ({"DATABASE_URL": "oracle://scott:tiger@localhost/orcl"}, "must begin with"),
        ({"DATABASE_URL": "nonsense"}, "must begin with"),
        ({"DATABASE_URL": "sqlite://:memory:"}, "name a file"),
        ({"DATABASE_URL": "mysql://root:secret@127.0.0.1:3306"}, "must name a database"),
        ({"DATABASE_URL": "postgres://me:secret@127.0.0.1:1/x"}, "no connection to postgres 127.0.0.1:1/x"),
        ({"DATABASE_URL": "mysql://me:secret@127.0.0.1:1/x"}, "no connection to mysql 127.0.0.1:1/x"),
    ],
)
def test_what_cannot_run_says_why(variables: dict[str, str], message: str) -> None:
    """One line, exit code 3, no password."""
    process = demo(**variables)
    output = ended(process)
    assert process.returncode == 3, output
    assert message in output
    assert "Traceback" not in output
    assert "secret" not in output


def until(process: object, text: str) -> None:
    """Read the output up to this text."""
    for line in process.stdout:  # type: ignore[attr-defined]
        if text in line:
            return
    pytest.fail(f"the demo never said {text!r}")
