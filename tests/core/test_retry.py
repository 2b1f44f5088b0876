"""The policy says how long to wait, and validates itself; the loop says when to give up."""

from __future__ import annotations

import math
import pickle
import random
from copy import deepcopy
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cas_orm import (
    AttemptsExhausted,
    ConflictError,
    ErrRecordVersionConflict,
    RecordMissing,
    RetriesExhausted,
    RetryPolicy,
    Superseded,
    TransientConflict,
    Verdict,
)
from cas_orm.flow import Tally, retries
from cas_orm.retry import may_be_retried

seconds = st.floats(0, 1e6)
retry_number = st.integers(0, 5000)
jitters = st.sampled_from(["full", "equal", "none"])
fractions = st.floats(0, 1, exclude_max=True)
policies = st.builds(
    RetryPolicy,
    delays=st.none() | st.lists(seconds, min_size=1, max_size=6),
    base=seconds,
    cap=seconds,
    jitter=jitters,
    max_retries=st.integers(0, 50),
    rng=fractions.map(lambda f: lambda: f),
)
BAD_SECONDS = [-1, -0.001, math.nan, math.inf, -math.inf, True, "1", None, [1]]


def test_defaults() -> None:
    """The default: 5 ms doubling to 100 ms, full jitter, thirty retries, no time limit."""
    policy = RetryPolicy()
    assert (policy.delays, policy.base, policy.cap) == (None, 0.005, 0.1)
    assert (policy.jitter, policy.max_retries, policy.timeout) == ("full", 30, None)
    assert policy.rng is random.random


def test_the_coordinators_schedule() -> None:
    """One commit, then up to five retries after 0, 10, 20, 40 ms and 1 s; exact() is without jitter."""
    assert RetryPolicy.coordinator().delays == RetryPolicy.exact().delays == (0, 0.01, 0.02, 0.04, 1.0)
    assert RetryPolicy.coordinator().max_retries == RetryPolicy.exact().max_retries == 5
    assert RetryPolicy.coordinator().jitter == "full"
    assert list(RetryPolicy.exact().waits()) == [0, 0.01, 0.02, 0.04, 1.0]
    assert RetryPolicy.exact() == replace(RetryPolicy.coordinator(), jitter="none")


@given(policies, retry_number)
def test_no_wait_is_longer_than_its_nominal_one(policy: RetryPolicy, i: int) -> None:
    """Whatever the jitter, a wait lies between 0 and its nominal length."""
    assert 0 <= policy.delay(i) <= policy.nominal(i)


@given(seconds, seconds, retry_number, fractions)
def test_exponential_waits(base: float, cap: float, i: int, drawn: float) -> None:
    """Without delays the nominal wait doubles up to the cap; full and equal jitter are drawn below it."""
    exact = RetryPolicy(base=base, cap=cap, jitter="none", rng=lambda: drawn)
    nominal = min(cap, base * 2.0 ** min(i, 1000))
    assert exact.delay(i) == exact.nominal(i) == nominal
    assert replace(exact, jitter="full").delay(i) == nominal * drawn
    assert replace(exact, jitter="equal").delay(i) == nominal / 2 + nominal / 2 * drawn


@given(st.lists(seconds, min_size=1, max_size=6), retry_number)
def test_given_delays(delays: list[float], i: int) -> None:
    """The last delay repeats, and the cap does not cut them."""
    policy = RetryPolicy(delays=delays, cap=0, jitter="none")
    assert policy.delay(i) == (delays[i] if i < len(delays) else delays[-1])


@given(policies)
def test_waits_are_as_many_as_the_retries(policy: RetryPolicy) -> None:
    """`waits` yields one wait for each retry, each as `delay` gives it."""
    assert list(policy.waits()) == [policy.delay(i) for i in range(policy.max_retries)]


def test_a_huge_retry_number_does_not_overflow() -> None:
    """The doubling stops long before a float does."""
    assert RetryPolicy(jitter="none").delay(10**9) == 0.1


@pytest.mark.parametrize("i", [-1, -100])
def test_a_negative_retry_is_refused(i: int) -> None:
    """A negative number would silently count the delays from their end."""
    for policy in (RetryPolicy(), RetryPolicy.coordinator()):
        with pytest.raises(ValueError, match="counted from 0"):
            policy.delay(i)


@pytest.mark.parametrize("value", BAD_SECONDS, ids=repr)
@pytest.mark.parametrize("name", ["base", "cap", "timeout", "delays"])
def test_bad_seconds(name: str, value: Any) -> None:
    """Every time is a finite number of seconds from 0 on; the message names the argument."""
    if (name, value) == ("timeout", None):
        assert RetryPolicy(timeout=None).timeout is None
        return
    options: dict[str, Any] = {name: [0, value] if name == "delays" else value}
    with pytest.raises(ValueError, match=name):
        RetryPolicy(**options)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"delays": []}, "empty"),
        ({"delays": ()}, "empty"),
        ({"jitter": "some"}, "'full', 'equal', 'none'"),
        ({"jitter": None}, "'full', 'equal', 'none'"),
        ({"jitter": True}, "'full', 'equal', 'none'"),
        ({"max_retries": -1}, "max_retries"),
        ({"max_retries": 1.0}, "max_retries"),
        ({"max_retries": True}, "max_retries"),
        ({"max_retries": None}, "max_retries"),
        ({"rng": 0.5}, "rng"),
    ],
)
def test_bad_policies(options: dict[str, Any], match: str) -> None:
    """What cannot be a policy is refused when it is made, not at the first conflict."""
    with pytest.raises(ValueError, match=match):
        RetryPolicy(**options)


@pytest.mark.parametrize(
    "options", [{"base": 0, "cap": 0}, {"delays": [0]}, {"timeout": 0}, {"max_retries": 0}, {"base": 1}]
)
def test_the_edges_are_accepted(options: dict[str, Any]) -> None:
    """Zero is a time, and no retry is a policy."""
    assert RetryPolicy(**options)


def test_values() -> None:
    """A policy is frozen, keyword-only, hashable, comparable, and copied with changes."""
    policy = RetryPolicy(delays=[0.5, 1])
    assert (policy.delays, policy) == ((0.5, 1.0), RetryPolicy(delays=(0.5, 1.0)))
    assert len({policy, RetryPolicy(delays=(0.5, 1)), RetryPolicy()}) == 2
    assert replace(policy, max_retries=2).delays == policy.delays
    with pytest.raises(FrozenInstanceError):
        policy.base = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        RetryPolicy([0.5])  # type: ignore[misc]


def test_a_pickled_policy_draws_from_the_process_that_loads_it() -> None:
    """Fifty workers that got the same policy would otherwise all wait the same time."""
    policy = RetryPolicy(delays=[1], timeout=2, max_retries=3)
    for copy in (pickle.loads(pickle.dumps(policy)), deepcopy(policy)):
        assert copy == policy
        assert copy.rng is random.random
    own = random.Random(7)
    assert pickle.loads(pickle.dumps(replace(policy, rng=own.random))).delay(0) == own.random()


#: What is retried; everything else below is not.
RETRIED: list[ConflictError] = [
    ErrRecordVersionConflict("stale", verdict=Verdict.STALE),
    TransientConflict("dead", transaction="dead"),
    TransientConflict("open", transaction="open"),
    TransientConflict("unknown"),
    ConflictError("undiagnosed", verdict=Verdict.UNDIAGNOSED),
]
NOT_RETRIED: list[ConflictError] = [
    Superseded("generation"),
    Superseded("state", code="cas-wrong-state"),
    AttemptsExhausted("budget"),
    RecordMissing("gone"),
    ErrRecordVersionConflict("fenced", fenced=True),
    ConflictError("fenced", fenced=True),
]


@pytest.mark.parametrize("error", RETRIED, ids=str)
def test_retried(error: ConflictError) -> None:
    """A fresh look at the row may win."""
    assert may_be_retried(error)


@pytest.mark.parametrize("error", NOT_RETRIED, ids=str)
def test_not_retried(error: ConflictError) -> None:
    """Somebody has decided, or nobody has looked: doing it again would overrule, or repeat."""
    assert not may_be_retried(error)


LOST = ErrRecordVersionConflict("shop.Order 7 was not saved [cas-stale]")


def lose(policy: RetryPolicy, *, attempt_takes: float = 0.0) -> tuple[list[float], Tally, RetriesExhausted]:
    """Lose every attempt on a clock of our own; return the waits and how it ended."""
    now, waits, tally = 0.0, [], Tally()
    loop = retries(policy, tally, clock=lambda: now)
    with pytest.raises(RetriesExhausted) as gave_up:
        wait = next(loop)
        while True:
            waits.append(wait)
            now += wait + attempt_takes
            wait = loop.send(LOST)
    return waits, tally, gave_up.value


@given(policies)
def test_the_loop_gives_up_when_the_retries_are_used_up(policy: RetryPolicy) -> None:
    """One attempt and the retries, each after its wait; the error has the numbers and the cause."""
    waits, tally, error = lose(policy)
    assert waits == [0, *policy.waits()]
    assert (tally.attempts, error.attempts) == (policy.max_retries + 1,) * 2
    assert error.waited == tally.waited == pytest.approx(sum(policy.waits()))
    assert error.last is LOST
    assert error.__cause__ is LOST
    assert "[cas-retries-exhausted]" in str(error)


@given(policies, st.floats(0, 100), st.floats(0, 10))
def test_the_timeout_covers_waits_and_attempts(
    policy: RetryPolicy, timeout: float, attempt_takes: float
) -> None:
    """No attempt begins at or after the limit, and a wait that would end there is not begun."""
    policy = replace(policy, timeout=timeout)
    waits, tally, _ = lose(policy, attempt_takes=attempt_takes)
    last_begun = sum(waits) + attempt_takes * (tally.attempts - 1)
    assert tally.attempts == 1 or last_begun < timeout or last_begun == pytest.approx(timeout)
    if tally.attempts <= policy.max_retries:
        next_begin = sum(waits) + attempt_takes * tally.attempts + policy.delay(tally.attempts - 1)
        assert next_begin > timeout or next_begin == pytest.approx(timeout)


@pytest.mark.parametrize(
    ("timeout", "attempts", "waited"), [(None, 6, 1.07), (1.0, 5, 0.07), (0.05, 4, 0.03), (0, 1, 0)]
)
def test_the_timeout_in_numbers(timeout: float | None, attempts: int, waited: float) -> None:
    """On the exact schedule: the 1 s wait is not begun when only one second is allowed."""
    _, _, error = lose(replace(RetryPolicy.exact(), timeout=timeout))
    assert (error.attempts, error.waited) == (attempts, pytest.approx(waited))


def test_the_message_says_what_happened_and_no_column_value() -> None:
    """Attempts, waits, the reason, the last conflict, what to do, the code."""
    _, _, error = lose(replace(RetryPolicy.exact(), timeout=0.05))
    text = str(error)
    assert "4 attempts" in text
    assert "0.030 s" in text
    assert "0.05 seconds are over" in text
    assert str(LOST) in text
