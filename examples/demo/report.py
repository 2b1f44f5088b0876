"""The table: figures side by side, then the SQL that was sent. Never wider than 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import fill
from typing import TextIO

from examples.demo.layout import side_by_side, statement
from examples.demo.story import Actor
from examples.demo.tally import Findings, Tally

WIDTH = 80
LABELS = 36
SHOWN = 5  # complaints; the rest is counted

FIGURES: tuple[tuple[str, Callable[[Tally], object]], ...] = (
    ("rounds", lambda tally: len(tally.rounds)),
    ("canceled but shown successful", lambda tally: tally.canceled_but_successful),
    ("successful but shown canceled", lambda tally: tally.successful_but_canceled),
    ("both told success", lambda tally: tally.both_told_success),
    ("winners per round", lambda tally: tally.winners_per_round),
)


def introduction(what: str, where: str, rounds: int) -> str:
    """Say what is about to run, and on what."""
    times = "once" if rounds == 1 else f"{rounds} times"
    return "\n".join(
        [
            fill(f"{what}, {where}.", WIDTH),
            "",
            fill(
                f"An executor finishes a job and a canceller cancels it: two processes, {times}. "
                "The honest worst case: a barrier lets neither write before both have loaded the row.",
                WIDTH,
            ),
            "",
        ]
    )


def rule_for(stream: TextIO) -> str:
    """Return the character of a horizontal line that this stream can show."""
    try:
        "─".encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return "-"
    return "─"


def table(tallies: Sequence[Tally], rule: str) -> str:
    """Return the figures and the SQL of one pair."""
    return "\n".join(["", *_figures(tallies, rule), "", *_sql(tallies, rule), ""])


def _figures(tallies: Sequence[Tally], rule: str) -> list[str]:
    width = (WIDTH - LABELS) // len(tallies)
    rows = [("", [tally.column.title for tally in tallies]), ("", [tally.column.call for tally in tallies])]
    rows += [(label, [str(figure(tally)) for tally in tallies]) for label, figure in FIGURES]
    lines = [label.ljust(LABELS) + "".join(cell.rjust(width) for cell in cells) for label, cells in rows]
    return [*lines[:2], rule * WIDTH, *lines[2:], rule * WIDTH]


def _sql(tallies: Sequence[Tally], rule: str) -> list[str]:
    gap = "  "
    width = (WIDTH - len(gap) * (len(tallies) - 1)) // len(tallies)
    lines = ["Sent in round 1 after both had decided, captured from the connections:"]
    for actor in Actor:
        cells = []
        for tally in tallies:
            told = tally.rounds[0].told[actor].word
            cell = [f"{actor} was told: {told}", rule * width]
            for sql in tally.sql[actor]:
                cell += [*statement(sql, width), ""]
            cells.append(cell)
        lines += ["", *side_by_side(cells, width, gap)]
    return lines


def conclusion(tallies: Sequence[Tally], findings: Findings) -> str:
    """End with one sentence on what it means, or with what went wrong."""
    if findings.code:
        more = len(findings.complaints) - SHOWN
        lines = [fill(f"FAILED: {text}", WIDTH) for text in findings.complaints[:SHOWN]]
        return "\n".join([*lines, f"... and {more} more"] if more > 0 else lines)
    lossy = sum(tally.lossy for tally in tallies if not tally.column.guarded)
    played = sum(len(tally.rounds) for tally in tallies if not tally.column.guarded)
    return fill(
        f"What it means: with the last writer winning, a write that had been reported as saved was gone "
        f"in {lossy} of {played} rounds, and nobody was told; with compare-and-swap every round had one "
        "winner, and the loser learned it at once and changed nothing.",
        WIDTH,
    )
