"""Where the race runs: a SQLite file in a temporary directory, or the database of DATABASE_URL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def database() -> Iterator[tuple[str, str]]:
    """Yield the URL, and a remark about the place for the introduction."""
    url = os.environ.get("DATABASE_URL", "")
    if url:
        yield url, "in tables of its own"
        return
    with TemporaryDirectory(prefix="cas-orm-demo-", ignore_cleanup_errors=True) as folder:
        yield f"sqlite:///{Path(folder, 'demo.sqlite3').as_posix()}", "a file in a temporary directory"
