"""Threads with connections of their own, told step by step what to do; waiting is asking."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from inspect import iscoroutine
from threading import Event
from time import monotonic
from typing import Any, TypeVar

from asgiref.sync import async_to_sync
from django.db import connections, transaction

from tests.contract.adapters.base import Api, Undo
from tests.contract.adapters.django import DjangoApi
from tests.django.databases import ALIASES
from tests.django.router import routed

A = TypeVar("A", bound="Actor")

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


class Actor(ABC):
    """One thread; its steps run in order, on its own connection, through the api of one adapter and colour.

    A step is a function; what it returns is driven to its end if it is a coroutine.
    """

    def __init__(self, api: Api, alias: str) -> None:
        self.api = api
        self.alias = alias
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._exit: Callable[..., Any] | None = None

    @property
    def vendor(self) -> str:
        """Return Django's name of the engine."""
        return str(connections[self.alias].vendor)

    @abstractmethod
    def _ask(self, sql: str, *params: Any) -> Any:
        """Return the first value of a query on this actor's connection, if it gives one."""

    @abstractmethod
    def knows_that_it_is_over(self) -> Any:
        """Tell whether the ORM knows that the actor's transaction cannot go on."""

    @abstractmethod
    def _transaction(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Return the two ends of a new transaction."""

    @abstractmethod
    def _close(self) -> Any:
        """Close the connection."""

    def _drive(self, step: Coroutine[Any, Any, Any]) -> Any:
        """Run a step of the sync colour, which never suspends."""
        try:
            step.send(None)
        except StopIteration as end:
            return end.value
        step.close()
        raise AssertionError("a sync step suspended")

    def _run(self, step: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        result = step(*args, **options)
        return self._drive(result) if iscoroutine(result) else result

    def start(self, step: Callable[..., Any], *args: Any, **options: Any) -> Future[Any]:
        """Begin a step and do not wait for it."""
        return self._thread.submit(self._run, step, args, options)

    def do(self, step: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Run a step to its end and return its result."""
        return self.start(step, *args, **options).result(PATIENCE)

    def fails(self, step: Callable[..., Any], *args: Any, **options: Any) -> BaseException | None:
        """Run a step to its end and return what it raised."""
        return self.start(step, *args, **options).exception(PATIENCE)

    def ask(self, sql: str, *params: Any) -> Any:
        """Run one query on the actor's connection."""
        return self.do(self._ask, sql, *params)

    def begin(self) -> None:
        """Open a transaction."""
        enter, self._exit = self._transaction()
        self.do(enter)

    def commit(self) -> None:
        """Commit it."""
        self.do(self._end(), None, None, None)

    def rollback(self) -> None:
        """Roll it back."""
        self.do(self._end(), Undo, Undo(), None)

    def give_up(self) -> None:
        """Roll it back on a connection that may be lost."""
        self.fails(self._end(), Undo, Undo(), None)

    def _end(self) -> Callable[..., Any]:
        leave, self._exit = self._exit, None
        assert leave is not None
        return leave

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
        if self._exit is not None:
            self.give_up()
        self.fails(self._close)
        self._thread.shutdown(wait=True)


class DjangoActor(Actor):
    """An actor on Django's connection of its thread to one alias."""

    def __init__(self, alias: str, colour: str = "sync") -> None:
        database = next((n for n, a in ALIASES.items() if a == alias), alias.partition("_")[0])
        super().__init__(DjangoApi(database, alias, colour=colour), alias)

    def _drive(self, step: Coroutine[Any, Any, Any]) -> Any:
        if self.api.colour == "sync":
            return super()._drive(step)

        async def run() -> Any:
            return await step

        return async_to_sync(run)()

    def _run(self, step: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        with routed(self.alias):
            return super()._run(step, args, options)

    def _ask(self, sql: str, *params: Any) -> Any:
        return ask(self.alias, sql, *params)

    def knows_that_it_is_over(self) -> bool:
        """Ask Django's connection."""
        return bool(connections[self.alias].needs_rollback)

    def _transaction(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        atomic = transaction.atomic(using=self.alias)  # an async one would end with its first loop
        return atomic.__enter__, atomic.__exit__

    def _close(self) -> None:
        connections.close_all()


@contextmanager
def actors(*cast: A) -> Iterator[list[A]]:
    """Yield the actors and send them home afterwards."""
    try:
        yield list(cast)
    finally:
        for actor in reversed(cast):
            actor.leave()
