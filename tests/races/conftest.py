"""Two real connections per race, on the databases and isolation levels that a test names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.db import connections

from tests.django.databases import ALIASES
from tests.django.fixtures import _open, alias_or_skip
from tests.django.tables import empty
from tests.races.actors import Actor, actors
from tests.races.proxy import Proxy, proxied

__all__ = ["_open"]


@pytest.fixture
def door(request: pytest.FixtureRequest, _open: None) -> Iterator[str]:
    """Yield the alias of the database, or of the isolation level, that the test is parametrized with."""
    name = alias_or_skip(request.param)
    yield name
    empty(ALIASES.get(name.partition("_")[0], name) if name != "sqlite_wal" else name)


@pytest.fixture
def pair(door: str) -> Iterator[list[Actor]]:
    """Yield two actors: the one who is first, and the one who is late."""
    with actors(door, door) as cast:
        yield cast


@pytest.fixture
def proxy(door: str, pair: list[Actor]) -> Iterator[Proxy]:
    """Send the late actor's connection through a proxy; everybody else goes straight to the server."""
    server = settings.DATABASES[door]
    default = {"postgres": 5432, "mariadb": 3306}[door]

    with proxied(server["HOST"], int(server["PORT"] or default)) as between:

        def detour() -> None:
            connection = connections[door]
            connection.close()
            connection.settings_dict = {**connection.settings_dict, "PORT": between.port}

        pair[1].do(detour)
        yield between
