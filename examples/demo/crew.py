"""The two processes: started together, heard together, and never left behind."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from examples.demo.columns import Column
from examples.demo.story import Actor, DemoError
from examples.demo.writer import PATIENCE, Report, writer


@dataclass(frozen=True, slots=True)
class Crew:
    """The processes of one race, by what they play."""

    pipes: Mapping[Actor, Connection]

    def play(self, key: int) -> dict[Actor, Report]:
        """Let both write this job, and return what each reports.

        Raises:
            DemoError: a process has ended, or there was no news for `PATIENCE` seconds.
        """
        reports: dict[Actor, Report] = {}
        actor_of = {pipe: actor for actor, pipe in self.pipes.items()}
        for pipe, actor in actor_of.items():
            _send(pipe, actor, key)
        while missing := [pipe for pipe, actor in actor_of.items() if actor not in reports]:
            ready = wait(missing, PATIENCE)
            if not ready:
                raise DemoError(f"no news of {', '.join(actor_of[pipe] for pipe in missing)}")
            for pipe in missing:
                if pipe in ready:
                    reports[actor_of[pipe]] = _received(pipe, actor_of[pipe])
        return reports


def _send(pipe: Connection, actor: Actor, key: int) -> None:
    try:
        pipe.send(key)
    except ConnectionError as error:
        raise DemoError(f"the {actor} has ended before its time") from error


def _received(pipe: Connection, actor: Actor) -> Report:
    try:
        report: Report = pipe.recv()
    except (EOFError, ConnectionError) as error:
        raise DemoError(f"the {actor} ended in the middle of a round") from error
    return report


@contextmanager
def crew(column: Column, url: str) -> Iterator[Crew]:
    """Start an executor and a canceller; end them whatever happens."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(len(Actor))
    pipes: dict[Actor, Connection] = {}
    processes: list[BaseProcess] = []
    try:
        with _interrupts_held():
            for actor in Actor:
                pipes[actor], theirs = context.Pipe()
                process = context.Process(
                    target=writer, args=(column, url, actor, theirs, barrier), name=actor, daemon=True
                )
                process.start()
                processes.append(process)
                theirs.close()  # now the end of the process is the end of the pipe
        yield Crew(pipes)
    except BaseException:
        for started in processes:
            started.terminate()
        raise
    finally:
        for pipe in pipes.values():
            pipe.close()  # a writer that finds nobody at the other end goes home
        for started in processes:
            started.join(PATIENCE)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let a Ctrl-C wait: a child inherits the mask, so that ending it is left to the parent alone."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
