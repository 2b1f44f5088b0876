"""Model forms, formsets and the stock admin over models of the library."""

from __future__ import annotations

from typing import Any

import pytest
from django.forms import inlineformset_factory, modelform_factory, modelformset_factory
from django.test import Client

from cas_orm import ErrRecordVersionConflict, RecordMissing
from tests.django import tables
from tests.django.bazaar.look import statements, version
from tests.django.bazaar.models import Medal, Upload
from tests.django.shop.models import Article, Cart, Member, Novel, Order, Remark


def test_a_form_never_shows_the_numbers(alias: str) -> None:
    """Version and generation are not editable, so no form has them by accident."""
    form = modelform_factory(Order, fields="__all__")()
    assert not {"record_version", "run_seq"} & set(form.fields)


def test_a_form_creates_and_changes(alias: str) -> None:
    """Version 1, then 2; ``commit=False`` writes nothing until the object is saved."""
    form_class = modelform_factory(Medal, fields=["name", "rank"])
    medal = form_class({"name": "gold", "rank": 1}).save()
    assert version(medal, alias) == 1
    form = form_class({"name": "gold", "rank": 2}, instance=medal)
    medal = form.save(commit=False)
    assert version(medal, alias) == 1
    medal.save()
    assert (Medal.objects.get().rank, version(medal, alias)) == (2, 2)


def test_a_stale_form(alias: str) -> None:
    """Somebody saved between loading and saving: refused; on a fresh instance accepted."""
    form_class = modelform_factory(Medal, fields=["name", "rank"])
    mine = Medal.objects.create(name="gold")
    Medal.objects.update(rank=9)
    form = form_class({"name": "gold", "rank": 2}, instance=mine)
    assert form.is_valid()
    with pytest.raises(ErrRecordVersionConflict):
        form.save()
    assert Medal.objects.get().rank == 9
    form_class({"name": "gold", "rank": 2}, instance=Medal.objects.get()).save()
    assert Medal.objects.get().rank == 2


def test_a_form_for_a_vanished_row(alias: str) -> None:
    """Not inserted again."""
    medal = Medal.objects.create(name="gold")
    form = modelform_factory(Medal, fields=["name"])({"name": "silver"}, instance=medal)
    assert form.is_valid()
    Medal.objects.all().delete()
    with pytest.raises(RecordMissing):
        form.save()
    assert not Medal.objects.exists()


def test_a_form_of_a_child_and_one_with_tags(alias: str) -> None:
    """Inherited columns; many-to-many choices are saved beside the row."""
    from tests.django.shop.models import Tag

    novel = modelform_factory(Novel, fields=["name", "pages", "genre", "state"])(
        {"name": "a", "pages": 3, "genre": "x", "state": "new"}
    ).save()
    assert version(novel, alias) == 1
    tag = Tag.objects.create(name="t")
    form_class = modelform_factory(Cart, fields=["name", "tags"])
    cart = form_class({"name": "a", "tags": [tag.pk]}).save()
    other = Tag.objects.create(name="o")
    form_class({"name": "b", "tags": [other.pk]}, instance=cart).save()
    assert (list(cart.tags.all()), version(cart, alias)) == ([other], 2)


def test_formsets(alias: str) -> None:
    """A formset changes, adds and deletes; unchanged rows are not written."""
    kept, changed, gone = (Medal.objects.create(name=name) for name in "abc")
    formset_class = modelformset_factory(Medal, fields=["name", "rank"], can_delete=True, extra=1)
    data: dict[str, Any] = {"form-TOTAL_FORMS": 4, "form-INITIAL_FORMS": 3}
    for index, medal in enumerate((kept, changed, gone)):
        data |= {f"form-{index}-id": medal.pk, f"form-{index}-name": medal.name, f"form-{index}-rank": 0}
    data |= {"form-1-rank": 5, "form-2-DELETE": "on", "form-3-name": "d", "form-3-rank": 1}
    formset = formset_class(data, queryset=Medal.objects.order_by("name"))
    assert formset.is_valid(), formset.errors
    formset.save()
    assert [(m.name, m.rank, m.record_version) for m in Medal.objects.order_by("name")] == [
        ("a", 0, 1),
        ("b", 5, 2),
        ("d", 1, 1),
    ]


def test_inline_formsets(alias: str) -> None:
    """Children of the library under a parent of the library."""
    cart = Cart.objects.create()
    remark = Remark.objects.create(cart=cart)
    formset_class = inlineformset_factory(Cart, Remark, fields=["text"], extra=1)
    data = {"remarks-TOTAL_FORMS": 2, "remarks-INITIAL_FORMS": 1, "remarks-0-id": remark.pk}
    data |= {"remarks-0-text": "b", "remarks-1-text": "c"}
    formset = formset_class(data, instance=cart)
    assert formset.is_valid(), formset.errors
    formset.save()
    assert sorted(Remark.objects.values_list("text", "record_version")) == [("b", 2), ("c", 1)]


def test_a_form_with_a_file(alias: str) -> None:
    """The upload of a refused form is deleted."""
    from django.core.files.uploadedfile import SimpleUploadedFile

    storage = Upload.file.field.storage
    form_class = modelform_factory(Upload, fields=["title", "file"])
    upload = Upload.objects.create()
    tables.rival(Upload, upload.pk, alias, record_version=2)
    name = f"form-{alias}.txt"
    form = form_class({"title": "b"}, {"file": SimpleUploadedFile(name, b"x")}, instance=upload)
    assert form.is_valid()
    with pytest.raises(ErrRecordVersionConflict):
        form.save()
    assert not storage.exists(f"uploads/{name}")
    form = form_class({"title": "b"}, {"file": SimpleUploadedFile(name, b"x")}, instance=Upload.objects.get())
    form.save()
    assert storage.exists(f"uploads/{name}")
    storage.delete(f"uploads/{name}")


@pytest.fixture
def staff(alias: str) -> Client:
    """Return a client that is logged in as a superuser."""
    client = Client()
    client.force_login(Member.objects.create_superuser("admin", password="p"))
    return client


def test_admin_pages_show(alias: str, staff: Client) -> None:
    """Every page of the stock admin opens."""
    article = Article.objects.create(title="a")
    for page in ("", "add/", f"{article.pk}/change/", f"{article.pk}/delete/", f"{article.pk}/history/"):
        assert staff.get(f"/admin/shop/article/{page}").status_code == 200


def test_an_admin_edit_that_loses(alias: str, staff: Client) -> None:
    """A rival between the admin's read and its write: nothing written, nothing logged."""
    from django.contrib.admin.models import LogEntry
    from django.db.models.signals import pre_save

    from tests.django.bazaar.look import receiving

    article = Article.objects.create(title="a")

    def meddle(instance: Article, **_: Any) -> None:
        tables.rival(Article, instance.pk, alias, title="theirs", record_version=2)

    url, data = f"/admin/shop/article/{article.pk}/change/", {"kind": "news", "title": "mine"}
    with receiving(pre_save, Article, meddle), pytest.raises(ErrRecordVersionConflict):
        staff.post(url, data)
    assert LogEntry.objects.count() == 0
    assert staff.post(url, data).status_code == 302
    assert (Article.objects.get().title, LogEntry.objects.count()) == ("mine", 1)


def test_admin_sends_no_more_than_one_update(alias: str, staff: Client) -> None:
    """The change itself costs one statement."""
    article = Article.objects.create(title="a")
    from django.db import connections
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connections[alias]) as log:
        staff.post(f"/admin/shop/article/{article.pk}/change/", {"kind": "news", "title": "b"})
    touched = [q["sql"] for q in log if "shop_article" in q["sql"] and not q["sql"].startswith("SELECT")]
    assert len(touched) == 1, touched
    with statements(alias, 1):
        Article.objects.get()
