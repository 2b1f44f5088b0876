"""How a ratio is measured: A B A B …, a warm-up, at least seven rounds, the median."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

ROUNDS = 9
Side = Callable[[], object]


@dataclass(frozen=True)
class Timing:
    """Microseconds per call of one side, one number per round."""

    cpu: tuple[float, ...]
    wall: tuple[float, ...]

    @property
    def cpu_median(self) -> float:
        return statistics.median(self.cpu)

    @property
    def wall_median(self) -> float:
        return statistics.median(self.wall)

    @property
    def spread(self) -> float:
        """Interquartile range over the median: above 0.25 the round is too noisy to quote."""
        low, _, high = statistics.quantiles(self.cpu, n=4)
        return (high - low) / self.cpu_median


def interleaved(sides: Mapping[str, Side], calls: int, rounds: int = ROUNDS) -> dict[str, Timing]:
    """Run every side in turn, `rounds` times, `calls` calls each, after one warm-up round."""
    cpu: dict[str, list[float]] = {name: [] for name in sides}
    wall: dict[str, list[float]] = {name: [] for name in sides}
    gc.collect()
    gc.disable()
    try:
        for number in range(rounds + 1):
            for name, side in sides.items():
                used, passed = _once(side, calls)
                if number:  # the first round warms up
                    cpu[name].append(used)
                    wall[name].append(passed)
    finally:
        gc.enable()
    return {name: Timing(tuple(cpu[name]), tuple(wall[name])) for name in sides}


def _once(side: Side, calls: int) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(calls):
        side()
    used, passed = time.process_time() - cpu, time.perf_counter() - wall
    return used / calls * 1e6, passed / calls * 1e6
