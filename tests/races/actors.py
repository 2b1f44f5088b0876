"""Threads with connections of their own, told step by step what to do; waiting is asking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from time import monotonic
from typing import Any

from django.db import connections, transaction

PATIENCE = 30.0  # seconds until a race that should have ended is a failure

WHO_AM_I = {"postgresql": "SELECT pg_backend_pid()", "mysql": "SELECT connection_id()"}
KILL = {"postgresql": "SELECT pg_terminate_backend(%s)", "mysql": "KILL %s"}


def ask(alias: str, sql: str, *params: Any) -> Any:
    """Return the first value of a query on this thread's connection, if it gives one."""
    with connections[alias].cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchone()[0] if cursor.description else None


def is_blocked(alias: str, identity: Any) -> bool:
    """Ask the server whether this connection waits for a lock of another transaction."""
    if connections[alias].vendor == "postgresql":
        sql = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"
        return bool(ask(alias, sql, identity))
    # information_schema.innodb_trx is a cache that is not renewed while it is being asked.
    with connections[alias].cursor() as cursor:
        cursor.execute("SHOW ENGINE INNODB STATUS")
        status = cursor.fetchone()[2]
    return any(f"thread id {identity}," in t and "LOCK WAIT" in t for t in status.split("---TRANSACTION"))


def wait_until(holds: Callable[[], bool]) -> None:
    """Ask again and again until it holds."""
    pause, deadline = Event(), monotonic() + PATIENCE
    while not holds():
        assert monotonic() < deadline, "the other actor never got there"
        pause.wait(0.002)


class Actor:
    """One thread; its steps run in order, on its own connection to one alias."""

    def __init__(self, alias: str) -> None:
        self.alias = alias
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._atomic: transaction.Atomic | None = None

    @property
    def vendor(self) -> str:
        """Return Django's name of the engine."""
        return str(connections[self.alias].vendor)

    def start(self, step: Callable[..., Any], *args: Any, **options: Any) -> Future[Any]:
        """Begin a step and do not wait for it."""
        return self._thread.submit(step, *args, **options)

    def do(self, step: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Run a step to its end and return its result."""
        return self.start(step, *args, **options).result(PATIENCE)

    def fails(self, step: Callable[..., Any], *args: Any, **options: Any) -> BaseException | None:
        """Run a step to its end and return what it raised."""
        return self.start(step, *args, **options).exception(PATIENCE)

    def ask(self, sql: str, *params: Any) -> Any:
        """Run one query on the actor's connection."""
        return self.do(ask, self.alias, sql, *params)

    def begin(self) -> None:
        """Open a transaction."""
        self._atomic = transaction.atomic(using=self.alias)
        self.do(self._atomic.__enter__)

    def commit(self) -> None:
        """Commit it."""
        atomic, self._atomic = self._atomic, None
        assert atomic is not None
        self.do(atomic.__exit__, None, None, None)

    def rollback(self) -> None:
        """Roll it back."""
        atomic, self._atomic = self._atomic, None
        assert atomic is not None
        self.do(atomic.__exit__, RuntimeError, RuntimeError(), None)

    def identity(self) -> Any:
        """Return the server's name for this connection, None on SQLite."""
        sql = WHO_AM_I.get(self.vendor)
        return self.ask(sql) if sql else None

    def blocks(self, step: Callable[..., Any], *args: Any, **options: Any) -> Future[Any]:
        """Begin a step of which the server says that it waits for a lock; SQLite cannot say."""
        me = self.identity()
        running = self.start(step, *args, **options)
        if me is not None:
            wait_until(lambda: running.done() or is_blocked(self.alias, me))
            assert not running.done(), running.exception() or running.result()
        return running

    def kill_from_outside(self, identity: Any) -> None:
        """Let the server end this actor's connection."""
        ask(self.alias, KILL[self.vendor], identity)

    def leave(self) -> None:
        """End an open transaction and close the connection."""
        if self._atomic is not None:
            self.fails(self._atomic.__exit__, RuntimeError, RuntimeError(), None)
        self.fails(connections.close_all)
        self._thread.shutdown(wait=True)


@contextmanager
def actors(*aliases: str) -> Iterator[list[Actor]]:
    """Yield one actor for each alias and send them home afterwards."""
    cast = [Actor(alias) for alias in aliases]
    try:
        yield cast
    finally:
        for actor in reversed(cast):
            actor.leave()
