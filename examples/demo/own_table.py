"""A table of our own: nobody else's meanwhile, gone afterwards, and no trouble after a killed run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep
from typing import Protocol
from zlib import crc32

#: Ask for a lock that ends with the connection, so that a killed run leaves none behind: try, or wait.
LOCKS = {
    "postgres": ("SELECT pg_try_advisory_lock(%s)", "SELECT pg_advisory_lock(%s) IS NOT NULL"),
    "mysql": ("SELECT GET_LOCK(%s, 0)", "SELECT GET_LOCK(%s, 86400)"),
}
UNLOCK = {"postgres": "SELECT pg_advisory_unlock(%s)", "mysql": "SELECT RELEASE_LOCK(%s)"}

TRIES, PAUSE = 20, 0.1  # seconds between two tries


class Workshop(Protocol):
    """What an ORM does with its one table, over one connection that commits every statement."""

    scheme: str
    name: str  # of the database and the table

    def ask(self, sql: str, parameter: object) -> object:
        """Return the one value that a query finds."""

    def create(self) -> None:
        """Create the table."""

    def drop(self) -> None:
        """Drop the table if it is there."""

    def reconnect(self) -> None:
        """Let the connection go, in whatever state it is; the next call takes another."""


@contextmanager
def own_table(shop: Workshop) -> Iterator[None]:
    """Create the table anew, and drop it at the end."""
    if not locked(shop, wait=False):
        print("\nAnother demo runs on this database; waiting for its end.", flush=True)
        locked(shop, wait=True)
    try:
        shop.drop()
        shop.create()
        yield
    except BaseException:
        shop.reconnect()  # it may have been interrupted in mid-sentence; its lock goes with it
        if locked_soon(shop):  # else the next demo has it, and has dropped the table already
            shop.drop()
        raise
    shop.drop()
    if shop.scheme in UNLOCK:
        shop.ask(UNLOCK[shop.scheme], _lock_name(shop))


def locked_soon(shop: Workshop) -> bool:
    """Take the lock as soon as the server has noticed that its last holder is gone."""
    for _ in range(TRIES):
        if locked(shop, wait=False):
            return True
        sleep(PAUSE)
    return False


def locked(shop: Workshop, *, wait: bool) -> bool:
    """Take the lock on the table's name. SQLite has none: there the file is the user's own."""
    if shop.scheme not in LOCKS:
        return True
    return bool(shop.ask(LOCKS[shop.scheme][wait], _lock_name(shop)))


def _lock_name(shop: Workshop) -> str | int:
    return crc32(shop.name.encode()) if shop.scheme == "postgres" else shop.name[-64:]
