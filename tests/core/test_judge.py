"""`judge` against a model written from the contract's sentence: collect every reason, take the first."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from cas_orm import Expect, Verdict, judge, not_one_of, one_of
from tests.core.beliefs import UNIVERSE, Belief, Condition, beliefs, rows

PRECEDENCE = (
    Verdict.MISSING,
    Verdict.ALREADY_APPLIED,
    Verdict.SUPERSEDED,
    Verdict.WRONG_STATE,
    Verdict.EXHAUSTED,
    Verdict.STALE,
    Verdict.UNDIAGNOSED,
)
Row = dict[str, object]


def by_the_sentence(
    belief: Belief, found: Row | None, target: Row | None, budget: int | None, where_holds: bool | None
) -> Verdict:
    """Say which reasons apply, each for itself, and return the first by precedence."""
    reasons = {Verdict.UNDIAGNOSED}
    if found is None:
        reasons.add(Verdict.MISSING)
    else:
        another_generation = belief.generation is not None and belief.generation != found["run_seq"]
        if another_generation:
            reasons.add(Verdict.SUPERSEDED)
        if target and not another_generation and target.items() <= found.items():
            reasons.add(Verdict.ALREADY_APPLIED)
        if where_holds is False:
            reasons.add(Verdict.WRONG_STATE)
        if any(not condition.accepts(found[name]) for name, condition in belief.columns.items()):
            reasons.add(Verdict.WRONG_STATE)
        attempts = found["attempts"]
        assert isinstance(attempts, int)
        if budget is not None and attempts >= budget:
            reasons.add(Verdict.EXHAUSTED)
        if belief.version is not None and belief.version != found["record_version"]:
            reasons.add(Verdict.STALE)
    return min(reasons, key=PRECEDENCE.index)


FOUND = st.builds(lambda row, attempts: {**row, "attempts": attempts}, rows(), st.integers(0, 2))
TARGETS = st.dictionaries(st.sampled_from(["state", "owner"]), st.sampled_from(UNIVERSE))


@given(
    beliefs(),
    st.none() | FOUND,
    st.none() | TARGETS,
    st.none() | st.integers(0, 2),
    st.none() | st.booleans(),
)
@example(Belief(None, 1, {"state": Condition("is", ("a",))}), None, {"state": "b"}, 0, False)
def test_judge_is_the_contracts_sentence(
    belief: Belief, found: Row | None, target: Row | None, budget: int | None, where_holds: bool | None
) -> None:
    """Every mixture of reasons is judged by the stated precedence."""
    verdict = judge(
        belief.expect(),
        found,
        target=target,
        budget=None if budget is None else ("attempts", budget),
        where_holds=where_holds,
    )
    assert verdict is by_the_sentence(belief, found, target, budget, where_holds)


@given(beliefs(), FOUND)
def test_judge_changes_nothing_and_answers_alike(belief: Belief, found: Row) -> None:
    """It is pure: the same question has the same answer, and the row stays as it was."""
    before = dict(found)
    assert judge(belief.expect(), found) is judge(belief.expect(), found)
    assert found == before


BELIEF = Expect(record_version=7, run_seq=3, state="running", action="start")
ROW: Row = {"record_version": 7, "run_seq": 3, "state": "running", "action": "start", "attempts": 1}
TARGET: Row = {"state": "done", "result": "ok"}


def test_the_row_is_gone() -> None:
    """No row is MISSING whatever else was asked."""
    assert judge(BELIEF, None, target=TARGET, budget=("attempts", 0), where_holds=False) is Verdict.MISSING


def test_nothing_differs() -> None:
    """A row that looks as believed is UNDIAGNOSED; so is a belief in nothing."""
    assert judge(BELIEF, ROW) is Verdict.UNDIAGNOSED
    assert judge(Expect(), ROW) is Verdict.UNDIAGNOSED
    assert judge(Expect(), {}) is Verdict.UNDIAGNOSED  # a row of which nothing was read is not gone


def test_the_version_alone_is_stale() -> None:
    """Another version, in either direction."""
    assert judge(BELIEF, {**ROW, "record_version": 8}) is Verdict.STALE
    assert judge(BELIEF, {**ROW, "record_version": 6}) is Verdict.STALE


def test_a_version_that_is_not_believed_is_not_compared() -> None:
    """A belief in the generation is not stale by the version."""
    assert judge(Expect(run_seq=3), {**ROW, "record_version": 99}) is Verdict.UNDIAGNOSED


def test_another_generation_outranks_column_and_version() -> None:
    """A hand-over usually changes everything; it is named by what decides."""
    found = {**ROW, "run_seq": 4, "record_version": 9, "state": "pending", "attempts": 9}
    assert judge(BELIEF, found, budget=("attempts", 1), where_holds=False) is Verdict.SUPERSEDED


def test_already_applied_needs_the_generation_and_every_value() -> None:
    """The target in another generation, or half of it, is no success; the version does not matter."""
    done = {**ROW, **TARGET, "record_version": 8}
    assert judge(BELIEF, done, target=TARGET) is Verdict.ALREADY_APPLIED
    assert judge(BELIEF, {**done, "run_seq": 4}, target=TARGET) is Verdict.SUPERSEDED
    assert judge(BELIEF, {**done, "result": "failed"}, target=TARGET) is Verdict.WRONG_STATE
    assert judge(BELIEF, done) is Verdict.WRONG_STATE


def test_where_holds_has_three_answers() -> None:
    """False is WRONG_STATE; True and None add nothing."""
    assert judge(BELIEF, ROW, where_holds=False) is Verdict.WRONG_STATE
    assert judge(BELIEF, ROW, where_holds=True) is Verdict.UNDIAGNOSED
    assert judge(BELIEF, ROW, where_holds=None) is Verdict.UNDIAGNOSED
    stale = {**ROW, "record_version": 8}
    assert judge(BELIEF, stale, where_holds=False) is Verdict.WRONG_STATE
    assert judge(BELIEF, stale, where_holds=True) is Verdict.STALE


def test_the_budget_is_spent_when_it_is_reached() -> None:
    """At the maximum and above it is EXHAUSTED, below it is not; it outranks the version."""
    assert judge(BELIEF, ROW, budget=("attempts", 2)) is Verdict.UNDIAGNOSED
    assert judge(BELIEF, ROW, budget=("attempts", 1)) is Verdict.EXHAUSTED
    assert judge(BELIEF, {**ROW, "record_version": 8}, budget=("attempts", 0)) is Verdict.EXHAUSTED
    assert judge(BELIEF, {**ROW, "state": "done"}, budget=("attempts", 0)) is Verdict.WRONG_STATE


def test_null_is_a_value() -> None:
    """None in a column is compared as IS NULL; value sets follow two-valued logic."""
    row = {"state": None}
    assert judge(Expect(state=None), row) is Verdict.UNDIAGNOSED
    assert judge(Expect(state="a"), row) is Verdict.WRONG_STATE
    assert judge(Expect(state=one_of(None, "a")), row) is Verdict.UNDIAGNOSED
    assert judge(Expect(state=not_one_of("a")), row) is Verdict.UNDIAGNOSED
    assert judge(Expect(state=not_one_of("a", None)), row) is Verdict.WRONG_STATE
