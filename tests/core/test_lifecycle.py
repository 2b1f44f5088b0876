"""The lifecycle without a database: every verb, in any order and of any generation, against a model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from cas_orm import Expect, IllegalTransition, InvalidExpectation, Verdict, judge, one_of
from cas_orm.lifecycle import CLOCK, RAISED, Lifecycle, Move
from tests.core import job_model as model

LIFE = Lifecycle(
    label="Chore",
    initial=model.INITIAL,
    running=model.RUNNING,
    terminal=model.TERMINAL,
    transitions=model.EDGES,
    max_attempts=model.BUDGET,
    gave_up=("bad", "gave_up"),
)
STATES = (model.INITIAL, model.RUNNING, *model.TERMINAL)


def planned(asked: model.Asked, loaded: dict[str, Any] | None) -> Move:
    """Return the library's move for a call."""
    given = dict(asked.given)
    match asked.verb:
        case "start":
            return LIFE.start(given["owner"], loaded)
        case "save_status":
            return LIFE.save_status(given["status"], given.get("logs"), loaded)
        case "finish":
            end = (given["state"], given["result"])
            return LIFE.finish(*end, logs=given.get("logs"), finished_at=None, loaded=loaded)
        case "heartbeat":
            return LIFE.heartbeat()
    return LIFE.requeue(**given)


def moved(row: model.Row, move: Move) -> model.Row:
    """Return the row after the library's move has won."""
    written = {
        name: row[name] + 1 if value is RAISED else value
        for name, value in move.writes.items()
        if value is not CLOCK and name in row
    }
    numbers = {
        "run_seq": row["run_seq"] + move.hands_over,
        "record_version": row["record_version"] + move.bumps,
    }
    return row | written | numbers


def tried(
    row: model.Row, asked: model.Asked, run_seq: int, loaded: dict[str, Any] | None
) -> tuple[str, model.Row]:
    """Return what the library makes of a call."""
    try:
        move = planned(asked, loaded)
    except IllegalTransition:
        return "illegal", row
    budget = None if move.budget is None else ("attempts", move.budget)
    told = judge(move.with_(Expect(run_seq=run_seq)), row, target=move.target, budget=budget)
    if told is Verdict.UNDIAGNOSED:  # nothing differs: the statement would have found the row
        return "won", moved(row, move)
    return told, row


def foretold(
    row: model.Row, asked: model.Asked, run_seq: int, loaded: dict[str, Any] | None
) -> tuple[str, model.Row]:
    """Return what has to become of a call."""
    try:
        does = model.effect(asked, loaded)
    except model.Illegal:
        return "illegal", row
    told = model.verdict(row, does, {"run_seq": run_seq})
    after = model.applied(row, does) if told is Verdict.WON else row
    assert after is not None
    return told, after


class Machine(RuleBasedStateMachine):
    """One row; calls by key, and by objects that were loaded at any time before."""

    def __init__(self) -> None:
        super().__init__()
        self.row = model.new_row()
        self.seen = [self.row]

    @rule(asked=st.sampled_from(model.LIFECYCLE_CALLS), old=st.integers(0, 3))
    def by_key(self, asked: model.Asked, old: int) -> None:
        """Call a verb for the generation of now, or for an old one."""
        self.check(asked, max(0, self.row["run_seq"] - old), None)

    @rule(asked=st.sampled_from(model.LIFECYCLE_CALLS), back=st.integers(0, 4))
    def on_object(self, asked: model.Asked, back: int) -> None:
        """Call a verb on an object as it was loaded some steps ago."""
        held = self.seen[max(-1 - back, -len(self.seen))]
        loaded = {name: held[name] for name in ("state", "action")}
        self.check(asked, held["run_seq"], loaded)

    @rule(action=st.sampled_from(["start", "stop"]))
    def ask(self, action: str) -> None:
        """Change the action, as a request to stop does."""
        self.row = self.row | {"action": action, "record_version": self.row["record_version"] + 1}
        self.seen.append(self.row)

    def check(self, asked: model.Asked, run_seq: int, loaded: dict[str, Any] | None) -> None:
        """Compare the library with the model, and keep the promises that need no model."""
        before = self.row
        told, after = tried(before, asked, run_seq, loaded)
        assert (told, after) == foretold(before, asked, run_seq, loaded)
        if run_seq != before["run_seq"]:
            assert told in (Verdict.SUPERSEDED, "illegal")
            assert after == before
        assert after["run_seq"] - before["run_seq"] in (0, 1)
        assert 0 <= after["attempts"] <= model.BUDGET
        if before["state"] in model.TERMINAL and after["state"] not in model.TERMINAL:
            assert asked.given["new_budget"]
        self.row = after
        self.seen.append(after)


def test_every_verb_in_any_order() -> None:
    """Verdict and row are the model's; an old generation changes nothing; the budget is never overdrawn."""
    run_state_machine_as_test(  # type: ignore[no-untyped-call]  # hypothesis does not say
        Machine, settings=settings(max_examples=200, stateful_step_count=30, derandomize=True, deadline=None)
    )


@given(state=st.sampled_from(STATES), end=st.sampled_from(STATES))
def test_an_object_leaves_its_state_by_an_edge(state: str, end: str) -> None:
    """Finishing: a terminal end, and an edge to it; from a terminal state the same end may be applied."""
    loaded = {"state": state, "action": "start"}
    legal = end in model.TERMINAL and (state in model.TERMINAL or end in model.EDGES[state])
    if legal:
        move = LIFE.finish(end, "r", logs=None, finished_at=None, loaded=loaded)
        assert move.target == {"state": end, "result": "r"}
    else:
        with pytest.raises(IllegalTransition):
            LIFE.finish(end, "r", logs=None, finished_at=None, loaded=loaded)


@given(states=st.sets(st.sampled_from(STATES), min_size=1))
def test_a_caller_may_only_narrow_the_state(states: set[str]) -> None:
    """What the caller believes of the state meets the verb's own belief, or there is no such edge."""
    move = LIFE.requeue(new_budget=False)
    expect = Expect(run_seq=0, state=one_of(*states))
    if model.RUNNING in states:
        assert move.with_(expect).columns["state"] in (model.RUNNING, one_of(model.RUNNING))
    else:
        with pytest.raises(IllegalTransition):
            move.with_(expect)


def test_what_is_no_expectation() -> None:
    """Anything but an Expect is refused before any SQL."""
    with pytest.raises(InvalidExpectation):
        LIFE.heartbeat().with_({"run_seq": 1})  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gave_up": ("new", "")}, "not a terminal state"),
        ({"terminal": ("ok", "bad", "busy")}, "must not be terminal"),
        ({"transitions": {"new": ("dropped",), "busy": ("new", "ok", "bad")}}, "has no edge"),
        ({"max_attempts": 0}, "at least 1"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], words: str) -> None:
    """Each mistake is named; without one there is nothing to say."""
    from dataclasses import replace

    assert LIFE.problems() == []
    (problem,) = replace(LIFE, **options).problems()
    assert words in problem
