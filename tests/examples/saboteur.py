"""Run the demo with one side spoilt: ``python -m tests.examples.saboteur ORM COLUMN HOW``. For tests only."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from examples.demo.__main__ import main
from examples.demo.columns import COLUMNS
from examples.demo.story import FINISHED, Meet, Side, Told

#: What neither actor writes: a loser that overwrites a winner of the same kind is seen, too.
SPOILT = {**FINISHED._asdict(), "logs": "overwritten"}

Part = Callable[[int, Meet], Told]


def overwrite(side: Any, key: int) -> None:
    """Write whatever is there, and no version with it."""
    if hasattr(side, "engine"):
        with side.engine.begin() as connection:
            connection.execute(side.table.update().where(side.table.c.id == key), SPOILT)
    else:
        side.model.objects.filter(pk=key).update(**SPOILT)


def two_winners(side: Any) -> None:
    """Both forget the belief."""

    def careless(key: int, meet: Meet) -> Told:
        meet(), meet()
        overwrite(side, key)
        return Told(True, "saved")

    side.executor = side.canceller = careless


def sore_loser(side: Any) -> None:
    """Whoever loses writes all the same."""

    def spoilt(part: Part) -> Part:
        def play(key: int, meet: Meet) -> Told:
            told = part(key, meet)
            if not told.success:
                overwrite(side, key)
            return told

        return play

    side.executor, side.canceller = spoilt(side.executor), spoilt(side.canceller)


def no_winner(side: Any) -> None:
    """Nobody writes."""
    side.executor = side.canceller = idle


def no_rival(side: Any) -> None:
    """The canceller never comes."""
    side.canceller = idle


def idle(key: int, meet: Meet) -> Told:
    meet(), meet()
    return Told(False, "nothing done")


def crash(side: Any) -> None:
    """The canceller stumbles while the executor waits for it."""

    def canceller(key: int, meet: Meet) -> Told:
        raise ValueError("stumbled")

    side.canceller = canceller


HOWS = {f.__name__: f for f in (two_winners, sore_loser, no_winner, no_rival, crash)}


def open_side(name: str, url: str) -> Side:
    """Open the real side and spoil it."""
    package, column, how = name.split()
    side: Side = import_module(package).open_side(column, url)
    HOWS[how](side)
    return side


if __name__ == "__main__":
    orm, spoilt, how = sys.argv[1:]
    sys.exit(
        main(
            [
                replace(
                    column, package="tests.examples.saboteur", name=f"{column.package} {column.name} {how}"
                )
                if column.name == spoilt
                else column
                for column in COLUMNS
                if column.orm == orm
            ]
        )
    )
