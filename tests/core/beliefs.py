"""Strategies for beliefs, and a model of them that shares no code with the library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from hypothesis import strategies as st

from cas_orm import UNSET, Expect, not_one_of, one_of

#: Small enough to try every value; bools stand beside the ints they are equal to.
DRAWN: tuple[object, ...] = (None, True, False, 0, 1, 2, "", "a", "b", "None", "1")
#: Never drawn, so that "none of these" always has a value left.
FRESH = "fresh"
UNIVERSE: tuple[object, ...] = (*DRAWN, FRESH)

COLUMNS = ("state", "owner")
Kind: TypeAlias = Literal["is", "in", "not in"]


@dataclass(frozen=True)
class Condition:
    """What is believed of one column, said twice: as a belief, and as a plain test of a value."""

    kind: Kind
    members: tuple[object, ...]

    def belief(self) -> object:
        """Return it as the library spells it."""
        if self.kind == "is":
            return self.members[0]
        return one_of(*self.members) if self.kind == "in" else not_one_of(*self.members)

    def accepts(self, value: object) -> bool:
        """Tell by Python's equality alone."""
        found = any(member == value for member in self.members)
        return not found if self.kind == "not in" else found


@dataclass(frozen=True)
class Belief:
    """A whole belief as plain data; None means that nothing is believed of that number."""

    version: int | None
    generation: int | None
    columns: dict[str, Condition]

    def expect(self) -> Expect:
        """Return it as an `Expect`."""
        return Expect(
            record_version=UNSET if self.version is None else self.version,
            run_seq=UNSET if self.generation is None else self.generation,
            **{name: condition.belief() for name, condition in self.columns.items()},
        )

    def accepts(self, row: dict[str, object]) -> bool:
        """Tell whether the row is as believed."""
        return (
            self.version in (None, row["record_version"])
            and self.generation in (None, row["run_seq"])
            and all(condition.accepts(row[name]) for name, condition in self.columns.items())
        )


def conditions() -> st.SearchStrategy[Condition]:
    """Draw a condition over the small universe."""
    values = st.sampled_from(DRAWN)
    several = st.lists(values, min_size=1, max_size=6).map(tuple)
    return st.one_of(
        st.builds(Condition, st.just("is"), st.tuples(values)),
        st.builds(Condition, st.sampled_from(["in", "not in"]), several),
    )


def small_numbers() -> st.SearchStrategy[int | None]:
    """Draw a version or generation from so few that two of them often meet."""
    return st.one_of(st.none(), st.integers(0, 2))


def beliefs() -> st.SearchStrategy[Belief]:
    """Draw a belief whose parts often agree, and often contradict, another one."""
    columns = st.dictionaries(st.sampled_from(COLUMNS), conditions())
    return st.builds(Belief, small_numbers(), small_numbers(), columns)


def rows() -> st.SearchStrategy[dict[str, object]]:
    """Draw a row that a belief over the small universe may or may not fit."""
    value = st.sampled_from(UNIVERSE)
    return st.fixed_dictionaries(
        {
            "record_version": st.integers(0, 2),
            "run_seq": st.integers(0, 2),
            "state": value,
            "owner": value,
        }
    )


def plain_values() -> st.SearchStrategy[object]:
    """Draw a value that travels as JSON."""
    return st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8))


def json_expects() -> st.SearchStrategy[Expect]:
    """Draw a belief that travels as JSON, with any column name and the largest numbers."""
    names = st.text(min_size=1, max_size=8).filter(lambda name: name not in ("record_version", "run_seq"))
    members = st.lists(plain_values(), min_size=1, max_size=4)
    value = st.one_of(
        plain_values(),
        members.map(lambda values: one_of(*values)),
        members.map(lambda values: not_one_of(*values)),
    )
    number = st.one_of(st.just(UNSET), st.integers(0, 2**63 - 2))
    return st.builds(
        lambda version, generation, columns: Expect(record_version=version, run_seq=generation, **columns),
        number,
        number,
        st.dictionaries(names, value, max_size=4),
    )
