"""The bazaar's own clean-up, before the shop's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import connections, transaction


@pytest.fixture
def alias(alias: str) -> Iterator[str]:
    """Yield the alias under test; the bazaar's tables are emptied afterwards."""
    yield alias
    connection = connections[alias]
    if connection.in_atomic_block or not connection.is_usable():  # a test that failed half-way
        connection.close()
    quote = connection.ops.quote_name
    models = [m for m in apps.get_app_config("bazaar").get_models() if not m._meta.proxy]
    with transaction.atomic(using=alias), connection.cursor() as cursor:
        for model in reversed(models):
            cursor.execute(f"DELETE FROM {quote(model._meta.db_table)}")
