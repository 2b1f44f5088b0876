"""Parents, children, cascades, many-to-many."""

from __future__ import annotations

from django.db import models

from cas_orm_django import CasMixin, RecordVersionMixin


class Tag(models.Model):
    """A label without the library."""

    name = models.CharField(max_length=50)


class Cart(CasMixin, models.Model):
    """A parent: its delete cascades in the ORM."""

    name = models.CharField(max_length=50, default="")
    tags = models.ManyToManyField(Tag)


class CartLine(models.Model):
    """Goes with its cart."""

    cart = models.ForeignKey(Cart, models.CASCADE, related_name="lines")
    sku = models.CharField(max_length=50, default="")


class Remark(RecordVersionMixin, models.Model):
    """Outlives its cart, with an empty key."""

    cart = models.ForeignKey(Cart, models.SET_NULL, null=True, related_name="remarks")
    text = models.CharField(max_length=50, default="")


class Schedule(models.Model):
    """What a periodic task points at."""

    cron = models.CharField(max_length=50, default="")


class Periodic(RecordVersionMixin, models.Model):
    """A task that one process holds for hours."""

    enabled = models.BooleanField(default=True)
    args = models.CharField(max_length=50, default="")
    schedule = models.ForeignKey(Schedule, models.SET_NULL, null=True)
