"""`&` is a meet: commutative, associative, idempotent, and exactly "both must hold"."""

from __future__ import annotations

import pytest
from hypothesis import given

from cas_orm import Expect, InvalidExpectation, Verdict, judge, not_one_of, one_of
from tests.core.beliefs import UNIVERSE, Belief, Condition, beliefs, conditions, rows


def meet(*parts: Expect | None) -> Expect | None:
    """Fold with `&`; None stands for a contradiction and absorbs everything."""
    result: Expect | None = Expect()
    for part in parts:
        if result is None or part is None:
            return None
        try:
            result = result & part
        except InvalidExpectation:
            raise
        except ValueError:
            result = None
    return result


def matches(belief: Expect, row: dict[str, object]) -> bool:
    """Ask the library whether nothing about the row differs."""
    return judge(belief, row) is Verdict.UNDIAGNOSED


def allowed(condition: Condition) -> set[int]:
    """Return which values of the universe the model accepts."""
    return {place for place, value in enumerate(UNIVERSE) if condition.accepts(value)}


@given(beliefs(), beliefs())
def test_meet_is_commutative(a: Belief, b: Belief) -> None:
    """The order of two beliefs does not matter, contradictions included."""
    assert meet(a.expect(), b.expect()) == meet(b.expect(), a.expect())


@given(beliefs(), beliefs(), beliefs())
def test_meet_is_associative(a: Belief, b: Belief, c: Belief) -> None:
    """The grouping of three beliefs does not matter, contradictions included."""
    x, y, z = a.expect(), b.expect(), c.expect()
    assert meet(meet(x, y), z) == meet(x, meet(y, z))


@given(beliefs())
def test_meet_is_idempotent_and_has_an_identity(a: Belief) -> None:
    """Believing twice, or nothing more, changes nothing."""
    x = a.expect()
    assert x & x == x
    assert x & Expect() == x == Expect() & x


@given(beliefs(), beliefs(), rows())
def test_meet_holds_exactly_where_both_hold(a: Belief, b: Belief, row: dict[str, object]) -> None:
    """The meet matches a row if and only if each of the two does."""
    both = meet(a.expect(), b.expect())
    assert (both is not None and matches(both, row)) == (a.accepts(row) and b.accepts(row))


@given(conditions(), conditions())
def test_value_sets_intersect_like_the_brute_force_model(a: Condition, b: Condition) -> None:
    """Over every value of a small universe the meet of two conditions is their intersection."""
    common = allowed(a) & allowed(b)
    both = meet(Expect(state=a.belief()), Expect(state=b.belief()))
    if both is None:
        assert not common
    else:
        accepted = {place for place, value in enumerate(UNIVERSE) if matches(both, {"state": value})}
        assert accepted == common
        assert common


@given(conditions())
def test_one_condition_is_what_the_model_says(a: Condition) -> None:
    """Two-valued logic: None is a value like any other, inside a set and outside."""
    belief = Expect(state=a.belief())
    assert [matches(belief, {"state": value}) for value in UNIVERSE] == [a.accepts(v) for v in UNIVERSE]


@given(conditions(), conditions())
def test_equal_means_the_same_rows(a: Condition, b: Condition) -> None:
    """Two beliefs are equal if and only if they accept the same values; equal ones hash alike."""
    x, y = Expect(state=a.belief()), Expect(state=b.belief())
    assert (x == y) == (allowed(a) == allowed(b))
    if x == y:
        assert hash(x) == hash(y)


@given(beliefs())
def test_hash_ignores_the_order_of_columns_and_members(a: Belief) -> None:
    """The same belief spelled in another order is equal, and hashes alike."""
    turned = {
        name: Condition(condition.kind, condition.members[::-1] * 2)
        for name, condition in reversed(a.columns.items())
    }
    x, y = a.expect(), Belief(a.version, a.generation, turned).expect()
    assert x == y
    assert hash(x) == hash(y)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Expect(record_version=1), Expect(record_version=2)),
        (Expect(run_seq=1), Expect(run_seq=2)),
        (Expect(state="a"), Expect(state="b")),
        (Expect(state="a"), Expect(state=None)),
        (Expect(state="a"), Expect(state=not_one_of("a"))),
        (Expect(state=one_of("a", "b")), Expect(state=one_of("c", None))),
        (Expect(state=one_of("a", "b")), Expect(state=not_one_of("b", "a", None))),
    ],
    ids=repr,
)
def test_a_contradiction_is_a_value_error_that_shows_no_value(a: Expect, b: Expect) -> None:
    """A belief that can never hold is refused when it is made; a column's value is not quoted."""
    with pytest.raises(ValueError, match=r"record_version|run_seq|state") as refused:
        a & b
    assert not isinstance(refused.value, InvalidExpectation)
    assert "'a'" not in str(refused.value)


def test_the_operands_stay_as_they_were() -> None:
    """A meet makes a third belief."""
    a, b = Expect(run_seq=1, state=one_of("a", "b")), Expect(state=one_of("b", "c"))
    assert a & b == Expect(run_seq=1, state="b")
    assert a == Expect(run_seq=1, state=one_of("a", "b"))
    assert b == Expect(state=one_of("b", "c"))


@pytest.mark.parametrize("other", [Expect(run_seq=1), {"state": "a"}, one_of("a"), 1, None], ids=repr)
def test_or_is_a_type_error(other: object) -> None:
    """Alternatives of whole rows are not a belief; `|` is refused on either side."""
    with pytest.raises(TypeError):
        Expect(state="a") | other  # type: ignore[operator]
    with pytest.raises(TypeError):
        other | Expect(state="a")  # type: ignore[operator]


@pytest.mark.parametrize("other", [{"state": "a"}, one_of("a"), 1, None, True], ids=repr)
def test_and_takes_beliefs_only(other: object) -> None:
    """`&` with anything but an `Expect` is a TypeError."""
    with pytest.raises(TypeError):
        Expect(state="a") & other
