"""Every kind of value arrives as Django's own save would write it."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from typing import Any

import pytest
from django.utils.translation import gettext_lazy

from cas_orm import Expect, Verdict
from cas_orm_django import update_if_current
from tests.django import tables
from tests.django.shop.models import Article, Legacy, Member, Order, Profile, Sampler

NEW: dict[str, Any] = {
    "amount": decimal.Decimal("2.50"),
    "day": dt.date(2021, 2, 3),
    "moment": dt.datetime(2021, 2, 3, 4, 5, 6, 7, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    "clock": dt.time(4, 5, 6, 7),
    "span": dt.timedelta(days=-1, microseconds=8),
    "tag": uuid.UUID(int=5),
    "blob": b"\x00%s'\xfe",
    "address": "10.0.0.1",
    "maybe": True,
    "ratio": 0.1,
    "words": ["a", "b"],
    "payload": {"a": [1, None, "ü%"]},
    "big": -(2**63) + 1,
}


def values(obj: Sampler) -> dict[str, Any]:
    """Return the values as loaded afresh."""
    found = Sampler.objects.get(pk=obj.pk)
    return {name: bytes(v) if isinstance(v := getattr(found, name), memoryview) else v for name in NEW}


def test_save(alias: str) -> None:
    """All columns at once, and each kind alone."""
    sampler = Sampler.objects.create()
    for name, value in NEW.items():
        setattr(sampler, name, value)
    assert sampler.save_if_current()
    assert values(sampler) == NEW
    for count, name in enumerate(NEW, start=3):
        setattr(sampler, name, Sampler._meta.get_field(name).get_default())
        assert sampler.save_if_current(update_fields=[name]).record_version == count


def test_loaded_and_saved_back(alias: str) -> None:
    """What was loaded is written back unchanged."""
    sampler = Sampler.objects.create(**NEW)
    Sampler.objects.get(pk=sampler.pk).save()
    assert values(sampler) == NEW


def test_update(alias: str) -> None:
    """The same through ``set``, on the object and by key; None where the column takes it."""
    sampler = Sampler.objects.create()
    sampler.update_if_current(expect=Expect(record_version=1), set=NEW)
    assert values(sampler) == NEW
    update_if_current(
        Sampler, sampler.pk, expect=Expect(record_version=2), set={"payload": None, "maybe": None}
    )
    assert (values(sampler)["payload"], values(sampler)["maybe"]) == (None, None)


@pytest.mark.parametrize("name", ["amount", "day", "tag", "maybe", "address", "big"])
def test_beliefs(alias: str, name: str) -> None:
    """A value as read is a belief that holds; another one does not."""
    sampler = Sampler.objects.create(**NEW)
    held = Sampler.objects.get(pk=sampler.pk)
    belief = Expect.of(held, name)
    assert held.update_if_current(expect=belief, set={"ratio": 1.5})
    other = Sampler._meta.get_field(name).get_default()
    update_if_current(Sampler, held.pk, expect=Expect(record_version=2), set={name: other})
    held.refresh_from_db()
    assert held.try_update_if_current(expect=belief, set={"ratio": 2.5}).verdict is Verdict.WRONG_STATE


def test_choices(alias: str) -> None:
    """Members of an enumeration are their values."""
    article = Article.objects.create(title="a", kind=Article.Kind.NEWS)
    article.kind = Article.Kind.ESSAY
    article.save_if_current(expect=Expect(kind=Article.Kind.NEWS))
    assert tables.row(Article, article.pk, alias)["kind"] == "essay"


def test_lazy_text(alias: str) -> None:
    """A translation is written as its text."""
    order = Order.objects.create()
    order.title = gettext_lazy("hello")
    order.save_if_current()
    assert tables.row(Order, order.pk, alias)["title"] == "hello"


def test_a_value_that_cannot_be_prepared(alias: str) -> None:
    """The field's own error, no SQL, no fence."""
    order = Order.objects.create()
    order.n = "abc"
    with pytest.raises(ValueError):
        order.save_if_current()
    order.n = 3
    assert order.save_if_current().record_version == 2


def test_awkward_column_names(alias: str) -> None:
    """Columns with spaces, capitals and reserved words, for the roles too."""
    legacy = Legacy.objects.create(title="a")
    legacy.title = "b"
    legacy.save_if_current(expect=Expect(title="a"))
    legacy.update_if_current(expect=Expect(title="b", record_version=2, run_seq=0), set={"title": "c"})
    legacy.new_generation_if_current()
    row = tables.row(Legacy, legacy.pk, alias)
    assert (row["title"], row["lock_version"], row["epoch"]) == ("c", 4, 1)
    tables.rival(Legacy, legacy.pk, alias, lock_version=9)
    assert legacy.try_save_if_current().actual["record_version"] == 9
    assert Legacy.objects.update(title="d") == 1
    assert Legacy.objects.get().delete_if_current()


def test_a_relation_as_the_key(alias: str) -> None:
    """The key is the related row's key."""
    member = Member.objects.create(username="m")
    profile = Profile.objects.create(member=member)
    profile.motto = "x"
    assert profile.save_if_current().key == member.pk
    assert update_if_current(Profile, member.pk, expect=Expect(record_version=2), set={"motto": "y"})
    assert profile.try_save_if_current().verdict is Verdict.STALE
    profile = Profile.objects.get()
    assert profile.delete_if_current()
    assert Member.objects.count() == 1
