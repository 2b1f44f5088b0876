"""Public calls of the Django adapter, as its users write them. For mypy and pyright; never executed."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar, assert_type

from django.db import models
from django.db.models import F, Q

from cas_orm import Expect, Outcome, StaleCounts, UnknownOutcome, one_of
from cas_orm_django import (
    CasManager,
    CasMixin,
    CasVerbsMixin,
    JobMixin,
    WriteTokenMixin,
    aclaim,
    adelete_if_current,
    arequeue_stale,
    asettle,
    astart_if_current,
    atry_update_if_current,
    aupdate_if_current,
    claim,
    delete_if_current,
    finish_if_current,
    new_generation_if_current,
    requeue_stale,
    settle,
    start_if_current,
    try_delete_if_current,
    try_new_generation_if_current,
    try_update_if_current,
    update_if_current,
)


# Both checkers stumble over two abstract models as bases, in any Django project.
class Job(WriteTokenMixin, CasMixin, models.Model):  # type: ignore[misc]  # pyright: ignore[reportIncompatibleVariableOverride]
    state = models.CharField(max_length=32)
    tries = models.IntegerField(default=0)


class Contract(CasVerbsMixin, models.Model):
    cas_version_field: ClassVar[str] = "revision"
    revision = models.BigIntegerField(default=1)


belief = Expect(run_seq=3, state=one_of("pending", "running"))


def celebrate(outcome: Outcome) -> None:
    print(outcome.key)


def on_objects(job: Job) -> None:
    assert_type(job.save_if_current(), Outcome)
    assert_type(job.save_if_current(expect=belief, update_fields=["state"], where=Q(tries__lt=3)), Outcome)
    assert_type(job.try_save_if_current(on_won=celebrate, using="default"), Outcome)
    assert_type(job.update_if_current(expect=belief, set={"tries": F("tries") + 1}), Outcome)
    assert_type(job.try_update_if_current(expect=belief, set={"state": "done"}), Outcome)
    assert_type(job.new_generation_if_current(set={"state": "running"}), Outcome)
    assert_type(job.try_new_generation_if_current(), Outcome)
    assert_type(job.delete_if_current(), Outcome)
    assert_type(job.try_delete_if_current(expect=belief), Outcome)
    assert_type(Expect.of(job, "state"), Expect)
    # pyright has no plugin for Django, and does not see what a field holds.
    assert_type(job.record_version, int)  # pyright: ignore[reportAssertTypeFailure]
    assert_type(job.run_seq, int)  # pyright: ignore[reportAssertTypeFailure]


async def on_objects_async(job: Job) -> None:
    assert_type(await job.asave_if_current(), Outcome)
    assert_type(await job.atry_save_if_current(expect=belief), Outcome)
    assert_type(await job.aupdate_if_current(expect=belief, set={"state": "done"}), Outcome)
    assert_type(await job.atry_update_if_current(expect=belief, set={"state": "done"}), Outcome)
    assert_type(await job.anew_generation_if_current(), Outcome)
    assert_type(await job.atry_new_generation_if_current(), Outcome)
    assert_type(await job.adelete_if_current(), Outcome)
    assert_type(await job.atry_delete_if_current(), Outcome)


def by_key(key: int) -> None:
    assert_type(update_if_current(Job, key, expect=belief, set={"state": "done"}), Outcome)
    assert_type(
        try_update_if_current(Job, key, expect=belief, set={"state": "done"}, using="default"), Outcome
    )
    assert_type(new_generation_if_current(Job, key, expect=belief), Outcome)
    assert_type(try_new_generation_if_current(Job, key, expect=belief, set={"state": "x"}), Outcome)
    assert_type(delete_if_current(Job, key, expect=belief), Outcome)
    assert_type(try_delete_if_current(Job, key, expect=belief, where=Q(tries=0)), Outcome)


async def by_key_async(key: int) -> None:
    assert_type(await aupdate_if_current(Job, key, expect=belief, set={"state": "done"}), Outcome)
    assert_type(await atry_update_if_current(Job, key, expect=belief, set={"state": "done"}), Outcome)
    assert_type(await adelete_if_current(Job, key, expect=belief), Outcome)


def on_the_manager(manager: CasManager[Job], key: int) -> None:
    assert_type(manager.update_if_current(key, expect=belief, set={"state": "done"}), Outcome)
    assert_type(manager.try_delete_if_current(key, expect=belief), Outcome)


def settling(error: UnknownOutcome) -> None:
    assert_type(settle(error), Outcome)
    assert_type(settle(error, using="default"), Outcome)


async def settling_async(error: UnknownOutcome) -> None:
    assert_type(await asettle(error), Outcome)


class Errand(JobMixin, models.Model):
    cas_max_attempts: ClassVar[int | None] = 3
    cas_terminal_states: ClassVar[tuple[str, ...]] = ("done", "dropped")
    place = models.CharField(max_length=32)


def lifecycle(errand: Errand) -> None:
    assert_type(errand.start_if_current(owner="w1"), Outcome)
    assert_type(errand.try_save_status_if_current({"step": 1}, logs="one"), Outcome)
    assert_type(errand.heartbeat_if_current(), Outcome)
    assert_type(errand.finish_if_current("done", "ok", logs="all", on_won=celebrate), Outcome)
    assert_type(errand.try_requeue_if_current(new_budget=True, using="default"), Outcome)
    assert_type(start_if_current(Errand, 1, expect=belief, owner="w1"), Outcome)
    assert_type(finish_if_current(Errand, 1, "done", "ok", expect=belief), Outcome)


async def lifecycle_async(errand: Errand) -> None:
    assert_type(await errand.astart_if_current(owner="w1"), Outcome)
    assert_type(await errand.atry_heartbeat_if_current(), Outcome)
    assert_type(await astart_if_current(Errand, 1, expect=belief), Outcome)


def sets(manager: CasManager[Errand]) -> None:
    assert_type(claim(Errand, 5, owner="w1", where=Q(place="home"), on_won=celebrate), list[Errand])
    assert_type(manager.claim(5, using="default"), list[Errand])
    assert_type(requeue_stale(Errand, timedelta(minutes=5), where=Q(place="home")), StaleCounts)
    assert_type(manager.requeue_stale(timedelta(minutes=5)), StaleCounts)


async def sets_async(manager: CasManager[Errand]) -> None:
    assert_type(await aclaim(Errand, 5), list[Errand])
    assert_type(await manager.aclaim(5, owner="w1"), list[Errand])
    counts = await arequeue_stale(Errand, timedelta(minutes=5), on_won=celebrate)
    assert_type(counts, StaleCounts)
    assert_type(counts.requeued + counts.gave_up, int)
