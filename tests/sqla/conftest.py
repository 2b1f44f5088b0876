"""The databases of the SQLAlchemy tests, as engines."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from django.conf import settings

from tests.django.databases import ALIASES
from tests.sqla.databases import DRIVERS, Engines, _sqla_databases, engines

__all__ = ["_sqla_databases"]


@pytest.fixture(params=list(DRIVERS))
def db(request: pytest.FixtureRequest, _sqla_databases: None) -> Iterator[Engines]:
    """Yield the two doors to each database; what is absent is skipped by name."""
    if ALIASES[request.param] not in settings.DATABASES:
        why = settings.ABSENT_DATABASES[request.param]
        if os.environ.get("CI", "").lower() in ("1", "true"):
            raise RuntimeError(f"database {request.param} is absent, and CI=true: {why}")
        pytest.skip(f"database {request.param} is absent: {why}")
    made = engines(request.param)
    yield made
    made.empty()
