"""The job, once as any model, once with compare-and-swap."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from cas_orm_django import CasMixin


class JobColumns(models.Model):
    """What both have."""

    action = models.CharField(max_length=32, default="start")
    state = models.CharField(max_length=32, default="running")
    result = models.CharField(max_length=32, default="")
    logs = models.TextField(default="")

    class Meta:
        abstract = True


class PlainJob(JobColumns):
    """A model as Django makes it: ``save()`` overwrites whatever is there."""

    objects: ClassVar[models.Manager[PlainJob]]  # Django's own, for type checkers

    class Meta:
        db_table = "cas_demo_plain"


class GuardedJob(CasMixin, JobColumns):
    """The same with ``record_version`` and ``run_seq``."""

    class Meta(CasMixin.Meta):
        db_table = "cas_demo_guarded"
