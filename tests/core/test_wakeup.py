"""The envelope, the delays of the queue, and the checksum: pure values."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cas_orm import (
    ChecksumPolicy,
    LivelockPolicy,
    RequeuePolicy,
    RunSnapshot,
    Transition,
    WakeUp,
    state_checksum,
)

numbers = st.none() | st.integers(0, 2**63 - 1)
wakeups = st.builds(
    WakeUp,
    st.text(min_size=1),
    requeue_count=st.integers(0, 50),
    tier=st.text(min_size=1),
    run_seq=numbers,
    record_version=numbers,
    last_transition_seq=numbers,
    reason=st.text(),
)


@pytest.mark.parametrize(
    ("wakeup", "key"),
    [
        (WakeUp("7"), "cas:7:0:0:0:default:-:0"),
        (
            WakeUp(
                "7",
                requeue_count=3,
                tier="slow",
                run_seq=1,
                record_version=9,
                last_transition_seq=5,
                reason="timer",
            ),
            "cas:7:1:5:9:slow:timer:3",
        ),
    ],
)
def test_the_task_key(wakeup: WakeUp, key: str) -> None:
    """Deterministic, and of the shape that is promised."""
    assert wakeup.task_key == key


@given(wakeups)
def test_an_envelope_travels(wakeup: WakeUp) -> None:
    """Through JSON and pickles; a newer sender may know more."""
    assert WakeUp.from_json(wakeup.to_json()) == wakeup
    assert pickle.loads(pickle.dumps(wakeup)) == wakeup
    newer = json.dumps({**json.loads(wakeup.to_json()), "colour": "red"})
    assert WakeUp.from_json(newer) == wakeup


@given(wakeups)
def test_a_requeued_envelope_has_another_key(wakeup: WakeUp) -> None:
    """Or the queue's deduplication would swallow it."""
    again = wakeup.requeued()
    assert again.requeue_count == wakeup.requeue_count + 1
    assert again.task_key != wakeup.task_key
    assert (again.run_id, again.run_seq, again.tier) == (wakeup.run_id, wakeup.run_seq, wakeup.tier)
    seen = wakeup.requeued(run_seq=1, record_version=2, last_transition_seq=3)
    assert (seen.run_seq, seen.record_version, seen.last_transition_seq) == (1, 2, 3)


@pytest.mark.parametrize(
    "values",
    [
        {"run_id": ""},
        {"run_id": 7},
        {"requeue_count": -1},
        {"requeue_count": True},
        {"run_seq": "1"},
        {"record_version": -1},
        {"tier": ""},
        {"reason": None},
    ],
)
def test_an_envelope_that_exists_is_valid(values: dict[str, Any]) -> None:
    """Junk is refused, also from JSON."""
    values = {"run_id": "7"} | values
    run_id = values.pop("run_id")
    with pytest.raises(ValueError):
        WakeUp(run_id, **values)
    with pytest.raises(ValueError):
        WakeUp.from_json(json.dumps({"run_id": run_id, **values}))


@pytest.mark.parametrize("text", ["", "[]", "{}", "7", b"\xff"])
def test_no_envelope(text: Any) -> None:
    """What is none is a ValueError."""
    with pytest.raises(ValueError):
        WakeUp.from_json(text)


def test_an_envelope_is_frozen() -> None:
    """Nobody changes it on its way."""
    with pytest.raises(FrozenInstanceError):
        WakeUp("7").tier = "x"  # type: ignore[misc]  # refused on purpose


def test_exact_requeue_delays() -> None:
    """Doubling up to the cap, for ever."""
    policy = RequeuePolicy(jitter="none")
    assert [policy.delay(n) for n in (0, 1, 2, 6, 7, 5000)] == pytest.approx([0.1, 0.2, 0.4, 6.4, 10, 10])


@given(st.integers(0, 100), st.floats(0, 0.999))
def test_jittered_requeue_delays(n: int, drawn: float) -> None:
    """Between nothing and the exact delay."""
    exact = RequeuePolicy(jitter="none").delay(n)
    assert 0 <= RequeuePolicy(rng=lambda: drawn).delay(n) <= exact


def test_the_livelock_guard_counts_to_its_number() -> None:
    """Five by default."""
    assert [LivelockPolicy().gives_up(n) for n in (0, 4, 5, 6)] == [False, False, True, True]
    with pytest.raises(ValueError):
        LivelockPolicy(-1)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values)
def test_a_checksum_survives_a_round_trip(value: Any) -> None:
    """Whatever order the keys have and whether 1.0 comes back as 1."""
    assert state_checksum(json.loads(json.dumps(value))) == state_checksum(value)


def test_the_checksum_is_pinned() -> None:
    """Rows that were written years ago still check out."""
    assert state_checksum({"node_states": {"b": 1.0, "a": "ü"}, "last_transition_seq": 3}) == state_checksum(
        {"last_transition_seq": 3, "node_states": {"a": "ü", "b": 1}}
    )
    assert (
        state_checksum({"node_states": {}, "last_transition_seq": 0})
        == "59cdc4d4c8136896a3358dd78401a7dffc18f4dbb931905346859519ca110800"
    )


@pytest.mark.parametrize(
    ("value", "error"), [(float("nan"), ValueError), ({(1,): 2}, TypeError), (object(), TypeError)]
)
def test_no_checksum(value: Any, error: type[Exception]) -> None:
    """What JSON does not have."""
    with pytest.raises(error):
        state_checksum(value)


@pytest.mark.parametrize("sample", [-0.1, 1.1])
def test_a_share(sample: float) -> None:
    """From 0 to 1."""
    with pytest.raises(ValueError):
        ChecksumPolicy(sample=sample)


def test_a_snapshot_thaws_into_a_copy() -> None:
    """A tick builds the next state from it; the snapshot compares as plain JSON and travels."""
    run = RunSnapshot("7", 1, 0, "running", {"a": [1, {"b": 2}]}, 0)
    assert run.node_states == {"a": [1, {"b": 2}]}
    assert json.dumps(run.node_states) == '{"a": [1, {"b": 2}]}'
    copied = copy.deepcopy(run.node_states)
    copied["a"][1]["b"] = 3
    assert run.node_states["a"][1]["b"] == 2
    assert pickle.loads(pickle.dumps(run)) == run
    with pytest.raises(TypeError):
        run.node_states["a"].append(3)
    assert Transition("x", copied).node_states == {"a": [1, {"b": 3}]}
