"""Models with one peculiarity each."""

from __future__ import annotations

from typing import Any

from django.db import models

from cas_orm_django import CasManager, CasMixin, CasVerbsMixin


class Legacy(CasVerbsMixin, models.Model):
    """Columns that were there before the library."""

    cas_version_field = "lock_version"
    cas_generation_field = "epoch"

    lock_version = models.BigIntegerField(db_column="Ver No", default=1, db_default=1, editable=False)
    epoch = models.BigIntegerField(db_column="order", default=0, db_default=0, editable=False)
    title = models.CharField(db_column="The Title", max_length=50, default="")


class Device(CasMixin, models.Model):
    """Two columns that change all the time and are nobody's conflict."""

    cas_unversioned_fields = ("seen_at", "hits")

    name = models.CharField(max_length=50, default="")
    hits = models.IntegerField(default=0)
    seen_at = models.DateTimeField(null=True)


class Invoice(CasMixin, models.Model):
    """Columns that the database or the field computes."""

    net = models.IntegerField(default=0)
    tax = models.IntegerField(default=0)
    gross = models.GeneratedField(
        expression=models.F("net") + models.F("tax"), output_field=models.IntegerField(), db_persist=True
    )
    status = models.CharField(max_length=20, db_default="open")
    scan = models.FileField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)


class Journal(CasMixin, models.Model):
    """A ``save()`` override of the user's own, which changes a field."""

    title = models.CharField(max_length=50, default="")
    slug = models.CharField(max_length=50, default="")

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Derive the slug, then save."""
        self.slug = self.title.lower().replace(" ", "-")
        super().save(*args, **kwargs)


class LiveManager(CasManager):
    """Hides what was deleted softly."""

    def get_queryset(self) -> Any:
        """Return the rows that are not hidden."""
        return super().get_queryset().filter(hidden=False)


class Page(CasMixin, models.Model):
    """A soft-delete manager as the default and base manager."""

    title = models.CharField(max_length=50, default="")
    hidden = models.BooleanField(default=False)

    objects = LiveManager()
    everything = CasManager()


class Ledger(CasMixin, models.Model):
    """Django's ``select_on_save``."""

    balance = models.IntegerField(default=0)

    class Meta:
        select_on_save = True
