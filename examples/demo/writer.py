"""What happens in each of the two processes."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import NamedTuple

from examples.demo.columns import Column
from examples.demo.story import Actor, Meet, Side, Told

PATIENCE = 60.0  # seconds until somebody who does not come counts as gone


class Report(NamedTuple):
    """What an actor was told, and the SQL that it sent after both had decided."""

    told: Told
    sql: list[str]


def writer(column: Column, url: str, actor: Actor, pipe: Connection, barrier: Barrier) -> None:
    """Write every job whose key comes through the pipe, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when we end
    logging.getLogger("cas_orm").addHandler(logging.NullHandler())  # the table tells who was superseded
    side = column.open(url)
    part = part_of(side, actor)

    def meet() -> None:
        barrier.wait(PATIENCE)
        side.listen()

    with suppress(EOFError, ConnectionError):  # nobody is at the other end any more: go home
        while True:
            told = part(pipe.recv(), meet)
            pipe.send(Report(told, side.sent()))


def part_of(side: Side, actor: Actor) -> Callable[[int, Meet], Told]:
    """Return the code that this actor runs."""
    return {Actor.EXECUTOR: side.executor, Actor.CANCELLER: side.canceller}[actor]
