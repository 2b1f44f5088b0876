"""Uploads that the storage takes by moving them, and files among the values of a verb."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage
from django.core.files.uploadedfile import InMemoryUploadedFile, TemporaryUploadedFile

from cas_orm import Expect, InvalidExpectation
from cas_orm_django import update_if_current
from tests.django import tables
from tests.django.bazaar.look import statements
from tests.django.bazaar.models import Upload

#: A moved upload's own handle still wants to delete what is no longer there.
moved = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Store uploads in a real folder; return it."""
    monkeypatch.setattr(Upload._meta.get_field("file"), "storage", FileSystemStorage(tmp_path))
    return tmp_path / "uploads"


def temporary(content: bytes) -> TemporaryUploadedFile:
    """Return an upload that was too large for memory."""
    upload = TemporaryUploadedFile("a.txt", "text/plain", len(content), None)
    upload.write(content)
    upload.seek(0)
    return upload


def in_memory(content: bytes) -> InMemoryUploadedFile:
    """Return an upload that was small."""
    return InMemoryUploadedFile(ContentFile(content), "file", "a.txt", "text/plain", len(content), None)


@moved
@pytest.mark.parametrize("make", [temporary, in_memory])
@pytest.mark.parametrize("verb", ["save", "save_if_current"])
def test_refused_then_saved(alias: str, folder: Path, make: Any, verb: str) -> None:
    """The loser's file is taken back; after a reload of the version the same object stores it whole."""
    upload = Upload.objects.create()
    tables.rival(Upload, upload.pk, alias, record_version=2)
    upload.file = make(b"content")
    with pytest.raises(Exception, match="cas-stale"):
        getattr(upload, verb)()
    assert not folder.exists() or list(folder.iterdir()) == []
    upload.refresh_from_db(fields=["record_version"])
    getattr(upload, verb)()
    assert [path.read_bytes() for path in folder.iterdir()] == [b"content"]
    assert tables.row(Upload, upload.pk, alias)["file"] == upload.file.name


@moved
@pytest.mark.parametrize("make", [temporary, in_memory])
def test_saved_at_once(alias: str, folder: Path, make: Any) -> None:
    """The accepted twin."""
    upload = Upload.objects.create(file=make(b"content"))
    upload.save()
    assert [path.read_bytes() for path in folder.iterdir()] == [b"content"]


@pytest.mark.parametrize("expect", [Expect(record_version=1), Expect(title="")])
def test_a_file_among_the_values_of_a_verb(alias: str, folder: Path, expect: Expect) -> None:
    """A verb stores nothing: it would write a name with no file behind it."""
    upload = Upload.objects.create()
    values = {"file": ContentFile(b"x", name="a.txt")}
    with statements(alias, 0):
        with pytest.raises(InvalidExpectation):
            update_if_current(Upload, upload.pk, expect=expect, set=values)
        with pytest.raises(InvalidExpectation):
            upload.update_if_current(expect=expect, set=values)
    assert not folder.exists()
    upload.save()


def test_a_stored_file_among_the_values_of_a_verb(alias: str, folder: Path) -> None:
    """The accepted twin: a file that is stored, and a name."""
    other = Upload.objects.create(file=ContentFile(b"x", name="a.txt"))
    upload = Upload.objects.create()
    upload.update_if_current(expect=Expect(record_version=1), set={"file": other.file})
    assert tables.row(Upload, upload.pk, alias)["file"] == "uploads/a.txt"
    update_if_current(Upload, upload.pk, expect=Expect(record_version=2), set={"file": "uploads/b.txt"})
    assert tables.row(Upload, upload.pk, alias)["file"] == "uploads/b.txt"
