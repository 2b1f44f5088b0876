"""The demo as its user runs it: real processes, every database that is there."""

from __future__ import annotations

import os
import re
import signal

import pytest

from tests.examples.conftest import Query, demo, ended

ROUNDS = 12
TABLES = "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'cas_demo%'"
HERE = {"postgres": " AND table_schema = 'public'", "mysql": " AND table_schema = DATABASE()", "": ""}


def figures(output: str) -> dict[str, tuple[str, str]]:
    """Read the table: label -> without, with the library."""
    found = re.findall(r"^(\w[\w ]+?) {3,}(\S.*?) {3,}(\S.*)$", output, re.MULTILINE)
    return {label: (plain, cas) for label, plain, cas in found}


def tables(url: str, ask: Query) -> list[object]:
    return ask(TABLES + HERE[url.partition(":")[0]])


def test_the_race(scratch: tuple[str, Query]) -> None:
    """Something is lost without compare-and-swap, nothing with it, all is shown, no table stays behind."""
    url, ask = scratch
    process = demo(DATABASE_URL=url, ROUNDS=str(ROUNDS))
    output = ended(process)
    assert process.returncode == 0, output
    table = figures(output)
    assert table["rounds"] == (str(ROUNDS), str(ROUNDS))
    assert table["winners per round"] == ("2", "1")
    assert table["both told success"] == (str(ROUNDS), "0")
    lost = [table["canceled but shown successful"], table["successful but shown canceled"]]
    assert [cas for _, cas in lost] == ["0", "0"]
    assert sum(int(plain) for plain, _ in lost) == ROUNDS
    assert max(map(len, output.splitlines())) <= 80
    assert tables(url, ask) == []
    shows_the_sql(output.replace("`", '"'))
    shows_plain_progress(output)


def shows_the_sql(output: str) -> None:
    """The statements that went over the connections: the belief is in those of one side."""
    for table in ("cas_demo_plain", "cas_demo_guarded"):
        assert output.count(f'UPDATE "{table}"') == 2
    for belief in ('"run_seq" = 0', "\"state\" = 'running'", "\"action\" = 'start'"):
        assert len(re.findall(rf"AND {belief}", output)) == 2
    assert output.count('AND "record_version" = 1') == 1
    assert output.count("was told: won") == output.count("was told: wrong_state") == 1


def shows_plain_progress(output: str) -> None:
    """Captured output holds no control characters and says how far it is."""
    assert "last writer wins: 6 of 12 rounds\n" in output
    assert "compare-and-swap: 12 of 12 rounds, " in output
    assert "\r" not in output
    assert "\x1b" not in output


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_ended_run_takes_everything_with_it(
    scratch: tuple[str, Query], number: signal.Signals, code: int
) -> None:
    """Ctrl-C reaches all processes, a kill only the first: none is left, and no table."""
    url, ask = scratch
    process = demo(DATABASE_URL=url, ROUNDS="120")
    until(process, "30 of 120")
    if number is signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    output = ended(process)
    assert process.returncode == code, output
    assert "Traceback" not in output
    assert tables(url, ask) == []


def test_a_killed_run_is_no_trouble(scratch: tuple[str, Query]) -> None:
    """The tables that it left are replaced and dropped by the next run."""
    url, ask = scratch
    process = demo(DATABASE_URL=url, ROUNDS="120")
    until(process, "30 of 120")
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
