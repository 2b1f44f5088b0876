"""The table of engine errors, row by row, as the servers were seen to send them."""

from __future__ import annotations

import sqlite3

import pytest

from cas_orm.engine import Fault, classify

POSTGRESQL: list[tuple[str | None, Fault | None]] = [
    ("40001", Fault.DEAD),
    ("40P01", Fault.DEAD),
    ("55P03", Fault.DEAD),
    ("57014", Fault.DEAD),
    (None, Fault.UNKNOWN),
    ("08000", Fault.UNKNOWN),
    ("08003", Fault.UNKNOWN),
    ("08006", Fault.UNKNOWN),
    ("08P01", Fault.UNKNOWN),
    ("57P01", Fault.UNKNOWN),
    ("57P02", Fault.UNKNOWN),
    ("57P05", Fault.UNKNOWN),
    ("25P03", Fault.UNKNOWN),
    ("25006", None),  # wrong server: a standby
    ("22003", None),
    ("22P02", None),
    ("42883", None),
    ("23505", None),
    ("23503", None),
    ("23514", None),
    ("42P05", None),
    ("26000", None),
    ("0A000", None),
    ("P0001", None),
    ("00000", None),
    ("10800", None),  # "08" counts at the beginning only
]
MARIADB: list[tuple[int | None, Fault | None]] = [
    (1213, Fault.DEAD),
    (1020, Fault.DEAD),
    (1205, Fault.OPEN),
    (1969, Fault.OPEN),
    (1317, Fault.OPEN),
    (3572, Fault.OPEN),
    (None, Fault.UNKNOWN),
    (2006, Fault.UNKNOWN),
    (2013, Fault.UNKNOWN),
    (1180, Fault.UNKNOWN),
    (1047, Fault.UNKNOWN),
    (1053, Fault.UNKNOWN),
    (1927, Fault.UNKNOWN),
    (2055, Fault.UNKNOWN),
    (4031, Fault.UNKNOWN),
    (1264, None),
    (1690, None),
    (1364, None),
    (1062, None),
    (1644, None),  # SIGNAL, SQLSTATE 45000
    (1, None),
]
SQLITE: list[tuple[int | None, Fault | None]] = [
    (sqlite3.SQLITE_BUSY, Fault.OPEN),
    (sqlite3.SQLITE_BUSY_RECOVERY, Fault.OPEN),
    (sqlite3.SQLITE_LOCKED, Fault.OPEN),
    (sqlite3.SQLITE_LOCKED_SHAREDCACHE, Fault.OPEN),
    (sqlite3.SQLITE_BUSY_SNAPSHOT, Fault.DEAD),
    (sqlite3.SQLITE_CONSTRAINT, None),
    (sqlite3.SQLITE_CONSTRAINT_UNIQUE, None),
    (sqlite3.SQLITE_ERROR, None),
    (sqlite3.SQLITE_READONLY, None),
    (None, None),  # there is no connection that could be lost
]


@pytest.mark.parametrize(("code", "fault"), POSTGRESQL)
def test_postgresql(code: str | None, fault: Fault | None) -> None:
    """SQLSTATEs; no SQLSTATE means that the connection is lost."""
    assert classify("postgresql", code) is fault


@pytest.mark.parametrize("vendor", ["mysql", "mariadb"])
@pytest.mark.parametrize(("code", "fault"), MARIADB)
def test_mariadb_and_mysql(vendor: str, code: int | None, fault: Fault | None) -> None:
    """Error numbers; both names of the vendor mean the same table."""
    assert classify(vendor, code) is fault


@pytest.mark.parametrize(("code", "fault"), SQLITE)
def test_sqlite(code: int | None, fault: Fault | None) -> None:
    """Extended result codes; BUSY leaves the transaction open, BUSY_SNAPSHOT needs a rollback."""
    assert classify("sqlite", code) is fault


def test_the_numbers_of_the_manual() -> None:
    """The constants of the standard library are the numbers in the table."""
    assert (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_BUSY_SNAPSHOT) == (5, 6, 517)


@pytest.mark.parametrize("code", ["HY000", "40001", "1213"])
def test_mariadb_is_never_classed_by_sqlstate(code: str) -> None:
    """HY000 stands for 1020 and 1180 alike; only numbers count."""
    assert classify("mariadb", code) is None


def test_a_fault_is_the_state_of_the_transaction() -> None:
    """The three values are those of `TransientConflict.transaction`."""
    assert [fault.value for fault in Fault] == ["dead", "open", "unknown"]


@pytest.mark.parametrize("code", [1213, "40001"])
def test_a_database_that_nobody_knows_is_not_guessed(code: str | int) -> None:
    """A code of an unknown vendor says nothing."""
    assert classify("oracle", code) is None
