"""Acceptance cases from public bug reports, each with two connections."""

from __future__ import annotations

from threading import Barrier
from typing import Any

import pytest

from cas_orm import ErrRecordVersionConflict, Expect, Outcome, Superseded, Verdict
from cas_orm_django import try_update_if_current
from tests.django import tables
from tests.django.shop.models import Member, Periodic, Run, Schedule
from tests.races.actors import Actor
from tests.races.on import EVERYWHERE, on

STARTED = Expect(run_seq=0, state="STARTED")


def report(run: Run, state: str, hooks: list[str]) -> Outcome:
    """Write a closing state as a worker does that holds the object."""
    return run.update_if_current(expect=STARTED, set={"state": state}, on_won=lambda o: hooks.append(state))


@pytest.mark.parametrize(("first", "second"), [("CANCELED", "SUCCESS"), ("SUCCESS", "CANCELED")])
@on(*EVERYWHERE)
def test_ac01_a_cancelled_run_does_not_become_a_success(
    door: str, pair: list[Actor], first: str, second: str
) -> None:
    """AC-01: the first to commit decides; the second is told, and its hook never runs."""
    early, late = pair
    key = Run.objects.using(door).create(state="STARTED").pk
    hooks: list[str] = []
    held = [actor.do(Run.objects.using(door).get, pk=key) for actor in pair]
    early.do(report, held[0], first, hooks)
    refused = late.fails(report, held[1], second, hooks)
    assert isinstance(refused, Superseded)
    assert (refused.code, refused.actual["state"]) == ("cas-wrong-state", first)
    assert tables.row(Run, key, door)["state"] == first
    assert hooks == [first]


@pytest.mark.parametrize(("first", "second"), [("CANCELED", "SUCCESS"), ("SUCCESS", "CANCELED")])
@on(*EVERYWHERE)
def test_ac01_while_the_first_is_not_yet_committed(
    door: str, pair: list[Actor], first: str, second: str
) -> None:
    """AC-01: the second waits for the first one's commit and then loses; it wins after a rollback."""
    early, late = pair
    for end, winner in ((Actor.commit, first), (Actor.rollback, second)):
        key = Run.objects.using(door).create(state="STARTED").pk
        hooks: list[str] = []
        held = [actor.do(Run.objects.using(door).get, pk=key) for actor in pair]
        early.begin()
        early.do(report, held[0], first, hooks)
        waiting = late.blocks(report, held[1], second, hooks)
        end(early)
        refused = waiting.exception(30)
        assert (refused is None) is (winner == second)
        assert refused is None or isinstance(refused, Superseded)
        assert (tables.row(Run, key, door)["state"], hooks) == (winner, [winner])


@on("postgres", "mariadb", "mariadb_rr", "postgres_rr", "sqlite", "sqlite_wal")
def test_ac02_two_schedulers_one_start(door: str, pair: list[Actor]) -> None:
    """AC-02: in 200 rounds exactly one schedules, the generation is 1, one message exists."""
    barrier = Barrier(2)

    def schedule(run: Run, who: int, messages: list[int]) -> Outcome:
        barrier.wait(30)
        return run.try_new_generation_if_current(
            set={"state": "SCHEDULED"}, on_won=lambda outcome: messages.append(who)
        )

    for _ in range(200):
        key = Run.objects.using(door).create().pk
        held = [actor.do(Run.objects.using(door).get, pk=key) for actor in pair]
        messages: list[int] = []
        racing = [
            a.start(schedule, run, n, messages) for n, (a, run) in enumerate(zip(pair, held, strict=True))
        ]
        outcomes = [r.result(30) for r in racing]
        assert sorted(o.verdict for o in outcomes) == [Verdict.SUPERSEDED, Verdict.WON]
        assert [outcomes[n].verdict for n in messages] == [Verdict.WON]
        row = tables.row(Run, key, door)
        assert (row["run_seq"], row["record_version"], row["state"]) == (1, 2, "SCHEDULED")


@on(*EVERYWHERE)
def test_ac04_a_copy_held_for_hours(door: str, pair: list[Actor]) -> None:
    """AC-04: the process that holds an old copy gets a conflict; the edit and the cascade survive."""
    process, user = pair
    schedule = Schedule.objects.using(door).create(cron="* * * * *")
    key = Periodic.objects.using(door).create(args="old", schedule=schedule).pk
    held = process.do(Periodic.objects.using(door).get, pk=key)
    user.do(Periodic.objects.using(door).filter(pk=key).update, args="new")
    user.do(schedule.delete)

    def switch_off() -> None:
        held.enabled = False
        held.save()

    assert isinstance(process.fails(switch_off), ErrRecordVersionConflict)
    row = tables.row(Periodic, key, door)
    assert (row["args"], row["schedule_id"], row["enabled"]) == ("new", None, True)
    process.do(held.refresh_from_db)
    process.do(switch_off)
    row = tables.row(Periodic, key, door)
    assert (row["args"], row["schedule_id"], row["enabled"]) == ("new", None, False)


@on(*EVERYWHERE)
def test_ac04_a_cascade_alone(door: str, pair: list[Actor]) -> None:
    """AC-04: a foreign key that was emptied meanwhile is never written back."""
    process, user = pair
    schedule = Schedule.objects.using(door).create()
    key = Periodic.objects.using(door).create(schedule=schedule).pk
    held = process.do(Periodic.objects.using(door).get, pk=key)
    user.do(schedule.delete)
    assert isinstance(process.fails(held.save), ErrRecordVersionConflict)
    assert tables.row(Periodic, key, door)["schedule_id"] is None


@on(*EVERYWHERE)
def test_ac06_expectation_without_a_change(door: str, pair: list[Actor]) -> None:
    """AC-06: the late one asks for what is already there and is refused all the same."""
    early, late = pair
    key = Run.objects.using(door).create(state=None).pk

    def shelve() -> Outcome:
        run = Run.objects.using(door).get(pk=key)
        return run.update_if_current(expect=Expect(state=None), set={"state": "SHELVING"})

    early.do(shelve)
    assert isinstance(late.fails(shelve), Superseded)
    by_key: Any = late.do(
        try_update_if_current,
        Run,
        key,
        expect=Expect(record_version=1),
        set={"state": "SHELVING"},
        using=door,
    )
    assert by_key.verdict is Verdict.STALE


@on(*EVERYWHERE)
def test_ac07_partial_saves(door: str, pair: list[Actor]) -> None:
    """AC-07: A saves partially and then in full; B's older copy is refused."""
    a, b = pair
    key = Member.objects.using(door).create(username="m").pk
    mine = a.do(Member.objects.using(door).get, pk=key)
    older = b.do(Member.objects.using(door).get, pk=key)
    a.do(mine.save, update_fields=["last_login"])
    a.do(mine.save)
    assert mine.record_version == tables.row(Member, key, door)["record_version"] == 3
    assert isinstance(b.fails(older.save), ErrRecordVersionConflict)
