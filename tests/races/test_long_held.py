"""AC-04 on Django: a process that holds its copy for hours."""

from __future__ import annotations

from cas_orm import ErrRecordVersionConflict
from tests.django import tables
from tests.django.shop.models import Periodic, Schedule
from tests.races.actors import Actor
from tests.races.on import EVERYWHERE, on


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
