"""What the set-based verbs of jobs share: how many, how old, and what a sweep does with a job. Pure."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace

from cas_orm.lifecycle import Lifecycle, Move

__all__ = ["StaleCounts", "check_age", "check_count", "check_start", "sweep"]


@dataclass(frozen=True, slots=True)
class StaleCounts:
    """Say what a sweep over stale jobs came to.

    Attributes:
        requeued: jobs that wait for a worker again.
        gave_up: jobs that were closed, because their budget is spent.
    """

    requeued: int
    gave_up: int


def check_count(n: object) -> int:
    """Return how many jobs to claim.

    Raises:
        ValueError: not a whole number of at least 1.
    """
    if type(n) is not int or n < 1:
        raise ValueError(f"claim() takes how many jobs to start, at least 1, not {n!r}")
    return n


def check_age(older_than: object) -> datetime.timedelta:
    """Return how old a heartbeat has to be.

    Raises:
        TypeError: not a timedelta.
        ValueError: a negative one: every job would be taken from its worker.
    """
    if not isinstance(older_than, datetime.timedelta):
        raise TypeError(f"older_than is a timedelta, not {type(older_than).__name__}")
    if older_than < datetime.timedelta(0):
        raise ValueError("older_than must not be negative")
    return older_than


def check_start(life: Lifecycle) -> None:
    """Refuse a class whose waiting jobs cannot be started, before anything is read.

    Raises:
        IllegalTransition: the initial state does not become the running one.
    """
    life.start("", {"state": life.initial})


def sweep(life: Lifecycle, attempts: int) -> tuple[Move, bool]:
    """Return what a stale job becomes, and whether that gives it up.

    It is requeued, its attempts kept; or closed, when the budget is spent. A job that another sweep has
    closed alike is not counted again.

    Args:
        life: the states of its class.
        attempts: how often it was started.

    Raises:
        IllegalTransition: the running state does not become what it would have to.
    """
    if life.max_attempts is None or attempts < life.max_attempts:
        return life.requeue(new_budget=False), False
    state, result = life.gave_up
    closed = life.finish(state, result, logs=None, finished_at=None, loaded={"state": life.running})
    return replace(closed, target=None), True
