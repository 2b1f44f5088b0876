"""Messages name the row, the numbers, the columns, the advice and the code; never a column's value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cas_orm import Expect, Outcome, Verdict, not_one_of, one_of
from cas_orm.expect import ValueSet
from cas_orm.facts import Facts

COLUMNS = ("owner", "action", "result")


def message(verdict: Verdict, expected: Expect, actual: dict[str, object] | None, verb: str = "save") -> str:
    """Return the text of the error that fits."""
    found = None if actual is None else Facts(actual)
    lost = Outcome(verdict, "shop.Order", 42, Facts(expected.believed()), found, verb=verb)
    return str(lost.as_error())


BELIEF = Expect(record_version=7, run_seq=3, state="running")

GOLDEN: list[tuple[Verdict, dict[str, object] | None, str]] = [
    (
        Verdict.STALE,
        {"record_version": 9, "run_seq": 3, "state": "running"},
        (
            "shop.Order 42 was not saved: expected record_version 7, found 9."
            " Reload, reapply the change, save again. [cas-stale]"
        ),
    ),
    (
        Verdict.SUPERSEDED,
        {"record_version": 9, "run_seq": 4, "state": "pending"},
        (
            "shop.Order 42 was not saved: expected run_seq 3, found 4; expected record_version 7, found 9;"
            " state changed. A newer generation owns the row; stop this attempt. [cas-superseded]"
        ),
    ),
    (
        Verdict.WRONG_STATE,
        {"record_version": 7, "run_seq": 3, "state": "done"},
        (
            "shop.Order 42 was not saved: state changed."
            " Another actor decided; reload before deciding again. [cas-wrong-state]"
        ),
    ),
    (
        Verdict.EXHAUSTED,
        {"record_version": 7, "run_seq": 3, "state": "running", "attempts": 5},
        "shop.Order 42 was not saved. The attempt budget is spent. [cas-exhausted]",
    ),
    (
        Verdict.MISSING,
        None,
        "shop.Order 42 was not saved. The row is gone; a save never inserts it again. [cas-missing]",
    ),
    (
        Verdict.UNDIAGNOSED,
        None,
        (
            "shop.Order 42 was not saved. The row looks as believed; an old snapshot, a trigger"
            " or row security refused the write. [cas-undiagnosed]"
        ),
    ),
]


@pytest.mark.parametrize(("verdict", "actual", "text"), GOLDEN, ids=[case[0] for case in GOLDEN])
def test_the_sentence_of_every_refusal(verdict: Verdict, actual: dict[str, object] | None, text: str) -> None:
    """What happened to which row, expected against found, what to do, code."""
    assert message(verdict, BELIEF, actual) == text


@pytest.mark.parametrize(
    ("verb", "participle"),
    [("save", "saved"), ("delete", "deleted"), ("update", "updated"), ("new_generation", "handed over")],
)
def test_the_verb_is_named(verb: str, participle: str) -> None:
    """The message says what was not done."""
    assert f"42 was not {participle}." in message(Verdict.MISSING, BELIEF, None, verb)


def distinctive() -> st.SearchStrategy[object]:
    """Draw values that could not stand in a message by accident."""
    text = st.uuids().map(lambda value: f"value{value.hex}")
    return st.one_of(text, st.integers(10**15, 10**18))


def beliefs_of_columns() -> st.SearchStrategy[dict[str, object]]:
    """Draw what is believed of some columns: values, sets of both kinds, NULL."""
    several = st.lists(distinctive(), min_size=1, max_size=3)
    belief = st.one_of(
        st.none(),
        distinctive(),
        several.map(lambda values: one_of(*values)),
        several.map(lambda values: not_one_of(*values)),
    )
    return st.dictionaries(st.sampled_from(COLUMNS), belief)


def leaves(value: object) -> list[object]:
    """Return every plain value inside a belief."""
    return value.sorted() if isinstance(value, ValueSet) else [value]


@given(
    verdict=st.sampled_from([v for v in Verdict if v not in (Verdict.WON, Verdict.ALREADY_APPLIED)]),
    numbers=st.tuples(*[st.integers(100, 999)] * 4),
    believed=beliefs_of_columns(),
    found=st.fixed_dictionaries({name: st.none() | distinctive() for name in COLUMNS}),
)
def test_a_message_carries_the_facts_and_never_a_value(
    verdict: Verdict, numbers: tuple[int, ...], believed: dict[str, object], found: dict[str, object]
) -> None:
    """Row, differing numbers, differing columns and code are there; no value of any column is."""
    version, generation, new_version, new_generation = numbers
    expected = Expect(record_version=version, run_seq=generation, **believed)
    actual = {"record_version": new_version, "run_seq": new_generation, **found}
    error = Outcome(verdict, "shop.Order", 42, Facts(expected.believed()), Facts(actual)).as_error()
    text = str(error)

    assert text.startswith("shop.Order 42 was not ")
    assert text.endswith(f"[{error.code}]")
    assert (f"expected record_version {version}, found {new_version}" in text) == (version != new_version)
    assert (f"expected run_seq {generation}, found {new_generation}" in text) == (
        generation != new_generation
    )
    facts = text.partition(".")[2].partition(".")[0]
    for name in COLUMNS:
        belief = expected.columns.get(name, found[name])
        holds = found[name] in belief if isinstance(belief, ValueSet) else found[name] == belief
        assert (name in facts) is not holds
    for value in [*found.values(), *(leaf for belief in believed.values() for leaf in leaves(belief))]:
        assert value is None or str(value) not in f"{text} {error!r}"


def test_the_advice_of_a_fence_fits_its_refusal() -> None:
    """A reload helps an object that is behind; it cannot help one whose row is gone."""
    stale = Outcome(Verdict.STALE, "shop.Order", 42, verb="save").as_error(fenced=True)
    gone = Outcome(Verdict.MISSING, "shop.Order", 42, verb="save").as_error(fenced=True)
    assert "First reload the object." in str(stale)
    assert (
        str(gone)
        == "shop.Order 42 was not saved. The row is gone; a save never inserts it again. [cas-missing]"
    )
