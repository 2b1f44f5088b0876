"""Loading a thousand rows: what the mixin adds to a model that has the two numbers as plain columns."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Engine, insert, select
from sqlalchemy.orm import Session

from benchmarks.measure import Timing, interleaved
from benchmarks.sqla import databases
from benchmarks.sqla.case import Case
from benchmarks.sqla.models import Guarded, Plain

ROWS = 1000
PLAIN = "1,000 rows, two plain numbers"
GOAL: dict[str, tuple[float, float | None]] = {"sqlite": (1.10, None), "postgres": (1.10, None)}
FIGURES: dict[str, tuple[str, dict[str, tuple[float, float | None]]]] = {
    "1,000 rows": (PLAIN, GOAL),
    "1,000 rows, commit": (f"{PLAIN}, commit", GOAL),
    "1,000 rows, commit, kept": (f"{PLAIN}, commit, kept", GOAL),
}


def run() -> Iterator[tuple[str, dict[str, Timing]]]:
    """Measure on every database; yield its name and the timings by side."""
    for name, url in databases.urls().items():
        with databases.engine(name, url) as engine:
            for model in (Guarded, Plain):
                _fill(engine, model)
            cases = {
                PLAIN: _load(engine, Plain),
                "1,000 rows": _load(engine, Guarded),
                f"{PLAIN}, commit": _load(engine, Plain, commit=True),
                "1,000 rows, commit": _load(engine, Guarded, commit=True),
                f"{PLAIN}, commit, kept": _load(engine, Plain, commit=True, kept=True),
                "1,000 rows, commit, kept": _load(engine, Guarded, commit=True, kept=True),
            }
            calls = {side: case.call for side, case in cases.items()}
            around = {side: case.round for side, case in cases.items()}
            yield name, interleaved(calls, 4, 15, around=around)


def memory() -> dict[str, float]:
    """Return the bytes that the mixin adds to one instance: loaded, and loaded and committed."""
    with databases.engine("sqlite", databases.urls()["sqlite"]) as engine:
        for model in (Guarded, Plain):
            _fill(engine, model)
        return {
            name: _bytes(engine, Guarded, commit=commit) - _bytes(engine, Plain, commit=commit)
            for name, commit in (("loaded", False), ("loaded, committed", True))
        }


def _fill(engine: Engine, model: type[Any]) -> None:
    with Session(engine) as session:
        session.execute(insert(model), [{"record_version": 1, "name": f"job {i}"} for i in range(ROWS)])
        session.commit()


def _load(engine: Engine, model: type[Any], *, commit: bool = False, kept: bool = False) -> Case:
    """Load every row; a commit forgets what was loaded, or keeps it (``expire_on_commit=False``)."""

    def load() -> None:
        with Session(engine, expire_on_commit=not kept) as session:
            rows = session.scalars(select(model)).all()
            assert len(rows) == ROWS
            if commit:
                session.commit()

    return Case(load, lambda: None, ours=model is Guarded)


def _bytes(engine: Engine, model: type[Any], *, commit: bool) -> float:
    """Return the bytes of one loaded instance, as the allocator of Python counts them."""
    with Session(engine, expire_on_commit=False) as session:
        session.scalars(select(model)).all()
        session.expunge_all()
        tracemalloc.start()
        kept = session.scalars(select(model)).all()
        if commit:
            session.commit()
        used, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return used / len(kept)
