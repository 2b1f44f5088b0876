"""`Outcome`: true when the target holds, otherwise one step from the exception that fits."""

from __future__ import annotations

import copy
import dataclasses
import enum
import pickle

import pytest

from cas_orm import (
    AttemptsExhausted,
    ConflictError,
    ErrRecordVersionConflict,
    Outcome,
    RecordMissing,
    Superseded,
    Verdict,
)
from cas_orm.facts import Facts

#: verdict -> (exactly this class, its code)
REFUSALS: dict[Verdict, tuple[type[ConflictError], str]] = {
    Verdict.STALE: (ErrRecordVersionConflict, "cas-stale"),
    Verdict.SUPERSEDED: (Superseded, "cas-superseded"),
    Verdict.WRONG_STATE: (Superseded, "cas-wrong-state"),
    Verdict.EXHAUSTED: (AttemptsExhausted, "cas-exhausted"),
    Verdict.MISSING: (RecordMissing, "cas-missing"),
    Verdict.UNDIAGNOSED: (ConflictError, "cas-undiagnosed"),
}
SUCCESSES = (Verdict.WON, Verdict.ALREADY_APPLIED)


def outcome(verdict: Verdict) -> Outcome:
    """Return an outcome with something in every field."""
    return Outcome(
        verdict,
        "shop.Order",
        (42, "de"),
        Facts({"record_version": 7, "run_seq": 3}),
        None
        if verdict in (Verdict.MISSING, Verdict.UNDIAGNOSED)
        else Facts({"record_version": 9, "run_seq": 4}),
        8,
        3,
        True,
        2,
        0.25,
        "save",
    )


def test_the_verdicts_are_lower_case_text() -> None:
    """Eight verdicts, each a str enum with its own name in lower case."""
    assert {verdict.value for verdict in Verdict} == {
        "won",
        "already_applied",
        "stale",
        "superseded",
        "wrong_state",
        "exhausted",
        "missing",
        "undiagnosed",
    }
    for verdict in Verdict:
        assert verdict == verdict.name.lower()
        assert f"{verdict}" == verdict.name.lower()
        assert isinstance(verdict, str)
        assert isinstance(verdict, enum.Enum)


def test_every_verdict_is_a_success_or_has_an_error() -> None:
    """A new verdict cannot be forgotten by this file."""
    assert set(Verdict) == {*SUCCESSES, *REFUSALS}


@pytest.mark.parametrize("verdict", Verdict)
def test_truth_is_that_the_target_holds(verdict: Verdict) -> None:
    """WON and ALREADY_APPLIED are true, everything else is false."""
    assert bool(outcome(verdict)) is (verdict in SUCCESSES)


@pytest.mark.parametrize("verdict", SUCCESSES)
def test_a_success_raises_nothing(verdict: Verdict) -> None:
    """`or_raise` returns the very outcome."""
    won = outcome(verdict)
    assert won.or_raise() is won


@pytest.mark.parametrize("verdict", REFUSALS)
def test_a_refusal_raises_the_class_and_code_that_fit(verdict: Verdict) -> None:
    """Class, code and facts of every verdict; the class is exact, not a relative."""
    lost = outcome(verdict)
    kind, code = REFUSALS[verdict]
    with pytest.raises(ConflictError) as raised:
        lost.or_raise()
    error = raised.value
    assert type(error) is kind
    assert error.code == code
    assert error.verdict is verdict
    assert (error.model, error.key) == ("shop.Order", (42, "de"))
    assert error.expected == lost.expected
    assert error.actual == lost.actual
    assert error.fenced is False


@pytest.mark.parametrize("verdict", REFUSALS)
def test_a_fenced_refusal_says_so(verdict: Verdict) -> None:
    """The fence keeps class and code of the refusal, and tells to reload, if there is a row."""
    error = outcome(verdict).as_error(fenced=True)
    kind, code = REFUSALS[verdict]
    assert (type(error), error.code, error.fenced) == (kind, code, True)
    assert ("reload" in str(error)) is (verdict is not Verdict.MISSING)


def test_the_order_of_the_fields_is_fixed() -> None:
    """Outcomes may be made by position, in the contract's order."""
    names = [field.name for field in dataclasses.fields(Outcome)]
    assert names[:10] == [
        "verdict",
        "model",
        "key",
        "expected",
        "actual",
        "record_version",
        "run_seq",
        "provisional",
        "attempts",
        "waited",
    ]


def test_the_defaults_claim_nothing() -> None:
    """A bare outcome knows no numbers, is not provisional, and was tried once."""
    bare = Outcome(Verdict.WON)
    assert (bare.record_version, bare.run_seq, bare.actual) == (None, None, None)
    assert (bare.provisional, bare.attempts, bare.waited, dict(bare.expected)) == (False, 1, 0.0, {})


@pytest.mark.parametrize("name", ["verdict", "record_version", "expected", "anything"])
def test_an_outcome_is_frozen(name: str) -> None:
    """What happened cannot be rewritten."""
    won = outcome(Verdict.WON)
    with pytest.raises((AttributeError, TypeError)):
        setattr(won, name, 1)
    assert won == outcome(Verdict.WON)


@pytest.mark.parametrize("verdict", Verdict)
def test_an_outcome_survives_pickling_and_copying(verdict: Verdict) -> None:
    """Every protocol gives an equal outcome; the verdict stays the same object."""
    made = outcome(verdict)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        twin = pickle.loads(pickle.dumps(made, protocol))
        assert twin == made
        assert hash(twin) == hash(made)
        assert twin.verdict is verdict
    assert copy.deepcopy(made) == made
    assert dataclasses.replace(made, attempts=3) != made
