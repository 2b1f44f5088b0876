"""One column of every kind of value."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from typing import Any

from django.db import models

from cas_orm_django import CasMixin


class CommaField(models.CharField):  # type: ignore[type-arg]  # generic for the type checker only
    """A user's own field: a list in Python, text in the database."""

    def from_db_value(self, value: str | None, *_: Any) -> list[str] | None:
        """Split."""
        return None if value is None else value.split(",")

    def get_prep_value(self, value: Any) -> Any:
        """Join."""
        return ",".join(value) if isinstance(value, list) else value


class Sampler(CasMixin, models.Model):
    """Columns whose values differ between Python and the database, or between databases."""

    amount = models.DecimalField(max_digits=8, decimal_places=2, default=decimal.Decimal("1.10"))
    day = models.DateField(default=dt.date(2020, 1, 2))
    moment = models.DateTimeField(default=dt.datetime(2020, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC))
    clock = models.TimeField(default=dt.time(3, 4, 5, 6))
    span = models.DurationField(default=dt.timedelta(days=1, microseconds=7))
    tag = models.UUIDField(default=uuid.uuid4)
    blob = models.BinaryField(default=b"\x00\xff")
    address = models.GenericIPAddressField(default="::1")
    maybe = models.BooleanField(null=True)
    ratio = models.FloatField(default=0.5)
    words = CommaField(max_length=50, default=list)
    payload = models.JSONField(null=True, default=dict)
    big = models.BigIntegerField(default=2**62)
