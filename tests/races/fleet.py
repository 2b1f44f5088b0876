"""Fifty writers and one row: processes of their own, forked from one that has imported everything.

Run as a program; reads one job as JSON and prints what became of each writer. Every writer loads the row,
writes a line into a journal, computes, and compares-and-swaps, under the policy of the job.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cas_orm import Outcome, RetriesExhausted, RetryPolicy

ROOT = Path(__file__).parents[2]
PATIENCE = 90.0

Meet = Callable[[int], None]
Run = Callable[[int, Callable[[], None], Meet], Outcome]


def sail(**job: Any) -> list[dict[str, Any]]:
    """Let the writers of a job race, and return what became of each."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.races.fleet"],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    reports: list[dict[str, Any]] = json.loads(done.stdout)
    assert len(reports) == job["writers"]
    assert not [r["error"] for r in reports if r["error"]]
    return reports


def django_writer(job: dict[str, Any], policy: RetryPolicy) -> Run:
    """Return the writer of the Django adapter."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.django.settings"
    import django
    from django.conf import settings

    door = job["door"]
    settings.DATABASES[door]["NAME"] = job["name"]
    django.setup()
    from django.db import connections

    from cas_orm_django import aretry_on_conflict, retry_on_conflict
    from tests.django.shop.models import Doc, Order

    def run(key: int, ready: Callable[[], None], meet: Meet) -> Outcome:
        calls: list[int] = []

        def add() -> Outcome:
            calls.append(1)
            order = Order.objects.using(door).get(pk=key)
            if job["journal"]:
                Doc.objects.using(door).create(title=f"of {key}")
            meet(len(calls))
            order.n += 1
            return order.save_if_current()

        async def aadd() -> Outcome:
            return await aretry_on_conflict(add, policy=policy, using=door)

        if not job["asynchronous"]:  # there the connection is another thread's
            connections[door].ensure_connection()
        ready()
        try:
            return asyncio.run(aadd()) if job["asynchronous"] else retry_on_conflict(policy, door)(add)()
        finally:
            run.loads = len(calls)  # type: ignore[attr-defined]
            connections.close_all()

    return run


def sqla_writer(job: dict[str, Any], policy: RetryPolicy) -> Run:
    """Return the writer of the SQLAlchemy adapter."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.django.settings"
    from sqlalchemy import create_engine
    from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
    from sqlalchemy.orm import Session, sessionmaker
    from sqlalchemy.pool import NullPool

    from cas_orm_sqla import aretry_on_conflict, retry_on_conflict
    from tests.sqla.shop import Doc, Order

    level = {"isolation_level": job["level"]} if job["level"] else {}

    def run(key: int, ready: Callable[[], None], meet: Meet) -> Outcome:
        calls: list[int] = []

        def add(session: Session) -> Outcome:
            calls.append(1)
            order = session.get_one(Order, key)
            if job["journal"]:
                session.add(Doc(title=f"of {key}"))
                session.flush()
            meet(len(calls))
            order.n += 1
            return order.save_if_current(session)

        async def asynchronously() -> Outcome:
            engine = create_async_engine(job["url"], poolclass=NullPool, **level)

            async def work(session: AsyncSession) -> Outcome:
                return await session.run_sync(add)

            return await aretry_on_conflict(async_sessionmaker(engine), work, policy)

        def synchronously() -> Outcome:
            engine = create_engine(job["url"], **level)
            engine.connect().close()
            ready()
            try:
                return retry_on_conflict(sessionmaker(engine), add, policy)
            finally:
                engine.dispose()

        try:
            if not job["asynchronous"]:
                return synchronously()
            ready()
            return asyncio.run(asynchronously())
        finally:
            run.loads = len(calls)  # type: ignore[attr-defined]

    return run


class Waits:
    """Note how long is waited, and wait."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        sleep, asleep = time.sleep, asyncio.sleep

        def noted(seconds: float) -> None:
            self.seconds.append(seconds)
            sleep(seconds)

        async def anoted(seconds: float, *args: Any) -> None:
            self.seconds.append(seconds)
            await asleep(seconds, *args)

        time.sleep, asyncio.sleep = noted, anoted  # type: ignore[assignment]


def write(run: Run, key: int, ready: Callable[[], None], meet: Meet) -> dict[str, Any]:
    """Be one writer, and report."""
    waits = Waits()
    report: dict[str, Any] = {"won": False, "error": ""}
    begun = time.monotonic()
    try:
        outcome = run(key, ready, meet)
        report |= {"won": bool(outcome), "attempts": outcome.attempts, "waited": outcome.waited}
    except RetriesExhausted as gave_up:
        report |= {"attempts": gave_up.attempts, "waited": gave_up.waited, "code": gave_up.code}
        report["last"] = gave_up.last.code if gave_up.last else ""
    except Exception as error:  # noqa: BLE001  # the report is how the test hears of it
        report["error"] = f"{type(error).__name__}: {error}"
    report |= {"loads": run.loads, "waits": waits.seconds}  # type: ignore[attr-defined]
    return report | {"seconds": time.monotonic() - begun}


def warm(run: Run, key: int) -> None:
    """Import and compile once, before the fork, what the first write needs."""
    run(key, lambda: None, lambda attempt: None)


def main() -> None:
    """Fork the writers, let them begin together, and print their reports."""
    job = json.load(sys.stdin)
    policy = RetryPolicy(**job["policy"])
    run = {"django": django_writer, "sqla": sqla_writer}[job["adapter"]](job, policy)
    context = multiprocessing.get_context("fork")
    start = context.Barrier(job["writers"])
    # In each of the first rounds all who are left have read before anybody writes: exactly one can win.
    rounds = [context.Barrier(job["writers"] - n) for n in range(job["lockstep"])]
    reports: Any = context.SimpleQueue()

    def meet(attempt: int) -> None:
        if attempt <= len(rounds):
            rounds[attempt - 1].wait(PATIENCE / 3)

    def writer() -> None:
        reports.put(write(run, job["key"], lambda: start.wait(PATIENCE) and None, meet))

    if not job["asynchronous"]:  # a thread, or a loop, does not survive the fork
        warm(run, job["warm"])
    writers = [context.Process(target=writer) for _ in range(job["writers"])]
    for process in writers:
        process.start()
    collected = [reports.get() for _ in writers]
    for process in writers:
        process.join()
    print(json.dumps(collected))


if __name__ == "__main__":
    main()
