"""The mixin of workflow runs: what the coordinator loads and commits."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.utils import timezone

from cas_orm.runs import WorkflowOptions
from cas_orm_django.fields import InitialStateField
from cas_orm_django.mixins import CasMixin

__all__ = ["WorkflowRunMixin"]


class ProgressField(models.DateTimeField):  # type: ignore[type-arg]  # not generic at run time
    """When a run last made progress. New rows begin now; rows that were there before have never noted any."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Give a new row the time of its insert."""
        if add and getattr(model_instance, self.attname) is None:
            setattr(model_instance, self.attname, timezone.now())
        return super().pre_save(model_instance, add)


class WorkflowRunMixin(WorkflowOptions, CasMixin):
    """Add a workflow run's columns: status, node states, transition number, checksum and time of progress.

    Only committed ticks write node states, transition number, checksum and progress. Other actors speak to a
    run through its status.

    Class options:
        cas_initial_state: the status of a new run.
        cas_terminal_states: the statuses that nothing leaves.
        cas_failed_state: the status of a run that is failed by force.
    """

    status = InitialStateField(max_length=32, default="pending", db_default="pending", editable=False)
    node_states = models.JSONField(
        default=dict, db_default=models.Value({}, models.JSONField()), editable=False
    )
    last_transition_seq = models.BigIntegerField(default=0, db_default=0, editable=False)
    state_checksum = models.CharField(max_length=64, default="", db_default="", blank=True, editable=False)
    progressed_at = ProgressField(null=True, editable=False)

    class Meta(CasMixin.Meta):
        abstract = True
