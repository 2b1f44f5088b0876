"""AC-09: fifty processes increment one row; the default policy serves them all, and none of them is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.conf import settings
from sqlalchemy import select
from sqlalchemy.orm import Session

from tests.django.fixtures import alias_or_skip
from tests.django.shop.models import Doc, Order
from tests.django.tables import row
from tests.races.fleet import sail
from tests.races.on import SERVERS, on
from tests.sqla import shop
from tests.sqla.databases import DRIVERS, _sqla_databases, engines, url

__all__ = ["_sqla_databases"]

pytestmark = pytest.mark.timeout(400)
WRITERS = 50
CAP = 0.1  # seconds, of the default policy


@dataclass
class Row:
    """The one row that everybody wants, and how to reach it from another process."""

    job: dict[str, Any]

    def sail(
        self, *, writers: int = WRITERS, lockstep: int = 0, journal: bool = False, **policy: Any
    ) -> list[dict[str, Any]]:
        """Let the writers race for it."""
        return sail(**self.job, writers=writers, lockstep=lockstep, journal=journal, policy=policy)

    @property
    def line(self) -> str:
        """Return what each writer of this row writes into the journal."""
        return f"of {self.job['key']}"

    def count(self) -> int:
        """Return what has been counted."""
        raise NotImplementedError

    def journal(self) -> int:
        """Return how many lines have been written beside it."""
        raise NotImplementedError


class DjangoRow(Row):
    """A row of the Django tests."""

    def __init__(self, door: str, asynchronous: bool) -> None:
        name = settings.DATABASES[door]["NAME"]
        key, warm = (Order.objects.using(door).create().pk for _ in range(2))
        super().__init__({"adapter": "django", "door": door, "name": name, "key": key, "warm": warm})
        self.job["asynchronous"] = asynchronous
        self.door = door

    def count(self) -> int:
        return row(Order, self.job["key"], self.door)["n"]  # type: ignore[index,no-any-return]

    def journal(self) -> int:
        return Doc.objects.using(self.door).filter(title=self.line).count()


class SqlaRow(Row):
    """A row of the SQLAlchemy tests."""

    def __init__(self, database: str, asynchronous: bool, level: str = "") -> None:
        self.engine = engines(database).sync
        with Session(self.engine) as session:
            orders = [shop.Order(), shop.Order()]
            session.add_all(orders)
            session.commit()
            key, warm = (order.id for order in orders)
        address = url(database, asynchronous=asynchronous).render_as_string(hide_password=False)
        super().__init__({"adapter": "sqla", "url": address, "key": key, "warm": warm, "level": level})
        self.job["asynchronous"] = asynchronous

    def count(self) -> int:
        with Session(self.engine) as session:
            return session.get_one(shop.Order, self.job["key"]).n

    def journal(self) -> int:
        with Session(self.engine) as session:
            return len(session.scalars(select(shop.Doc.id).where(shop.Doc.title == self.line)).all())


@pytest.fixture(params=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    """Say which colour the writers have."""
    return bool(request.param == "async")


@pytest.fixture
def sqla_row(request: pytest.FixtureRequest, asynchronous: bool, _sqla_databases: None) -> Iterator[SqlaRow]:
    """Yield a row on the database, at the isolation level, that the test names."""
    database, _, level = request.param.partition(" at ")
    alias_or_skip(database)
    assert database in DRIVERS
    yield SqlaRow(database, asynchronous, level)
    engines(database).empty()


def check_all_served(target: Row) -> None:
    """Check what AC-09 asks for. Where others keep the processors busy, the best of three races counts."""
    expected = 0
    for _ in range(3):
        reports = target.sail()
        served = sum(r["won"] for r in reports)
        expected += served
        assert target.count() == expected, "an increment was lost, or done twice"
        assert max(wait for r in reports for wait in [0, *r["waits"]]) <= CAP
        assert [r["loads"] for r in reports] == [r["attempts"] for r in reports]
        assert [r["waited"] for r in reports] == pytest.approx([sum(r["waits"]) for r in reports])
        assert sum(r["attempts"] for r in reports) > len(reports), "nobody was in anybody's way"
        if served == WRITERS:
            return
    pytest.fail("the default policy served not all of the writers, three times")


@on(*SERVERS)
def test_ac09_on_django(door: str, asynchronous: bool) -> None:
    """All are served, nothing is lost, no wait is longer than the cap, every load is an attempt."""
    check_all_served(DjangoRow(door, asynchronous))


@pytest.mark.parametrize("sqla_row", SERVERS, indirect=True)
def test_ac09_on_sqlalchemy(sqla_row: SqlaRow) -> None:
    """The same; on MariaDB each attempt has a snapshot of its own."""
    check_all_served(sqla_row)


@on("postgres_rr", "postgres_serializable", "mariadb_rr", "mariadb_snapshot", "sqlite_wal")
def test_ac09_where_the_engine_refuses(door: str) -> None:
    """Serialization failures, dead transactions and busy files count as conflicts, too."""
    target = DjangoRow(door, asynchronous=False)
    reports = target.sail(writers=12)
    assert all(r["won"] for r in reports)
    assert target.count() == len(reports)


@pytest.mark.parametrize("asynchronous", ["sync"], indirect=True)
@pytest.mark.parametrize(
    "sqla_row", ["postgres at REPEATABLE READ", "postgres at SERIALIZABLE", "sqlite"], indirect=True
)
def test_ac09_on_sqlalchemy_where_the_engine_refuses(sqla_row: SqlaRow) -> None:
    """The same through a session."""
    reports = sqla_row.sail(writers=12)
    assert all(r["won"] for r in reports)
    assert sqla_row.count() == len(reports)


def check_a_small_budget(target: Row) -> None:
    """Let one win in each of two rounds; the others give up, say so, and leave nothing."""
    reports = target.sail(lockstep=2, journal=True, delays=[0], max_retries=1)
    lost = [r for r in reports if not r["won"]]
    assert len(lost) == WRITERS - 2
    assert {(r["attempts"], r["code"], r["last"]) for r in lost} == {
        (2, "cas-retries-exhausted", "cas-stale")
    }
    assert target.count() == target.journal() == 2


@on(*SERVERS)
def test_ac09_a_small_budget_on_django(door: str, asynchronous: bool) -> None:
    """The giving-up writers carry their attempts, and no partial write is left."""
    check_a_small_budget(DjangoRow(door, asynchronous))


@pytest.mark.parametrize("sqla_row", SERVERS, indirect=True)
def test_ac09_a_small_budget_on_sqlalchemy(sqla_row: SqlaRow) -> None:
    """The same through a session."""
    check_a_small_budget(sqla_row)


@on("postgres")
def test_ac09_baseline(door: str) -> None:
    """Five attempts at once leave writers unserved: the default needs a larger budget, and jitter."""
    target = DjangoRow(door, asynchronous=False)
    reports = target.sail(lockstep=1, journal=True, delays=[0], max_retries=4)
    unserved = [r for r in reports if not r["won"]]
    assert len(unserved) >= 1
    assert target.count() == target.journal() == WRITERS - len(unserved)
