"""``python -m benchmarks``: measure, print a table, write JSON. ``--check`` fails when a floor falls."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from pathlib import Path

from benchmarks import project
from benchmarks.measure import Timing

Figures = dict[str, tuple[str, dict[str, tuple[float, float | None]]]]
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
    databases = project.start()
    from benchmarks import single

    results = single.run(databases)
    print("CPU and wall time of one write in microseconds: medians; they depend on the machine.")
    print("A ratio divides by the side in brackets, measured in turn in the same run.\n")
    print(f"{'database':9} {'side':32} {'CPU':>7} {'wall':>7}   CPU ratio")
    fallen = [line for name, timings in results.items() for line in _report(name, timings, single.FIGURES)]
    if options.write:
        _write(results)
    if options.check and fallen:
        print("worse than the floor:", *fallen, sep="\n  ")
        return 1
    return 0


def _report(database: str, timings: dict[str, Timing], figures: Figures) -> list[str]:
    fallen = []
    for side, timing in timings.items():
        line = f"{database:9} {side:32} {timing.cpu_median:7.1f} {timing.wall_median:7.1f}"
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


def _write(results: dict[str, dict[str, Timing]]) -> None:
    import django

    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    facts = {"python": platform.python_version(), "django": django.get_version()}
    timings = {
        database: {side: {"cpu_us": t.cpu_median, "wall_us": t.wall_median} for side, t in sides.items()}
        for database, sides in results.items()
    }
    RESULTS.write_text(json.dumps({"versions": facts, "timings": timings}, indent=2) + "\n")


sys.exit(main())
