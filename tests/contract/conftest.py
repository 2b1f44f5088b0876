"""One suite x adapter x colour x database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.adapters.base import Api
from tests.contract.adapters.django import DjangoApi
from tests.contract.adapters.sqla import SqlaApi
from tests.django.fixtures import _open, alias, database
from tests.sqla.databases import _sqla_databases

__all__ = ["_open", "_sqla_databases", "alias", "database"]

ADAPTERS = {"django": DjangoApi, "sqla": SqlaApi}
COLOURS = ("sync", "async")


@pytest.fixture(params=[f"{adapter}-{colour}" for adapter in ADAPTERS for colour in COLOURS])
def api(request: pytest.FixtureRequest, database: str, alias: str, _sqla_databases: None) -> Iterator[Api]:
    """Yield the api of one adapter and colour on the database under test."""
    adapter, colour = request.param.split("-")
    yield ADAPTERS[adapter](database, alias, colour=colour)


@pytest.fixture(params=["function", "manager"])
def keyed(request: pytest.FixtureRequest, api: Api) -> Api:
    """Return the api with each door that its by-key verbs have."""
    if request.param not in api.doors:
        pytest.skip(f"{type(api).__name__} has no by-key door {request.param}")
    api.door = request.param
    return api
