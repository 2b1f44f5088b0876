"""``python -m benchmarks``: measure, print a table, write JSON. ``--check`` fails when a floor falls."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from benchmarks.measure import Timing

Figures = dict[str, tuple[str, dict[str, tuple[float, float | None]]]]
Measured = Iterable[tuple[str, dict[str, Timing]]]
Results = dict[str, dict[str, Timing]]
RESULTS = Path("benchmarks/results/single.json")


def main() -> int:
    """Run the family that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the floors; exit 1 when one falls")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS}")
    options = parser.parse_args()
    family = os.environ.get("FAMILY", "") or "single"
    if family != "single":
        print(f"FAMILY={family} is not in this release yet; there is FAMILY=single")
        return 2
    orms = {"django": _django, "sqlalchemy": _sqlalchemy}
    chosen = os.environ.get("ORM", "")
    if chosen and chosen not in orms:
        print(f"ORM={chosen}: there are {', '.join(orms)}")
        return 2
    print("Microseconds of one call, medians, and the least of the CPU times; they depend on the machine.")
    print("A ratio divides by the side in brackets, measured in turn in the same run.")
    fallen: list[str] = []
    written = {name: orms[name](fallen) for name in ([chosen] if chosen else orms)}
    if options.write:
        _write(written)
    if options.check and fallen:
        print("worse than the floor:", *fallen, sep="\n  ")
        return 1
    return 0


def _django(fallen: list[str]) -> Results:
    import django

    from benchmarks import project

    databases = project.start()
    from benchmarks import single

    return _table(f"Django {django.get_version()}", single.run(databases), single.FIGURES, fallen)


def _sqlalchemy(fallen: list[str]) -> Results:
    import sqlalchemy

    from benchmarks.sqla import asynchronous, loading, single

    together: Results = {}
    for module in (single, asynchronous, loading):
        title = f"SQLAlchemy {sqlalchemy.__version__}. {(module.__doc__ or '').splitlines()[0]}"
        for database, timings in _table(title, module.run(), module.FIGURES, fallen).items():
            together.setdefault(database, {}).update(timings)
    for when, added in loading.memory().items():
        print(f"bytes that the mixin adds to an object, {when}: {added:.0f}; goal 64")
    return together


def _table(title: str, measured: Measured, figures: Figures, fallen: list[str]) -> Results:
    """Print each database as soon as it is measured; return all."""
    print(f"\n{title}\n{'database':9} {'side':41} {'CPU':>7} {'least':>7} {'wall':>7}   CPU ratio")
    results: Results = {}
    for name, timings in measured:
        results[name] = timings
        fallen += _report(name, timings, figures)
        sys.stdout.flush()
    return results


def _report(database: str, timings: dict[str, Timing], figures: Figures) -> list[str]:
    fallen = []
    for side, timing in timings.items():
        line = f"{database:9} {side:41} {timing.cpu_median:7.1f} {timing.cpu_least:7.1f}"
        line += f" {timing.wall_median:7.1f}"
        if side in figures:
            base, bounds = figures[side]
            goal, floor = bounds.get(database, (None, None))
            ratio = timing.cpu_median / timings[base].cpu_median
            line += f"   {ratio:.2f} x [{base}]"
            line += f", goal {goal:.2f}" if goal is not None else ""
            line += f", floor {floor:.2f}" if floor is not None else ""
            if floor is not None and ratio > floor:
                fallen.append(f"{side} on {database}: {ratio:.2f} > {floor:.2f}")
        print(line + ("  (noisy)" if timing.spread > 0.25 else ""))
    return fallen


def _write(results: dict[str, Results]) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    facts = {"python": platform.python_version()}
    facts |= {package: version(package) for package in ("Django", "SQLAlchemy") if package.lower() in results}
    timings = {
        orm: {
            database: {side: {"cpu_us": t.cpu_median, "wall_us": t.wall_median} for side, t in sides.items()}
            for database, sides in databases.items()
        }
        for orm, databases in results.items()
    }
    RESULTS.write_text(json.dumps({"versions": facts, "timings": timings}, indent=2) + "\n")


sys.exit(main())
