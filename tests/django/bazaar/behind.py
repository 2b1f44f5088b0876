"""Models whose author's base stands behind the guard, and other shapes that the guard meets rarely."""

from __future__ import annotations

from typing import Any

from django.db import models

from cas_orm_django import CasMixin, CasVerbsMixin


class Noting(models.Model):
    """Notes what it is asked to do, then does it."""

    title = models.CharField(max_length=50, default="")
    calls: list[str] = []

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Note, then save."""
        self.calls.append("save")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Note, then delete."""
        self.calls.append("delete")
        return super().delete(*args, **kwargs)


class Noted(CasMixin, Noting):
    """The guard first, the author's base behind it."""


class Hiding(models.Model):
    """Is deleted softly."""

    title = models.CharField(max_length=50, default="")
    retired = models.BooleanField(default=False)

    class Meta:
        abstract = True

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Hide the row."""
        self.retired = True
        self.save(update_fields=["retired"])
        return 1, {self._meta.label: 1}


class Hidden(CasMixin, Hiding):
    """The guard first, the soft delete behind it."""


class Always(CasMixin, models.Model):
    """Its ``save`` is the verb."""

    title = models.CharField(max_length=50, default="")

    def save(self) -> None:  # type: ignore[override]  # as its author wants it
        """Save, raising what the verb raises."""
        self.save_if_current()


class Gauge(CasMixin, models.Model):
    """The parent; it owns the version."""

    name = models.CharField(max_length=50, default="")


class Dial(Gauge):
    """The child, with a column that is nobody's conflict."""

    cas_unversioned_fields = ("beat",)

    face = models.CharField(max_length=50, default="")
    beat = models.IntegerField(default=0)


class Adopted(CasVerbsMixin, models.Model):
    """A version that was there before, whose default only the database knows."""

    cas_version_field = "revision"

    revision = models.BigIntegerField(db_default=1, editable=False)
    title = models.CharField(max_length=50, default="")
