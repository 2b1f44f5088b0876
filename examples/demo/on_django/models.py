"""The job, once as any model, once with compare-and-swap."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from cas_orm_django import JobMixin


class PlainJob(models.Model):
    """A model as Django makes it: ``save()`` overwrites whatever is there."""

    action = models.CharField(max_length=32, default="start")
    state = models.CharField(max_length=32, default="pending")
    result = models.CharField(max_length=32, default="")
    logs = models.TextField(default="")

    objects: ClassVar[models.Manager[PlainJob]]  # Django's own, for type checkers

    class Meta:
        db_table = "cas_demo_plain"


class GuardedJob(JobMixin, models.Model):
    """A job with the library's verbs: the mixin brings the columns, version and generation among them."""

    cas_terminal_states = ("done", "canceled")
    cas_transitions: ClassVar = {
        "pending": ("running", "canceled"),
        "running": ("pending", "done", "canceled"),
    }

    class Meta(JobMixin.Meta):
        db_table = "cas_demo_guarded"
