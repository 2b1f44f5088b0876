"""Eight columns, one of them a text of 200 bytes; the guarded model carries version, generation and state."""

from __future__ import annotations

from django.db import models

from cas_orm_django import CasMixin


class _Columns(models.Model):
    state = models.CharField(max_length=32, default="running")
    name = models.CharField(max_length=64, default="a job")
    text = models.TextField(default="x" * 200)
    count = models.IntegerField(default=0)

    class Meta:
        abstract = True


class Plain(_Columns):
    """Eight columns, unguarded: the two numbers are plain integers."""

    record_version = models.BigIntegerField(default=1)
    run_seq = models.BigIntegerField(default=0)
    flag = models.BooleanField(default=False)


class Guarded(CasMixin, _Columns):
    """The same columns, guarded."""

    flag = models.BooleanField(default=False)

    class Meta(CasMixin.Meta):
        pass
