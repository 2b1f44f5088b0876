"""Primary keys of every kind, and a user model."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import AbstractUser, UserManager
from django.db import models

from cas_orm_django import CasManager, CasMixin, RecordVersionMixin


class Seat(CasMixin, models.Model):
    """A composite primary key."""

    pk = models.CompositePrimaryKey("row", "number")
    row = models.CharField(max_length=5)
    number = models.IntegerField()
    holder = models.CharField(max_length=50, default="")


class Parcel(CasMixin, models.Model):
    """A UUID that Python makes."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    label = models.CharField(max_length=50, default="")


class Slot(RecordVersionMixin, models.Model):
    """A text key that the caller chooses."""

    code = models.CharField(max_length=20, primary_key=True)
    label = models.CharField(max_length=50, default="")


class Profile(RecordVersionMixin, models.Model):
    """A primary key that is a relation."""

    member = models.OneToOneField("shop.Member", models.CASCADE, primary_key=True)
    motto = models.CharField(max_length=50, default="")


class MemberManager(CasManager, UserManager):  # type: ignore[misc]  # both define the queryset's methods
    """Django's own user methods over the bumping queryset."""


class Member(RecordVersionMixin, AbstractUser):
    """The user model of the test project."""

    nickname = models.CharField(max_length=50, default="", blank=True)

    objects = MemberManager()
