"""A belief checked against a model: numbers, fields with their conditions, and a condition of the caller's.

What an adapter resolves an `Expect` to, whatever the ORM calls a field. The WHERE is built from it, and
after a refusal `judge` gets it back.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from cas_orm.errors import InvalidExpectation, MissingExpectation
from cas_orm.expect import Expect
from cas_orm.values import UNSET, ValueSet, check_number

F = TypeVar("F")
F_co = TypeVar("F_co", covariant=True)


@dataclass(slots=True)
class Belief(Generic[F]):
    """What must hold of the row.

    Attributes:
        version: the believed version, or None.
        generation: the believed generation, or None.
        columns: name, the ORM's field, and what is believed of it.
        where: the caller's own condition, in the ORM's terms.
        budget: name and field of a column, and the number that it must be below.
    """

    version: int | None = None
    generation: int | None = None
    columns: Sequence[tuple[str, F, object]] = ()
    where: Any = None
    budget: tuple[str, F, int] | None = None

    def numbers(self) -> dict[str, int]:
        """Return the believed numbers by role."""
        numbers = {}
        if self.version is not None:
            numbers["record_version"] = self.version
        if self.generation is not None:
            numbers["run_seq"] = self.generation
        return numbers

    def facts(self) -> dict[str, object]:
        """Return the belief by role and column name."""
        facts: dict[str, object] = {}
        facts.update(self.numbers())
        if self.columns:
            facts.update((name, value) for name, _, value in self.columns)
        return facts

    def expect(self) -> Expect:
        """Return the belief as the value that `judge` takes."""
        version = UNSET if self.version is None else self.version
        generation = UNSET if self.generation is None else self.generation
        return Expect.read(version, generation, {name: value for name, _, value in self.columns})

    def shape(self) -> tuple[Hashable, ...]:
        """Return what the belief adds to the key of a kept statement."""
        numbers = (self.version is not None, self.generation is not None, self.budget is not None)
        if not self.columns:
            return numbers
        return (*numbers, *((name, *comparison(value)) for name, _, value in self.columns))

    def limit(self) -> tuple[str, int] | None:
        """Return the budget as the value that `judge` takes."""
        return None if self.budget is None else (self.budget[0], self.budget[2])

    def bound(self) -> Iterator[tuple[F, object]]:
        """Yield the values of the columns that become parameters, in the order of the conditions."""
        for _, field, value in self.columns:
            members = value.sorted() if isinstance(value, ValueSet) else (value,)
            yield from ((field, member) for member in members if member is not None)


def comparison(value: object) -> tuple[str, int]:
    """Name the comparison that keeps two-valued logic, and how many values it takes. NULL is a value.

    One of ``=``, ``null``, ``in``, ``in or null``, ``not in``, ``not in or null``.
    """
    if not isinstance(value, ValueSet):
        return ("null", 0) if value is None else ("=", 1)
    count = len(value.members) - (None in value.members)
    operator = "not in" if value.negated else "in"
    nullable = (None in value.members) is not value.negated
    return (f"{operator} or null" if nullable else operator), count


class Believing(Protocol[F_co]):
    """A model that can check a belief: what an adapter knows of its version and its columns."""

    @property
    def label(self) -> str:
        """The model's label, for messages."""
        ...

    @property
    def version_maximum(self) -> int:
        """The largest number that the version's column holds."""
        ...

    @property
    def generation_maximum(self) -> int | None:
        """The largest number that the generation's column holds; None when there is none."""
        ...

    def condition(self, name: str, value: object) -> tuple[str, F_co, object]:
        """Return name, field and typed value of one believed column, or raise InvalidExpectation."""
        ...


def resolve(
    model: Believing[F], expect: Expect | None, where: Any, seen: Belief[F] | None = None
) -> Belief[F]:
    """Check a belief against its model; an explicit version or generation replaces the one in ``seen``.

    Raises:
        InvalidExpectation: a column that cannot be believed, or a value that its column refuses.
    """
    belief: Belief[F] = seen or Belief()
    belief.where = where
    if expect is None:
        return belief
    if names_version(expect):
        belief.version = exact("record_version", expect.record_version, model.version_maximum)
    if expect.run_seq is not UNSET:
        need_generation(model)
        belief.generation = exact("run_seq", expect.run_seq, model.generation_maximum or 0)
    belief.columns = [model.condition(name, value) for name, value in expect.columns.items()]
    if len(belief.columns) > 1 and len({name for name, _, _ in belief.columns}) < len(belief.columns):
        raise InvalidExpectation(f"{model.label}: a column is believed twice [cas-invalid-expectation]")
    return belief


def names_version(expect: Expect | None) -> bool:
    """Tell whether a belief names a version.

    Raises:
        InvalidExpectation: something else than a belief.
    """
    if expect is not None and not isinstance(expect, Expect):
        raise InvalidExpectation(
            f"expect= takes an Expect, not {type(expect).__name__} [cas-invalid-expectation]"
        )
    return expect is not None and expect.record_version is not UNSET


def exact(role: str, value: object, maximum: int) -> int:
    """Return a version or generation that a column can hold and still count past.

    Raises:
        MissingExpectation: None, or nothing is known.
        InvalidExpectation: not an exact int, negative, or at the column's maximum.
    """
    if type(value) is int and 0 <= value < maximum:
        return value
    number = check_number(role, value)
    if number is UNSET:
        raise MissingExpectation(f"{role} is not known [cas-no-expectation]")
    raise InvalidExpectation(f"{role} is not below the column's maximum {maximum} [cas-invalid-expectation]")


def need_generation(model: Believing[Any]) -> None:
    """Refuse a generation verb on a model that has none.

    Raises:
        InvalidExpectation: the model has no generation.
    """
    if model.generation_maximum is None:
        raise InvalidExpectation(f"{model.label} has no generation column [cas-invalid-expectation]")


def need_belief(model: Believing[Any], belief: Belief[Any], verb: str, always: Callable[[], bool]) -> None:
    """Refuse a belief that every row meets; ``always`` tells whether its ``where`` is constantly true.

    Raises:
        MissingExpectation: the write would go over anything.
    """
    alone = belief.version is None and belief.generation is None and not belief.columns
    if alone and (belief.where is None or always()):
        raise MissingExpectation(
            f"{model.label}: {verb} without a belief would write over anything [cas-no-expectation]"
        )


def need_run_seq(model: Believing[Any], belief: Belief[Any], verb: str) -> None:
    """Refuse a verb of the lifecycle that does not say whose generation it acts for.

    Raises:
        MissingExpectation: no generation is believed.
    """
    if belief.generation is None:
        raise MissingExpectation(
            f"{model.label}: {verb} must believe a generation; reload the object, or by key "
            "expect=Expect(run_seq=…) [cas-no-expectation]"
        )
