"""Errors travel between processes with everything that they know."""

from __future__ import annotations

import copy
import pickle

import pytest

from cas_orm import (
    AttemptsExhausted,
    CannotRetryHere,
    CasError,
    ChecksumMismatch,
    ConflictError,
    ErrRecordVersionConflict,
    IllegalTransition,
    InvalidExpectation,
    Livelocked,
    MissingExpectation,
    RecordMissing,
    RetriesExhausted,
    Superseded,
    TransientConflict,
    UnknownOutcome,
    UnsupportedBackend,
    Verdict,
    errors,
    one_of,
)
from cas_orm.facts import Facts

EXPECTED = Facts({"record_version": 7, "run_seq": 3, "state": one_of("running", None)})
ACTUAL = Facts({"record_version": 9, "run_seq": 4, "state": "done"})
PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def conflict(kind: type[ConflictError], verdict: Verdict, code: str) -> ConflictError:
    """Return a conflict with something in every attribute."""
    return kind(
        "what happened",
        model="shop.Order",
        key=(42, "de"),
        expected=EXPECTED,
        actual=ACTUAL,
        verdict=verdict,
        code=code,
        fenced=True,
    )


class StaleFlush(ErrRecordVersionConflict, RuntimeError):
    """What an adapter makes: a conflict that is an ORM's error as well."""


STALE = conflict(ErrRecordVersionConflict, Verdict.STALE, "cas-stale")
SAMPLES: list[CasError] = [
    CasError("what happened"),
    conflict(ConflictError, Verdict.UNDIAGNOSED, "cas-undiagnosed"),
    STALE,
    conflict(Superseded, Verdict.SUPERSEDED, "cas-superseded"),
    conflict(Superseded, Verdict.WRONG_STATE, "cas-wrong-state"),
    conflict(AttemptsExhausted, Verdict.EXHAUSTED, "cas-exhausted"),
    conflict(RecordMissing, Verdict.MISSING, "cas-missing"),
    conflict(StaleFlush, Verdict.STALE, "cas-stale"),
    *(
        TransientConflict("what happened", transaction=state, model="shop.Order", key=42, expected=EXPECTED)
        for state in ("dead", "open", "unknown")
    ),
    MissingExpectation("what happened"),
    InvalidExpectation("what happened"),
    IllegalTransition("what happened"),
    UnknownOutcome(
        "what happened",
        model="shop.Order",
        key=42,
        expected=EXPECTED,
        token=b"0123456789abcdef",
        in_transaction=True,
    ),
    CannotRetryHere("what happened"),
    Livelocked("what happened"),
    ChecksumMismatch("what happened"),
    UnsupportedBackend("what happened"),
]


def facts(error: CasError) -> dict[str, object]:
    """Return everything that an error knows."""
    return {**vars(error), "args": error.args, "code": error.code, "text": str(error)}


def test_every_class_is_among_the_samples() -> None:
    """A new error cannot be forgotten here. RetriesExhausted has a test of its own."""
    assert {type(error).__name__ for error in SAMPLES} == (
        set(errors.__all__) - {"RetriesExhausted"} | {"StaleFlush"}
    )


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: f"{type(error).__name__}-{error.code}")
def test_an_error_keeps_its_class_and_every_attribute(error: CasError) -> None:
    """Class, message, code and all attributes survive every protocol and a copy."""
    twins = [pickle.loads(pickle.dumps(error, protocol)) for protocol in PROTOCOLS]
    for twin in (*twins, copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is type(error)
        assert facts(twin) == facts(error)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_retries_exhausted_keeps_its_last_conflict(protocol: int) -> None:
    """The numbers and the conflict inside survive."""
    error = RetriesExhausted("gave up", attempts=6, waited=1.07, last=STALE)
    twin = pickle.loads(pickle.dumps(error, protocol))
    assert (str(twin), twin.attempts, twin.waited) == ("gave up", 6, 1.07)
    assert type(twin.last) is ErrRecordVersionConflict
    assert facts(twin.last) == facts(STALE)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_unknown_outcome_leaves_the_statement_behind(protocol: int) -> None:
    """The adapter's record of the statement is not pickled, however unpicklable; the rest is."""
    error = UnknownOutcome(
        "lost",
        model="shop.Order",
        key=42,
        expected=EXPECTED,
        token=b"t",
        in_transaction=True,
        inflight=lambda: 1,
    )
    twin = pickle.loads(pickle.dumps(error, protocol))
    assert twin.inflight is None
    assert facts(twin) == {**facts(error), "inflight": None}
    assert error.inflight is not None


@pytest.mark.parametrize("name", errors.__all__)
def test_every_attribute_has_a_default(name: str) -> None:
    """An error can be made from its message alone."""
    assert str(getattr(errors, name)("what happened")) == "what happened"


@pytest.mark.parametrize(
    "kind", [ConflictError, Superseded, TransientConflict, UnknownOutcome, RetriesExhausted]
)
def test_facts_are_keyword_only(kind: type[CasError]) -> None:
    """A fact never lands in the wrong attribute by its position."""
    with pytest.raises(TypeError):
        kind("what happened", "shop.Order")


def test_notes_and_causes_do_not_get_in_the_way() -> None:
    """A note is kept; the driver's error stays behind, as Python has it."""
    error = TransientConflict("refused", transaction="dead")
    error.__cause__ = RuntimeError("driver")
    error.add_note("while saving")
    twin = pickle.loads(pickle.dumps(error))
    assert twin.__notes__ == ["while saving"]
    assert twin.transaction == "dead"
