"""The asynchronous twin against the flush of an ``AsyncSession``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from benchmarks.measure import Side, Timing, interleaved
from benchmarks.sqla import databases
from benchmarks.sqla.case import change
from benchmarks.sqla.models import Base, Counted, Guarded

FLUSH = "AsyncSession.flush, version_id_col"
FIGURES: dict[str, tuple[str, dict[str, tuple[float, float | None]]]] = {
    "asave_if_current()": (FLUSH, {"sqlite": (0.8, None), "postgres": (0.8, None)}),
}
ROUNDS = 25
CALLS = {"sqlite": 200, "postgres": 200}


def run() -> Iterator[tuple[str, dict[str, Timing]]]:
    """Measure where there is an asynchronous driver; yield the database's name and the timings by side."""
    with asyncio.Runner() as runner:
        for name, url in databases.urls().items():
            if databases.has_async(name):
                yield name, _measured(runner, name, databases.async_engine(name, url))


def _measured(runner: asyncio.Runner, name: str, engine: AsyncEngine) -> dict[str, Timing]:
    async def call(side: Side, calls: int) -> None:
        for _ in range(calls):
            await side()

    runner.run(_tables(engine, there=True))
    guarded, counted = (AsyncSession(engine, expire_on_commit=False) for _ in range(2))
    ours, theirs = (runner.run(_stored(s, m)) for s, m in ((guarded, Guarded), (counted, Counted)))

    async def save() -> None:
        change(ours)
        await ours.asave_if_current(guarded)

    async def flush() -> None:
        change(theirs)
        await counted.flush()

    @contextmanager
    def round_(session: AsyncSession) -> Iterator[None]:
        yield
        runner.run(session.commit())

    @contextmanager
    def rival() -> Iterator[None]:
        with databases.without_library(), round_(counted):
            yield

    try:
        return interleaved(
            {FLUSH: flush, "asave_if_current()": save},
            CALLS[name],
            ROUNDS,
            around={FLUSH: rival, "asave_if_current()": lambda: round_(guarded)},
            loop=lambda side, calls: runner.run(call(side, calls)),
        )
    finally:
        for closing in (guarded.close(), counted.close(), _tables(engine, there=False), engine.dispose()):
            runner.run(closing)


async def _tables(engine: AsyncEngine, *, there: bool) -> None:
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.drop_all)
        if there:
            await connection.run_sync(Base.metadata.create_all)


async def _stored(session: AsyncSession, model: type[Any]) -> Any:
    obj = model()
    session.add(obj)
    await session.commit()
    await session.refresh(obj)
    return obj
