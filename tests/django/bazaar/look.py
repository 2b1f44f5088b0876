"""Look at rows and statements without the library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections, models
from django.test.utils import CaptureQueriesContext


def numbers(obj: models.Model, alias: str) -> tuple[int, int]:
    """Return version and generation of the object's row."""
    rows = models.QuerySet(type(obj), using=alias).filter(pk=obj.pk)
    found: tuple[int, int] = rows.values_list("record_version", "run_seq").get()
    return found


def version(obj: models.Model, alias: str) -> int:
    """Return the version of the object's row."""
    rows = models.QuerySet(type(obj), using=alias).filter(pk=obj.pk)
    return int(rows.values_list("record_version", flat=True).get())


@contextmanager
def statements(alias: str, count: int) -> Iterator[list[str]]:
    """Expect so many statements; they are in the list afterwards."""
    sent: list[str] = []
    with CaptureQueriesContext(connections[alias]) as log:
        yield sent
    sent.extend(query["sql"] for query in log.captured_queries)
    assert len(sent) == count, sent


@contextmanager
def receiving(signal: Any, sender: type[models.Model], receiver: Callable[..., object]) -> Iterator[None]:
    """Connect a receiver for a while."""
    signal.connect(receiver, sender=sender, weak=False)
    try:
        yield
    finally:
        signal.disconnect(receiver, sender=sender)
