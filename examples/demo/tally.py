"""What the rounds add up to. Pure: told and row in, figures and exit code out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from examples.demo.columns import Column
from examples.demo.story import CANCELED, FINISHED, Actor, Row, Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One job that both wanted.

    Attributes:
        number: counted from 1.
        told: what each actor was told.
        row: the job as the referee read it afterwards.
        alone: how it would look if this actor alone had written it.
    """

    number: int
    told: Mapping[Actor, Told]
    row: Row
    alone: Mapping[Actor, Row]

    @property
    def winners(self) -> list[Actor]:
        """Who was told success."""
        return [actor for actor, told in self.told.items() if told.success]

    @property
    def lost(self) -> list[Actor]:
        """Who was told success although the row does not show it."""
        return [actor for actor in self.winners if self.row != self.alone[actor]]

    @property
    def broken_promise(self) -> str:
        """What compare-and-swap must never do, and did; "" when it kept its promise."""
        winners = self.winners
        if len(winners) != 1:
            return f"round {self.number} had {len(winners)} winners: {self._told()}"
        if self.lost:
            return f"round {self.number}: the row is not what the {winners[0]}, its winner, wrote: {self.row}"
        return ""

    def _told(self) -> str:
        return ", ".join(f"{actor} was told {told.word!r}" for actor, told in self.told.items())


@dataclass(slots=True)
class Tally:
    """All rounds of one column, and the SQL that each actor sent in the first, with which call."""

    column: Column
    rounds: list[Round] = field(default_factory=list)
    sql: Mapping[Actor, Sequence[str]] = field(default_factory=dict)
    calls: Mapping[Actor, str] = field(default_factory=dict)

    def count(self, happened: Callable[[Round], object]) -> int:
        """Count the rounds of which this is true."""
        return sum(bool(happened(one)) for one in self.rounds)

    @property
    def canceled_but_successful(self) -> int:
        """Rounds in which the user was told that the job is canceled, and the row says successful."""
        return self.count(
            lambda one: one.told[Actor.CANCELLER].success and one.row["result"] == FINISHED.result
        )

    @property
    def successful_but_canceled(self) -> int:
        """Rounds in which the executor was told that its result is stored, and the row says canceled."""
        return self.count(lambda one: one.told[Actor.EXECUTOR].success and one.row["state"] == CANCELED.state)

    @property
    def mixed(self) -> int:
        """Rounds whose row is neither what the executor alone nor what the canceller alone would leave."""
        return self.count(lambda one: one.row not in one.alone.values())

    @property
    def both_told_success(self) -> int:
        """Rounds in which both believe that they have won."""
        return self.count(lambda one: len(one.winners) == len(Actor))

    @property
    def lossy(self) -> int:
        """Rounds in which somebody was told success and lost the write."""
        return self.count(lambda one: one.lost)

    @property
    def winners_per_round(self) -> str:
        """One number when it was always the same, else the smallest and the largest."""
        numbers = Counter(len(one.winners) for one in self.rounds)
        return str(min(numbers)) if len(numbers) == 1 else f"{min(numbers)} to {max(numbers)}"


@dataclass(frozen=True, slots=True)
class Findings:
    """The exit code, and what is wrong, one line each."""

    code: int
    complaints: Sequence[str] = ()


def verdict(tallies: Sequence[Tally]) -> Findings:
    """Judge the columns: a broken promise is worse than a race that did not happen."""
    guarded = [tally for tally in tallies if tally.column.guarded]
    broken = [(tally.column.orm, one.broken_promise) for tally in guarded for one in tally.rounds]
    if complaints := [f"{orm}, {text}" for orm, text in broken if text]:
        return Findings(1, complaints)
    idle = [tally for tally in tallies if not tally.column.guarded and not tally.lossy]
    return Findings(2 if idle else 0, [f"{tally.column} lost nothing: no race" for tally in idle])
