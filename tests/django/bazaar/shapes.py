"""Keys, parents and columns of every kind."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from cas_orm_django import CasManager, CasMixin, RecordVersionMixin


class Owner(models.Model):
    """A model without the library, to be pointed at."""

    name = models.CharField(max_length=50, default="")


class Profile(CasMixin, models.Model):
    """Its primary key is a relation."""

    owner = models.OneToOneField(Owner, models.CASCADE, primary_key=True)
    text = models.CharField(max_length=50, default="")


class Engine(CasMixin, models.Model):
    """The first of two parents; it owns the version."""

    engine = models.BigAutoField(primary_key=True)
    power = models.IntegerField(default=0)


class Radio(models.Model):
    """The second parent, without the library, with keys of its own."""

    radio = models.BigAutoField(primary_key=True)
    station = models.CharField(max_length=50, default="")


class Car(Engine, Radio):
    """The child of both."""

    colour = models.CharField(max_length=50, default="")


class Crate(CasMixin, models.Model):
    """The parent of a table without columns."""

    label = models.CharField(max_length=50, default="")


class Sealed(Crate):
    """A child table that has nothing but its key."""


class MedalManager(CasManager):
    """Finds medals by name."""

    def get_by_natural_key(self, name: str) -> Any:
        """Return the medal of this name."""
        return self.get(name=name)


class Medal(CasMixin, models.Model):
    """A natural key."""

    name = models.CharField(max_length=50, unique=True)
    rank = models.IntegerField(default=0)

    objects = MedalManager()

    def natural_key(self) -> tuple[str]:
        """Return what names the medal in a fixture."""
        return (self.name,)


class Upload(RecordVersionMixin, models.Model):
    """A file beside a stamp."""

    title = models.CharField(max_length=50, default="")
    file = models.FileField(upload_to="uploads", blank=True, default="")
    made = models.DateTimeField(auto_now_add=True)
    touched = models.DateTimeField(auto_now=True)


class Reading(CasMixin, models.Model):
    """Columns that the database fills, and one that is nobody's conflict."""

    cas_unversioned_fields = ("seen",)

    value = models.IntegerField(db_default=7)
    taken = models.DateTimeField(db_default=Now())
    double = models.GeneratedField(
        expression=models.F("value") * 2, output_field=models.IntegerField(), db_persist=True
    )
    seen = models.IntegerField(default=0)


class Everything(RecordVersionMixin, models.Model):
    """One column of every type that Django ships for all databases."""

    boolean = models.BooleanField(null=True)
    char = models.CharField(max_length=50, null=True)
    text = models.TextField(null=True)
    small = models.SmallIntegerField(null=True)
    integer = models.IntegerField(null=True)
    big = models.BigIntegerField(null=True)
    floating = models.FloatField(null=True)
    decimal = models.DecimalField(max_digits=12, decimal_places=3, null=True)
    date = models.DateField(null=True)
    moment = models.DateTimeField(null=True)
    time = models.TimeField(null=True)
    duration = models.DurationField(null=True)
    uuid = models.UUIDField(null=True)
    json = models.JSONField(null=True)
    binary = models.BinaryField(null=True)
    address = models.GenericIPAddressField(null=True)
    slug = models.SlugField(null=True, db_index=False)
    url = models.URLField(null=True)
    email = models.EmailField(null=True)
    owner = models.ForeignKey(Owner, models.SET_NULL, null=True)
