"""The screen: the SQL that was sent, then the figures, both ORMs side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from shutil import get_terminal_size
from textwrap import fill
from typing import TextIO

from examples.demo.layout import columns, side_by_side, statement
from examples.demo.story import Actor
from examples.demo.tally import Findings, Tally

NARROWEST, WIDEST = 80, 100
LABELS = 30
GAP = 2  # between the columns of two ORMs
SHOWN = 5  # complaints; the rest is counted
HEADINGS = {"last writer wins": ("last writer", "wins"), "compare-and-swap": ("compare-", "and-swap")}

FIGURES: tuple[tuple[str, Callable[[Tally], object]], ...] = (
    ("rounds", lambda tally: len(tally.rounds)),
    ("canceled but shown successful", lambda tally: tally.canceled_but_successful),
    ("successful but shown canceled", lambda tally: tally.successful_but_canceled),
    ("neither's row, a mix of both", lambda tally: tally.mixed),
    ("both told success", lambda tally: tally.both_told_success),
    ("winners per round", lambda tally: tally.winners_per_round),
)


def width() -> int:
    """Return how many columns to fill: those of the terminal, but from 80 to 100."""
    return max(NARROWEST, min(WIDEST, get_terminal_size().columns))


def introduction(what: Sequence[tuple[str, str]], where: str, rounds: int) -> str:
    """Say what is about to run, and on what.

    Args:
        what: each ORM with its version, and the database with its version.
        where: a remark about the place.
        rounds: how many.
    """
    times = "once" if rounds == 1 else f"{rounds} times"
    orms = " and ".join(dict.fromkeys(orm for orm, _ in what))
    return "\n".join(
        [
            fill(f"{orms} on {what[0][1]}, {where}.", width()),
            "",
            fill(
                f"An executor finishes a job and a canceller cancels it: two processes, {times}. "
                "The honest worst case: a barrier lets neither write before both have loaded the row.",
                width(),
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
    """Return the SQL and the figures of all columns."""
    return "\n".join(["", *_sql(tallies, rule), "", *_figures(tallies, rule), ""])


def _figures(tallies: Sequence[Tally], rule: str) -> list[str]:
    orms = [(orm, len(list(group))) for orm, group in groupby(tallies, lambda tally: tally.column.orm)]
    cell = (width() - LABELS - GAP) // 4
    widths = [cell + GAP * (i > 0 and first == 0) for i, (_, n) in enumerate(orms) for first in range(n)]
    # Each name stands in the middle of a line over its own columns.
    names = [
        (f" {orm} ".center(cell * n - GAP, rule), cell * n + GAP * (i > 0)) for i, (orm, n) in enumerate(orms)
    ]
    rows = [("", [HEADINGS[tally.column.title][line] for tally in tallies]) for line in (0, 1)]
    rows += [(label, [str(figure(tally)) for tally in tallies]) for label, figure in FIGURES]
    lines = [" " * LABELS + "".join(name.rjust(room) for name, room in names)]
    lines += [columns(label, cells, LABELS, widths) for label, cells in rows]
    across = rule * (LABELS + sum(widths))
    return [*lines[:3], across, *lines[3:], across]


def _sql(tallies: Sequence[Tally], rule: str) -> list[str]:
    """Show what each actor sent, and was told; one kind of write after the other, the ORMs side by side."""
    lines = ["Sent in round 1 after both had decided, captured from the connections:"]
    kinds = dict.fromkeys(tally.column.title for tally in tallies)
    for title in kinds:
        alike = [tally for tally in tallies if tally.column.title == title]
        for actor in Actor:
            lines += ["", *_sent(alike, actor, rule)]
    return lines


def _sent(tallies: Sequence[Tally], actor: Actor, rule: str) -> list[str]:
    room = (width() - GAP * (len(tallies) - 1)) // len(tallies)
    cells = []
    for tally in tallies:
        told = tally.rounds[0].told[actor].word
        cell = [f"{tally.column.orm} {tally.calls[actor]}", f"{actor} was told: {told}", rule * room]
        for sql in tally.sql[actor]:
            cell += [*statement(sql, room), ""]
        cells.append(cell)
    return side_by_side(cells, room, " " * GAP)


def conclusion(tallies: Sequence[Tally], findings: Findings) -> str:
    """End with one sentence on what it means, or with what went wrong."""
    if findings.code:
        more = len(findings.complaints) - SHOWN
        lines = [fill(f"FAILED: {text}", width()) for text in findings.complaints[:SHOWN]]
        return "\n".join([*lines, f"... and {more} more"] if more > 0 else lines)
    lossy = sum(tally.lossy for tally in tallies if not tally.column.guarded)
    played = sum(len(tally.rounds) for tally in tallies if not tally.column.guarded)
    return fill(
        "What it means: with the last writer winning, a write that had been reported as saved was gone, "
        f"whole or in part, in {lossy} of {played} rounds, and nobody was told; with compare-and-swap "
        "every round had one winner, and the loser learned it at once and changed nothing.",
        width(),
    )
