"""A scratch database for each demo, and the demo as a process."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings

from tests.django.databases import ALIASES
from tests.django.fixtures import alias_or_skip

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 100  # seconds

Query = Callable[[str], list[Any]]


def demo(*module: str, **variables: str) -> subprocess.Popen[str]:
    """Start the demo, or a driver of it, in a session of its own."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a background job: it would be inherited
        signal.signal(signal.SIGINT, signal.default_int_handler)
    own = {"PYTHONIOENCODING": "utf-8", "DATABASE_URL": "", "ROUNDS": "6", **variables}
    return subprocess.Popen(
        [sys.executable, "-m", *(module or ("examples.demo",))],
        cwd=ROOT,
        env={**os.environ, **own},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        start_new_session=True,
    )


def ended(process: subprocess.Popen[str]) -> str:
    """Return all output. It ends when the last process that can write to it has ended."""
    return process.communicate(timeout=PATIENCE)[0]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a killed demo leave its SQLite file where pytest cleans up."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))


@pytest.fixture(params=list(ALIASES))
def scratch(request: pytest.FixtureRequest) -> Iterator[tuple[str, Query]]:
    """Yield the URL of an empty database, and a way to ask it."""
    vendor = request.param
    alias = alias_or_skip(vendor)
    if vendor == "sqlite":
        yield "", lambda sql: []
        return
    config = settings.DATABASES[alias]
    name = f"demo_{secrets.token_hex(4)}"
    ask = {"postgres": on_postgres, "mariadb": on_mariadb}[vendor](config)
    ask(None, f"CREATE DATABASE {name}")
    user = quote(config["USER"]) + (f":{quote(config['PASSWORD'])}" if config["PASSWORD"] else "")
    scheme = {"postgres": "postgres", "mariadb": "mysql"}[vendor]
    port = f":{config['PORT']}" if config["PORT"] else ""
    try:
        yield f"{scheme}://{user}@{config['HOST']}{port}/{name}", lambda sql: ask(name, sql)
    finally:
        ask(None, f"DROP DATABASE {name}{' WITH (FORCE)' if vendor == 'postgres' else ''}")


def on_postgres(config: dict[str, Any]) -> Callable[[str | None, str], list[Any]]:
    import psycopg

    def ask(name: str | None, sql: str) -> list[Any]:
        with psycopg.connect(
            host=config["HOST"],
            port=config["PORT"] or 5432,
            user=config["USER"],
            password=config["PASSWORD"],
            dbname=name or "postgres",
            autocommit=True,
        ) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

    return ask


def on_mariadb(config: dict[str, Any]) -> Callable[[str | None, str], list[Any]]:
    import pymysql

    def ask(name: str | None, sql: str) -> list[Any]:
        with (
            pymysql.connect(
                host=config["HOST"],
                port=int(config["PORT"] or 3306),
                user=config["USER"],
                password=config["PASSWORD"],
                database=name,
            ) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(sql)
            return list(cursor.fetchall())

    return ask
