"""Run the demo: one race for every side, one table.

Exit 0: compare-and-swap kept its promise, and without it something was lost.
Exit 1: with compare-and-swap a round had not exactly one winner, or a loser changed the row.
Exit 2: without compare-and-swap nothing was lost, so there was no race to win.
Exit 3: the demo could not run; 130 and 143: it was interrupted or terminated.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from examples.demo import report
from examples.demo.columns import COLUMNS, Column
from examples.demo.database import database
from examples.demo.progress import Progress
from examples.demo.race import race
from examples.demo.story import DemoError
from examples.demo.tally import Tally, verdict

ROUNDS = 100


def rounds_asked() -> int:
    """Read ROUNDS from the environment.

    Raises:
        DemoError: it is not a positive number.
    """
    text = os.environ.get("ROUNDS") or str(ROUNDS)
    if not text.isdecimal() or int(text) == 0:
        raise DemoError(f"ROUNDS must be a positive number, not {text!r}")
    return int(text)


def run(columns: Sequence[Column], rounds: int) -> int:
    """Race in every column and print what came of it."""
    with database() as (url, where):
        sides = [column.open(url) for column in columns]
        print(report.introduction([side.describe() for side in sides], where, rounds), flush=True)
        tallies: list[Tally] = []
        for column, side in zip(columns, sides, strict=True):
            with Progress(str(column), rounds) as progress:
                tallies.append(race(column, side, url, rounds, progress.at))
        print(report.table(tallies, report.rule_for(sys.stdout)), flush=True)
        findings = verdict(tallies)
        print(report.conclusion(tallies, findings), flush=True)
        return findings.code


def main(columns: Sequence[Column] = COLUMNS) -> int:
    """Run the demo and return the exit code."""
    # A terminated demo takes its processes and tables with it, as an interrupted one does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return run(columns, rounds_asked())
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("\ndemo: interrupted; its processes have ended", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
