"""Uploads: a winner's is stored, a loser's is deleted, others' are left alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import DatabaseError

from tests.django import tables
from tests.django.bazaar.look import statements
from tests.django.bazaar.models import Upload


@pytest.fixture
def stored() -> Iterator[Any]:
    """Return a function that lists the uploads; they are removed afterwards."""
    storage = Upload.file.field.storage

    def names() -> list[str]:
        return sorted(storage.listdir("uploads")[1]) if storage.exists("uploads") else []

    for name in names():
        storage.delete(f"uploads/{name}")
    yield names
    for name in names():
        storage.delete(f"uploads/{name}")


@pytest.mark.parametrize("verb", ["save", "save_if_current"])
def test_the_file_of_a_loser(alias: str, stored: Any, verb: str) -> None:
    """Its upload is deleted; reloaded and assigned again, it is stored."""
    upload = Upload.objects.create()
    tables.rival(Upload, upload.pk, alias, record_version=2)
    upload.file = ContentFile(b"x", name="a.txt")
    with pytest.raises(Exception, match="cas-stale"):
        getattr(upload, verb)()
    assert stored() == []
    upload.refresh_from_db()
    assert upload.file.name == ""
    upload.file = ContentFile(b"x", name="a.txt")
    getattr(upload, verb)()
    assert stored() == ["a.txt"]
    assert tables.row(Upload, upload.pk, alias)["file"] == "uploads/a.txt"


def test_the_file_of_a_loser_can_be_saved_again(alias: str, stored: Any) -> None:
    """The upload itself is still on the object: with only the version reloaded, it is stored whole."""
    upload = Upload.objects.create()
    tables.rival(Upload, upload.pk, alias, record_version=2)
    upload.file = ContentFile(b"content", name="a.txt")
    assert not upload.try_save_if_current()
    upload.refresh_from_db(fields=["record_version"])
    upload.save()
    assert stored() == ["a.txt"]
    assert Upload.objects.get().file.read() == b"content"


def test_the_file_of_a_winner_replaces_nothing_of_others(alias: str, stored: Any) -> None:
    """A file that was stored before is not touched by a later refusal."""
    upload = Upload.objects.create(file=ContentFile(b"old", name="old.txt"))
    tables.rival(Upload, upload.pk, alias, record_version=2)
    assert not upload.try_save_if_current()
    assert stored() == ["old.txt"]


def test_a_file_beside_a_field_that_fails(alias: str, stored: Any) -> None:
    """A value that cannot be prepared: the upload that was stored before is deleted, nothing is sent."""
    upload = Upload.objects.create()
    upload.file = ContentFile(b"x", name="a.txt")
    upload.made = "not a moment"
    with statements(alias, 0), pytest.raises(Exception, match="not a moment"):
        upload.save()
    assert stored() == []


def test_a_file_before_a_field_that_fails(alias: str, stored: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A field whose own ``pre_save`` fails: the upload that was stored before it is deleted."""
    upload = Upload.objects.create()
    upload.file = ContentFile(b"x", name="a.txt")

    def fail(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(Upload._meta.get_field("touched"), "pre_save", fail)
        with pytest.raises(RuntimeError):
            upload.save()
    assert stored() == []
    upload.save()
    assert stored() == ["a.txt"]


def test_a_file_of_an_insert_that_failed(alias: str, stored: Any) -> None:
    """As in Django a failed INSERT leaves the upload; saved again, the object names a file that is there."""
    upload = Upload(file=ContentFile(b"x", name="a.txt"), title="x" * 80)
    with suppress(DatabaseError):  # SQLite has no lengths
        upload.save()
    upload.title = "x"
    upload.save()
    assert upload.file.name.removeprefix("uploads/") in stored()
