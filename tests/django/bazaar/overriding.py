"""Models whose author wrapped ``save``, ``save_base`` or ``delete``."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.db import models

from cas_orm import ConflictError
from cas_orm_django import CasManager, CasMixin


class Based(CasMixin, models.Model):
    """Wraps ``save_base``."""

    title = models.CharField(max_length=50, default="")
    slug = models.CharField(max_length=50, default="")

    def save_base(self, *args: Any, **kwargs: Any) -> None:
        """Derive the slug, then save."""
        self.slug = self.title.lower()
        super().save_base(*args, **kwargs)


class Swallowing(CasMixin, models.Model):
    """Its ``save`` hides every conflict."""

    title = models.CharField(max_length=50, default="")

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save, or pretend."""
        with suppress(ConflictError):
            super().save(*args, **kwargs)


class Early(CasMixin, models.Model):
    """Its ``save`` does nothing while the row is locked."""

    title = models.CharField(max_length=50, default="")
    locked = models.BooleanField(default=False)

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save, unless locked."""
        if not self.locked:
            super().save(*args, **kwargs)


class Wrapped(CasMixin, models.Model):
    """Its ``delete`` does something first."""

    title = models.CharField(max_length=50, default="")
    goodbyes: list[str] = []

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Say goodbye, then delete."""
        self.goodbyes.append(self.title)
        return super().delete(*args, **kwargs)


class Closing(CasMixin, models.Model):
    """Its ``save`` writes twice."""

    title = models.CharField(max_length=50, default="")
    saves = models.IntegerField(default=0)

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save, count, save the count."""
        super().save(*args, **kwargs)
        self.saves += 1
        super().save(update_fields=["saves"])


class PresentManager(CasManager):
    """Hides what was retired."""

    def get_queryset(self) -> Any:
        """Return the rows that are not retired."""
        return super().get_queryset().filter(retired=False)


class Retired(CasMixin, models.Model):
    """Is deleted softly."""

    title = models.CharField(max_length=50, default="")
    retired = models.BooleanField(default=False)

    objects = PresentManager()
    everything = CasManager()

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Hide the row."""
        self.retired = True
        self.save(update_fields=["retired"])
        return 1, {self._meta.label: 1}
