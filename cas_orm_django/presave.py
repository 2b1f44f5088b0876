"""What a full save writes, taken from the object; and how to take back what that did to it.

Fields may have side effects when they are asked for their value: ``auto_now`` sets the attribute, a file
field has already stored its upload. Both happen before the row count is known, so both can be undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.core.files.base import ContentFile
from django.db import models

from cas_orm_django.columns import AnyField
from cas_orm_django.memory import ABSENT


class Taken:
    """The values of an object's fields, by attribute name, and the way back."""

    __slots__ = ("_before", "_files", "_obj", "values")

    def __init__(self, obj: models.Model) -> None:
        self._obj = obj
        self._before: list[tuple[str, object]] = []
        self._files: list[tuple[Any, str | None]] = []
        self.values: dict[str, Any] = {}

    def take(self, fields: Sequence[AnyField], active: frozenset[str]) -> None:
        """Take the fields' values; ``active`` names those that do something when asked."""
        for field in fields:
            name = field.attname
            self.values[name] = self._ask(field) if name in active else getattr(self._obj, name)

    def _ask(self, field: AnyField) -> Any:
        """Call the field's own ``pre_save``, remembering what it may change."""
        obj = self._obj
        file: Any = getattr(obj, field.attname) if isinstance(field, models.FileField) else None
        self._before.append((field.attname, obj.__dict__.get(field.attname, ABSENT)))
        if file and not file._committed:
            self._files.append((file, file.name))
        return field.pre_save(obj, False)

    def put_back(self) -> None:
        """Restore the attributes and delete the files that nobody refers to now."""
        for file, name in self._files:
            if file._committed and file.name:
                with suppress(OSError):
                    _keep_content(file)
                    file.storage.delete(file.name)
            file.name = name
            file._committed = False
        for name, value in self._before:
            if value is ABSENT:
                self._obj.__dict__.pop(name, None)
            else:
                self._obj.__dict__[name] = value


def _keep_content(file: Any) -> None:
    """Read an upload back that the storage took by moving it: the object still needs it."""
    if hasattr(file.file, "temporary_file_path"):
        with file.storage.open(file.name) as stored:
            file.file = ContentFile(stored.read())
