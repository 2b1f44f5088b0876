"""Proxies, abstract bases, multi-table inheritance."""

from __future__ import annotations

from django.db import models

from cas_orm_django import CasMixin, RecordVersionMixin
from tests.django.shop.plain import Order


class UrgentOrder(Order):
    """A proxy."""

    class Meta:
        proxy = True


class Labelled(CasMixin, models.Model):
    """An abstract base between the mixin and the model."""

    label = models.CharField(max_length=50, default="")

    class Meta:
        abstract = True


class Gadget(Labelled):
    """The model behind the abstract base, with a Meta of its own."""

    n = models.IntegerField(default=0)

    class Meta:
        ordering = ("pk",)


class Item(CasMixin, models.Model):
    """The root of three tables; it owns the version."""

    name = models.CharField(max_length=50, default="")
    state = models.CharField(max_length=32, default="new")


class Book(Item):
    """The child table."""

    pages = models.IntegerField(default=0)


class Novel(Book):
    """The grandchild table."""

    genre = models.CharField(max_length=50, default="")


class Paper(models.Model):
    """A parent without the library."""

    heading = models.CharField(max_length=50, default="")


class Memo(RecordVersionMixin, Paper):
    """A child table that owns the version; its parent table knows nothing of it."""

    text = models.CharField(max_length=50, default="")


class Article(RecordVersionMixin, models.Model):
    """A version beside a callable default and choices."""

    class Kind(models.TextChoices):
        """What kind of article."""

        NEWS = "news"
        ESSAY = "essay"

    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.NEWS)
    title = models.CharField(max_length=50)
