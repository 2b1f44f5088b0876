"""Jobs and runs: with the options that the mixins have, and with options of their own."""

from __future__ import annotations

from django.db import models

from cas_orm_django import JobMixin, WorkflowRunMixin, WriteTokenMixin


class Job(JobMixin, models.Model):
    """A job as the mixin makes it."""

    name = models.CharField(max_length=50, default="")


class Chore(WriteTokenMixin, JobMixin, models.Model):
    """A job with states of its own, a budget of two attempts, and a write token."""

    cas_initial_state = "new"
    cas_running_state = "busy"
    cas_terminal_states = ("ok", "bad", "dropped")
    cas_transitions = {"new": ("busy", "dropped"), "busy": ("new", "ok", "bad")}
    cas_max_attempts = 2
    cas_gave_up = ("bad", "gave_up")

    name = models.CharField(max_length=50, default="")


class Flow(WorkflowRunMixin, models.Model):
    """A workflow run as the mixin makes it."""

    name = models.CharField(max_length=50, default="")
