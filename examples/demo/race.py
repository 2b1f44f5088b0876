"""The referee: gives both actors the same job, hears what they were told, and reads the row."""

from __future__ import annotations

from collections.abc import Callable

from examples.demo.columns import Column
from examples.demo.crew import crew
from examples.demo.story import Actor, Side
from examples.demo.tally import Round, Tally


def race(column: Column, side: Side, url: str, rounds: int, after_round: Callable[[int], None]) -> Tally:
    """Run all rounds of one column.

    Args:
        column: which side the processes open.
        side: the same side, open in this process.
        url: the database.
        rounds: how many jobs to race for.
        after_round: called with the number of rounds played.

    Raises:
        DemoError: the database or one of the processes failed.
    """
    alone = {actor: side.alone(actor) for actor in Actor}
    tally = Tally(column, calls=side.calls)
    with side.jobs(rounds) as keys, crew(column, url) as team:
        for number, key in enumerate(keys, 1):
            reports = team.play(key)
            told = {actor: report.told for actor, report in reports.items()}
            tally.rounds.append(Round(number=number, told=told, row=side.row(key), alone=alone))
            if number == 1:
                tally.sql = {actor: report.sql for actor, report in reports.items()}
            after_round(number)
    return tally
