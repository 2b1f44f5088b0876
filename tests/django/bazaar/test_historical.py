"""A migration's historical model has no roles: the managers that came along act as Django's own."""

from __future__ import annotations

from django.db import models

from cas_orm_django import CasManager
from tests.django.shop.models import Customer


def test_a_bumping_manager_on_a_plain_model(alias: str) -> None:
    """As on a user model whose manager is used in migrations: every write is plain."""
    manager: CasManager[Customer] = CasManager()
    manager.model = Customer
    rows = manager.using(alias)
    (made,) = rows.bulk_create([Customer(name="a")])
    assert rows.filter(pk=made.pk).update(name="b") == 1
    made.name = "c"
    assert rows.bulk_update([made], ["name"]) == 1
    assert [c.name for c in rows.only("name")] == [c.name for c in rows.defer("name")] == ["c"]
    assert isinstance(rows, models.QuerySet)
