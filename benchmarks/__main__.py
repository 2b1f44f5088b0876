"""``python -m benchmarks``: measure, print a table, write JSON. ``--check`` fails when a floor falls."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from pathlib import Path

from benchmarks import project
from benchmarks.measure import Timing

Figures = dict[str, tuple[str, dict[str, tuple[float, float]]]]
RESULTS = Path("docs/benchmarks/single.json")


def main() -> int:
    """Run the families that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the floors; exit 1 when one falls")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS}")
    options = parser.parse_args()
    databases = project.start()
    from benchmarks import single

    results = single.run(databases)
    print(f"{'':32} {'database':9} {'CPU us':>8} {'wall us':>8} {'CPU x':>7} {'wall x':>7} {'target':>7}")
    fallen = [line for name, timings in results.items() for line in _report(name, timings, single.FIGURES)]
    if options.write:
        _write(results)
    if options.check and fallen:
        print("below the floor:", *fallen, sep="\n  ")
        return 1
    return 0


def _report(database: str, timings: dict[str, Timing], figures: Figures) -> list[str]:
    fallen = []
    for side, timing in timings.items():
        line = f"{side:32} {database:9} {timing.cpu_median:8.1f} {timing.wall_median:8.1f}"
        if side in figures:
            base, bounds = figures[side]
            target, floor = bounds["sqlite" if database == "sqlite" else "server"]
            ratio = timing.cpu_median / timings[base].cpu_median
            line += f" {ratio:7.2f} {timing.wall_median / timings[base].wall_median:7.2f} {target:7.2f}"
            if ratio > floor:
                fallen.append(f"{side} on {database}: {ratio:.2f} > {floor:.2f}")
        noisy = "  noisy" if timing.spread > 0.25 else ""
        print(line + noisy)
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
