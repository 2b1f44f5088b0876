"""How a Django team writes a job: without the library, and with it."""

from __future__ import annotations

from typing import ClassVar

from cas_orm import Expect, Outcome
from cas_orm_django import try_finish_if_current
from examples.demo.on_django.base import DjangoSide
from examples.demo.on_django.models import GuardedJob, PlainJob
from examples.demo.story import CANCELED, FINISHED, UNTOUCHED, Actor, Meet, Row, Told

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
    """The same, but each verb says which generation it acts for: by the object, or by the key alone."""

    model = GuardedJob
    calls: ClassVar = {Actor.EXECUTOR: "finish_if_current()", Actor.CANCELLER: "finish_if_current()"}

    def executor(self, key: int, meet: Meet) -> Told:
        job = GuardedJob.objects.get(pk=key)
        meet()
        state, result, logs = FINISHED
        meet()
        return told(job.try_finish_if_current(state, result, logs=logs))

    def canceller(self, key: int, meet: Meet) -> Told:
        belief = Expect.of(GuardedJob.objects.get(pk=key), "run_seq")
        meet()
        state, result, logs = CANCELED
        meet()
        return told(try_finish_if_current(GuardedJob, key, state, result, logs=logs, expect=belief))

    def alone(self, actor: Actor) -> Row:
        return {**super().alone(actor), **UNTOUCHED, "record_version": 2, "finished_at": True}


def told(outcome: Outcome) -> Told:
    """Hand the outcome on."""
    return Told(bool(outcome), outcome.verdict.value)


SIDES: dict[str, type[LastWriterWins | CompareAndSwap]] = {"plain": LastWriterWins, "cas": CompareAndSwap}
