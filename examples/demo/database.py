"""Where the race runs: a SQLite file in a temporary directory, or the database of DATABASE_URL."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import environ

from examples.demo.story import DemoError

SCHEMES = {
    "django.db.backends.sqlite3": "sqlite",
    "django.db.backends.postgresql": "postgres",
    "django.db.backends.mysql": "mysql",
}
PATIENCE_ON_SQLITE = 20  # seconds that a writer waits for another before "database is locked"


@dataclass(frozen=True, slots=True)
class Place:
    """A database that both ORMs can be told of.

    Attributes:
        scheme: "sqlite", "postgres" or "mysql".
        config: the URL as django-environ reads it: ENGINE, NAME, USER, PASSWORD, HOST, PORT, OPTIONS.
    """

    scheme: str
    config: dict[str, Any]

    def __str__(self) -> str:
        """Name the database without user and password, and without asking it."""
        host = f"{self.config['HOST']}:{self.config['PORT']}/" if self.config["HOST"] else ""
        return f"{self.scheme} {host}{self.config['NAME']}"


def place(url: str) -> Place:
    """Read a database URL.

    Raises:
        DemoError: the URL names no database that the demo knows.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "Engine not recognized": refused below
        config: dict[str, Any] = {**environ.Env.db_url_config(url)}
    scheme = SCHEMES.get(config.get("ENGINE", ""))
    if scheme is None:
        raise DemoError("DATABASE_URL must begin with sqlite://, postgres:// or mysql://")
    if scheme == "sqlite" and config["NAME"] == ":memory:":
        raise DemoError("two processes cannot share a database in memory; name a file")
    if scheme == "mysql" and not config["NAME"]:
        raise DemoError("DATABASE_URL must name a database: mysql://user@host:3306/name")
    return Place(scheme, config)


@contextmanager
def database() -> Iterator[tuple[str, str]]:
    """Yield the URL, and a remark about the place for the introduction."""
    url = os.environ.get("DATABASE_URL", "")
    if url:
        yield url, "in tables of its own"
        return
    with TemporaryDirectory(prefix="cas-orm-demo-", ignore_cleanup_errors=True) as folder:
        yield f"sqlite:///{Path(folder, 'demo.sqlite3').as_posix()}", "a file in a temporary directory"
