"""Run the demo: every pair of sides, one race each, one table.

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
from examples.demo.columns import PAIRS, Pair
from examples.demo.database import database
from examples.demo.progress import Progress
from examples.demo.race import race
from examples.demo.story import DemoError
from examples.demo.tally import Tally, verdict

ROUNDS = 200


def rounds_asked() -> int:
    """Read ROUNDS from the environment.

    Raises:
        DemoError: it is not a positive number.
    """
    text = os.environ.get("ROUNDS") or str(ROUNDS)
    if not text.isdecimal() or int(text) == 0:
        raise DemoError(f"ROUNDS must be a positive number, not {text!r}")
    return int(text)


def run(pairs: Sequence[Pair], rounds: int) -> int:
    """Race every pair and print what came of it."""
    codes = set()
    with database() as (url, where):
        for pair in pairs:
            sides = [column.open(url) for column in pair]
            print(report.introduction(sides[0].describe(), where, rounds), flush=True)
            tallies: list[Tally] = []
            for column, side in zip(pair, sides, strict=True):
                with Progress(column.title, rounds) as progress:
                    tallies.append(race(column, side, url, rounds, progress.at))
            print(report.table(tallies, report.rule_for(sys.stdout)), flush=True)
            findings = verdict(tallies)
            print(report.conclusion(tallies, findings), flush=True)
            codes.add(findings.code)
    return next((code for code in (1, 2) if code in codes), 0)


def main(pairs: Sequence[Pair] = PAIRS) -> int:
    """Run the demo and return the exit code."""
    # A terminated demo takes its processes and tables with it, as an interrupted one does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return run(pairs, rounds_asked())
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("\ndemo: interrupted; its processes have ended", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
