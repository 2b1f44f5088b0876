"""Run SQLAlchemy's own versioning tests with our listeners at work, on every database that is here.

    python -s tests/upstream/run.py FOLDER [PYTEST ARGUMENT ...]

FOLDER is an unpacked source distribution of the SQLAlchemy that is installed. Its tests drop whatever they
find in a database, so each server gives one that is made for them and dropped afterwards. ``-s`` keeps them
from importing the copy in FOLDER in place of the installed package.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, create_engine, make_url, text
from sqlalchemy.exc import DBAPIError

ROOT = Path(__file__).parent.parent.parent
PROBED = "postgres://postgres@127.0.0.1:5432/cas_orm,mysql://root@127.0.0.1:3306/cas_orm"
DRIVERS = {"postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg", "mysql": "mariadb+pymysql"}
NAME = f"cas_orm_upstream_{os.getpid()}"


def main(folder: str, *options: str) -> int:
    """Return 0 when every run has passed."""
    codes = [run(folder, *options), run(folder, "--cas-session", *options)]
    for given in os.environ.get("CAS_TEST_DATABASES", PROBED).split(","):
        url = make_url(given)
        if url.get_backend_name() in DRIVERS:
            codes.append(on_server(url.set(drivername=DRIVERS[url.get_backend_name()]), folder, *options))
    return max(codes)


def on_server(url: URL, folder: str, *options: str) -> int:
    """Run on a database of its own; a server that is absent is skipped by name, an error with CI=true."""
    with made_for_them(url) as theirs:
        if theirs is None:
            return int(os.environ.get("CI", "").lower() in ("1", "true"))
        where = theirs.render_as_string(hide_password=False)
        return run(folder, "--cas-session", "--dburi", where, *options)


@contextmanager
def made_for_them(url: URL) -> Iterator[URL | None]:
    """Yield an empty database, dropped at the end; None where nobody answers."""
    outside = "postgres" if url.get_backend_name() == "postgresql" else "information_schema"
    server = url.set(database=outside)
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {NAME}"))
    except DBAPIError as error:
        print(f"{url.drivername} is absent: {str(error.orig).splitlines()[0]}", flush=True)
        yield None
        return
    try:
        yield url.set(database=NAME)
    finally:
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE {NAME}"))
        engine.dispose()


def run(folder: str, *options: str) -> int:
    """Run their test file once; the answer is pytest's."""
    print(f"\n-------- {' '.join(options) or 'Session, SQLite'}", flush=True)
    python = [sys.executable, "-s", "-m", "pytest", "-p", "tests.upstream.plugin", "-q", "-rfE"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [*python, "test/orm/test_versioning.py", *options]
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
