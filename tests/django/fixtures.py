"""The databases of a run as fixtures: what is absent is skipped by name, and an error in CI."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.db import connections
from pytest_django import DjangoDbBlocker

from tests.django.databases import ALIASES
from tests.django.router import routed
from tests.django.tables import empty


def alias_or_skip(name: str) -> str:
    """Return the alias of a database, of an isolation level of it, or skip by name."""
    alias = ALIASES.get(name, name)
    if alias in settings.DATABASES:
        return alias
    why = settings.ABSENT_DATABASES[name.partition("_")[0]]
    if os.environ.get("CI", "").lower() in ("1", "true"):
        raise RuntimeError(f"database {name} is absent, and CI=true: {why}")
    pytest.skip(f"database {name} is absent: {why}")


@pytest.fixture
def _open(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Let this test, and the threads that it starts, reach the databases."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture(params=list(ALIASES))
def database(request: pytest.FixtureRequest) -> str:
    """Name the database under test: sqlite, postgres, mariadb."""
    alias_or_skip(request.param)
    return str(request.param)


@pytest.fixture
def alias(database: str, _open: None) -> Iterator[str]:
    """Yield the alias under test; the router sends everything there, the tables are emptied afterwards."""
    name = alias_or_skip(database)
    with routed(name):
        yield name
    connection = connections[name]
    if connection.in_atomic_block or not connection.is_usable():  # a test that failed half-way
        connection.close()
    empty(name)
