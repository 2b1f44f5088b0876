"""A worker that is a process of its own, so that it can be killed where a test wants it.

Run as a program: the first line of its input says who it is, every further one what to do; it answers each
with a line of JSON. It works through the same api as everybody else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract.adapters.base import Api
    from tests.races.actors import Actor

ROOT = Path(__file__).parents[2]


class Worker:
    """The handle of a worker's process."""

    def __init__(self, **who: Any) -> None:
        from tests.django.databases import SUFFIX

        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.races.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "CAS_TEST_SUFFIX": SUFFIX},  # the databases of this run
        )
        self.tell("be", **who)

    def tell(self, what: str, **given: Any) -> Any:
        """Have it do something, and wait for the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([what, given]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, "the worker died by itself"
        return json.loads(answer)

    def kill(self) -> None:
        """Send SIGKILL: nothing is cleaned up, nobody is told."""
        self.process.kill()
        self.process.communicate()


@contextmanager
def at_work() -> Iterator[list[Worker]]:
    """Yield an empty list; the workers that were put into it are gone at the end."""
    workers: list[Worker] = []
    try:
        yield workers
    finally:
        for worker in workers:
            worker.kill()


class Self:
    """What the process itself knows and can do."""

    def __init__(self) -> None:
        self.actor: Actor | None = None
        self.job: Any = None

    def be(self, *, seat: str, door: str, alias: str, name: str) -> None:
        """Set up the adapter and connect to the databases of the run, which are there already."""
        import django
        from django.conf import settings

        os.environ["DJANGO_SETTINGS_MODULE"] = "tests.django.settings"
        settings.DATABASES[alias]["NAME"] = name
        django.setup()
        from tests.races.actors import DjangoActor

        adapter, colour = seat.split("-")
        if adapter == "django":
            self.actor = DjangoActor(alias, colour)
            return
        from sqlalchemy import create_engine
        from sqlalchemy.ext.asyncio import create_async_engine
        from sqlalchemy.pool import NullPool

        from tests.races.actors_sqla import SqlaActor, door_url
        from tests.sqla import databases

        given: dict[str, Any] = {"connect_args": {"timeout": 20} if door.startswith("sqlite") else {}}
        sync = create_engine(door_url(door), **given)
        asynchronous = create_async_engine(door_url(door, asynchronous=True), poolclass=NullPool, **given)
        made = databases.Engines(sync, asynchronous)
        databases._OPEN[door.partition("_")[0]] = made  # the parent has made it, and will drop it
        self.actor = SqlaActor(door, alias, colour, made)

    def claim(self, *, owner: str) -> list[int]:
        """Claim one job; return key, generation and attempts."""
        actor = self._actor()
        (self.job,) = actor.do(actor.api.on_set, "claim", actor.api.models.Chore, 1, owner=owner)
        return [actor.do(actor.api.key, self.job), self.job.run_seq, self.job.attempts]

    def start(self, *, key: int, run_seq: int, owner: str) -> str:
        """Start the job that a message names."""
        from cas_orm import Expect

        async def start(api: Api) -> str:
            expect = Expect(run_seq=run_seq)
            outcome = await api.by_key(
                "try_start_if_current", api.models.Chore, key, owner=owner, expect=expect
            )
            if outcome:
                self.job = await api.load(api.models.Chore, key)
            return str(outcome.verdict)

        actor = self._actor()
        return str(actor.do(start, actor.api))

    def begin(self) -> None:
        """Open a transaction that nobody will commit."""
        self._actor().begin()

    def finish(self) -> str:
        """Close the job."""

        async def finish(api: Api) -> str:
            outcome = await api.on_object("try_finish_if_current", self.job, "ok", "done")
            return str(outcome.verdict)

        actor = self._actor()
        return str(actor.do(finish, actor.api))

    def _actor(self) -> Actor:
        assert self.actor is not None
        return self.actor


def main() -> None:
    """Do what one is told, until the input ends or the process does."""
    self = Self()
    for line in sys.stdin:
        what, given = json.loads(line)
        print(json.dumps(getattr(self, what)(**given)), flush=True)


if __name__ == "__main__":
    main()
