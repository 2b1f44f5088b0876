"""How a ratio is measured: A B A B …, a warm-up, at least seven rounds, the median."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

ROUNDS = 9
Side = Callable[[], Any]
#: side -> what to enter before each of its rounds, and to leave after it, outside the measured time
Around = Mapping[str, Callable[[], AbstractContextManager[object]]]
Loop = Callable[[Side, int], object]


@dataclass(frozen=True)
class Timing:
    """Microseconds per call of one side, one number per round."""

    cpu: tuple[float, ...]
    wall: tuple[float, ...]

    @property
    def cpu_median(self) -> float:
        return statistics.median(self.cpu)

    @property
    def cpu_least(self) -> float:
        return min(self.cpu)

    @property
    def wall_median(self) -> float:
        return statistics.median(self.wall)

    @property
    def spread(self) -> float:
        """Interquartile range over the median: above 0.25 the round is too noisy to quote."""
        low, _, high = statistics.quantiles(self.cpu, n=4)
        return (high - low) / self.cpu_median


def _loop(side: Side, calls: int) -> None:
    for _ in range(calls):
        side()


def interleaved(
    sides: Mapping[str, Side],
    calls: int,
    rounds: int = ROUNDS,
    around: Around | None = None,
    loop: Loop = _loop,
) -> dict[str, Timing]:
    """Run every side in turn, `rounds` times, `calls` calls each, after one warm-up round."""
    cpu: dict[str, list[float]] = {name: [] for name in sides}
    wall: dict[str, list[float]] = {name: [] for name in sides}
    around = around or {}
    gc.collect()
    gc.disable()
    try:
        for number in range(rounds + 1):
            for name, side in sides.items():
                with around.get(name, nullcontext)():
                    used, passed = _once(side, calls, loop)
                if number:  # the first round warms up
                    cpu[name].append(used)
                    wall[name].append(passed)
    finally:
        gc.enable()
    return {name: Timing(tuple(cpu[name]), tuple(wall[name])) for name in sides}


def _once(side: Side, calls: int, loop: Loop) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    loop(side, calls)
    used, passed = time.process_time() - cpu, time.perf_counter() - wall
    return used / calls * 1e6, passed / calls * 1e6
