"""How a Django team writes a job: without the library, and with it."""

from __future__ import annotations

from typing import ClassVar

from cas_orm import Expect, Outcome
from cas_orm_django import try_update_if_current
from examples.demo.on_django.base import DjangoSide
from examples.demo.on_django.models import GuardedJob, PlainJob
from examples.demo.story import CANCELED, FINISHED, Actor, Meet, Row, Told

SAVED = Told(success=True, word="saved")  # save() returned; there is nothing else to learn from it


class LastWriterWins(DjangoSide):
    """Load the object, set its attributes, ``save()``."""

    model = PlainJob
    calls: ClassVar = {Actor.EXECUTOR: "save()", Actor.CANCELLER: "save()"}

    def executor(self, key: int, meet: Meet) -> Told:
        job = PlainJob.objects.get(pk=key, state="running")
        meet()
        job.state, job.result, job.logs = FINISHED
        meet()
        job.save()
        return SAVED

    def canceller(self, key: int, meet: Meet) -> Told:
        job = PlainJob.objects.get(pk=key, state="running")
        meet()
        job.state, job.result, job.logs = CANCELED
        meet()
        job.save()
        return SAVED


class CompareAndSwap(DjangoSide):
    """The same, but each write says what it believes: by the object, or by the key alone."""

    model = GuardedJob
    calls: ClassVar = {Actor.EXECUTOR: "save_if_current()", Actor.CANCELLER: "update_if_current()"}

    def executor(self, key: int, meet: Meet) -> Told:
        job = GuardedJob.objects.get(pk=key)
        belief = Expect(run_seq=job.run_seq, state="running", action="start")
        meet()
        job.state, job.result, job.logs = FINISHED
        meet()
        return told(job.try_save_if_current(expect=belief))

    def canceller(self, key: int, meet: Meet) -> Told:
        job = GuardedJob.objects.get(pk=key)
        belief = Expect(run_seq=job.run_seq, state="running", action="start")
        meet()
        values = CANCELED._asdict()
        meet()
        return told(try_update_if_current(GuardedJob, key, expect=belief, set=values))

    def alone(self, actor: Actor) -> Row:
        return {**super().alone(actor), "run_seq": 0, "record_version": 2}


def told(outcome: Outcome) -> Told:
    """Hand the outcome on."""
    return Told(bool(outcome), outcome.verdict.value)


SIDES: dict[str, type[LastWriterWins | CompareAndSwap]] = {"plain": LastWriterWins, "cas": CompareAndSwap}
