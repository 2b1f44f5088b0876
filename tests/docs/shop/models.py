"""The models that several pages of the documentation use without repeating them."""

from __future__ import annotations

from django.db import models

from cas_orm_django import CasMixin


class Order(CasMixin, models.Model):
    """An order with a version and a generation."""

    customer = models.CharField(max_length=100)
    state = models.CharField(max_length=32, default="open")
    quantity = models.IntegerField(default=1)
    note = models.TextField(default="")

    def __str__(self) -> str:
        return f"order of {self.customer}"
