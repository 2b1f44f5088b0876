"""Two real connections per race, on the databases and isolation levels that a test names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.db import connections

from tests.django.databases import ALIASES
from tests.django.fixtures import _open, alias_or_skip
from tests.django.tables import empty
from tests.races.actors import Actor, DjangoActor, actors
from tests.races.actors_sqla import SqlaActor, door_engines, shut_doors
from tests.races.proxy import Proxy, proxied
from tests.races.stage import SEATS, Stage, seated
from tests.sqla.databases import _sqla_databases

__all__ = ["_open", "_sqla_databases"]

PORTS = {"postgres": 5432, "mariadb": 3306}


@pytest.fixture
def door(request: pytest.FixtureRequest, _open: None) -> Iterator[str]:
    """Yield the alias of the database, or of the isolation level, that the test is parametrized with."""
    name = alias_or_skip(request.param)
    yield name
    empty(ALIASES.get(name.partition("_")[0], name) if name != "sqlite_wal" else name)


@pytest.fixture
def pair(door: str) -> Iterator[list[DjangoActor]]:
    """Yield two actors: the one who is first, and the one who is late."""
    with actors(DjangoActor(door), DjangoActor(door)) as cast:
        yield cast


@pytest.fixture(scope="session")
def _doors(_sqla_databases: None) -> Iterator[None]:
    """Remove what the doors of SQLAlchemy leave behind."""
    yield
    shut_doors()


@pytest.fixture
def sqla_door(door: str, _doors: None) -> Iterator[str]:
    """Yield the name of the door as SQLAlchemy's engines are called; its tables are emptied afterwards."""
    name = next((database for database, alias in ALIASES.items() if alias == door), door)
    yield name
    door_engines(name).empty()


@pytest.fixture(params=SEATS)
def stage(request: pytest.FixtureRequest, door: str, sqla_door: str) -> Iterator[Stage]:
    """Yield two actors and a witness of one adapter and colour."""
    cast: list[Actor] = [seated(request.param, sqla_door, door) for _ in range(3)]
    with actors(*cast):
        yield Stage(*cast)


@pytest.fixture(params=["sync", "async"])
def sqla(request: pytest.FixtureRequest, door: str, sqla_door: str) -> Iterator[Stage]:
    """Yield two actors and a witness of SQLAlchemy alone."""
    with actors(*(SqlaActor(sqla_door, door, request.param) for _ in range(3))) as cast:
        yield Stage(*cast)


@pytest.fixture
def between(door: str) -> Iterator[Proxy]:
    """Yield a proxy in front of the server of this door."""
    server = settings.DATABASES[door]
    with proxied(server["HOST"], int(server["PORT"] or PORTS[door.partition("_")[0]])) as proxy:
        yield proxy


@pytest.fixture
def proxy(door: str, pair: list[DjangoActor], between: Proxy) -> Proxy:
    """Send the late actor's connection through a proxy; everybody else goes straight to the server."""

    def detour() -> None:
        connection = connections[door]
        connection.close()
        connection.settings_dict = {**connection.settings_dict, "PORT": between.port}

    pair[1].do(detour)
    return between
