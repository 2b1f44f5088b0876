"""The models that most tests use."""

from __future__ import annotations

from django.db import models

from cas_orm_django import CasMixin, RecordVersionMixin, RunSeqMixin, WriteTokenMixin


class Customer(models.Model):
    """A model without the library."""

    name = models.CharField(max_length=50)


class Order(CasMixin, models.Model):
    """Version and generation, and one column of each kind; nothing points at it."""

    title = models.CharField(max_length=50, default="")
    state = models.CharField(max_length=32, null=True, default="new")
    n = models.IntegerField(default=0)
    flag = models.BooleanField(default=False)
    data = models.JSONField(default=dict)
    note = models.CharField(max_length=50, null=True)
    weight = models.FloatField(null=True)
    due = models.DateTimeField(null=True)
    customer = models.ForeignKey(Customer, models.SET_NULL, null=True)


class Doc(RecordVersionMixin, models.Model):
    """A version, no generation."""

    title = models.CharField(max_length=50, default="")
    body = models.TextField(default="")
    n = models.IntegerField(default=0)


class Run(RunSeqMixin, RecordVersionMixin, models.Model):
    """The two single mixins together."""

    state = models.CharField(max_length=32, null=True, default=None)


class Ticket(WriteTokenMixin, CasMixin, models.Model):
    """Version, generation and write token: what settling needs."""

    title = models.CharField(max_length=50, default="")
    n = models.IntegerField(default=0)
