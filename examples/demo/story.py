"""The story: an executor finishes a job, and at the same moment a user cancels it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from enum import StrEnum
from random import randrange
from typing import NamedTuple, Protocol

#: A row as the referee reads it: column -> value, without the key.
Row = dict[str, object]

#: Wait at the barrier until the other actor is there as well.
Meet = Callable[[], None]


class DemoError(Exception):
    """The demo cannot run; the message says why."""


class Actor(StrEnum):
    """Who writes. Each is an operating-system process of its own."""

    EXECUTOR = "executor"
    CANCELLER = "canceller"


class Answer(NamedTuple):
    """What an actor wants the job to say in the end."""

    state: str
    result: str
    logs: str


FINISHED = Answer(state="done", result="successful", logs="exported 4711 rows")
CANCELED = Answer(state="canceled", result="", logs="canceled by the user")
WRITES = {Actor.EXECUTOR: FINISHED, Actor.CANCELLER: CANCELED}


class Told(NamedTuple):
    """What the code told an actor about its write."""

    success: bool
    word: str


def fresh_keys(rounds: int) -> list[int]:
    """Return keys of this run alone: what a killed run left behind may write for a moment longer."""
    first = randrange(100_000, 900_000)
    return list(range(first, first + rounds))


#: What a guarded job has besides the story, and keeps through it.
UNTOUCHED: Row = {
    "status": None,
    "owner": "",
    "attempts": 0,
    "run_seq": 0,
    "started_at": False,
    "heartbeat_at": False,
}
#: What a row shows of a job besides the story: nothing that the race would change, but for the finish.
TIMES = ("started_at", "heartbeat_at", "finished_at")


def told_apart(row: Row) -> Row:
    """Return the row without what no two runs have alike: a time counts as there or not."""
    return {name: value is not None if name in TIMES else value for name, value in row.items()}


class Side(Protocol):
    """One way to write a job, in one ORM. `executor` and `canceller` are the code of the team.

    The attribute ``calls`` names, for each actor, the call that writes.
    """

    calls: Mapping[Actor, str]

    def describe(self) -> tuple[str, str]:
        """Name the ORM and the database, with their versions."""

    def jobs(self, rounds: int) -> AbstractContextManager[list[int]]:
        """Create the table with one running job for every round; drop it at the end."""

    def row(self, key: int) -> Row:
        """Read a job as it stands."""

    def alone(self, actor: Actor) -> Row:
        """Say how a job must look after this actor, and nobody else, has written it."""

    def executor(self, key: int, meet: Meet) -> Told:
        """Load the job, meet, decide, meet, and write that it is done."""

    def canceller(self, key: int, meet: Meet) -> Told:
        """Load the job, meet, decide, meet, and write that it is canceled."""

    def listen(self) -> None:
        """Capture the statements of this process's connection, from now on."""

    def sent(self) -> list[str]:
        """Return the statements that were sent since the last `listen`."""
