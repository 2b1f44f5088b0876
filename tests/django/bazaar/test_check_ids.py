"""Every system check by its id: a model or database that is wrong, and its right twin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core import checks
from django.db import connections, models
from django.test.utils import isolate_apps

from cas_orm_django import CasManager, CasMixin, CasVerbsMixin, RecordVersionMixin, RunSeqMixin
from cas_orm_django.checks import check_databases, check_sqlite
from tests.django.fixtures import alias_or_skip


def ids(model: type[models.Model]) -> list[str]:
    """Return the ids of what our checks say of a model."""
    return [message.id or "" for message in model.check() if (message.id or "").startswith("cas_orm.")]


def model(*bases: type, **body: Any) -> type[models.Model]:
    """Return a model of these bases and attributes, outside the registry."""
    meta = type("Meta", (), {"app_label": "bazaar"} | body.pop("Meta", {}))
    with isolate_apps("tests.django.bazaar"):
        return type(
            "Checked", bases or (CasMixin, models.Model), {"__module__": __name__, "Meta": meta, **body}
        )


def number(**options: Any) -> models.BigIntegerField[Any, Any]:
    """Return a column that could be a version."""
    return models.BigIntegerField(**{"default": 1} | options)


@pytest.mark.parametrize(
    "right",
    [
        lambda: model(),
        lambda: model(RecordVersionMixin, models.Model),
        lambda: model(RunSeqMixin, RecordVersionMixin, models.Model),
        lambda: model(CasVerbsMixin, models.Model, record_version=number()),
        lambda: model(CasVerbsMixin, models.Model, cas_version_field="lock", lock=number()),
        lambda: model(CasVerbsMixin, models.Model, record_version=models.PositiveIntegerField(default=1)),
        lambda: model(n=number(), cas_unversioned_fields=("n",)),
        lambda: model(n=number(), Meta={"indexes": [models.Index(fields=["n"], name="n")]}),
        lambda: model(objects=CasManager()),
        lambda: model(Meta={"managed": False}),
        lambda: model(Meta={"abstract": True}),
    ],
)
def test_right(right: Any) -> None:
    """Nothing to say."""
    found = right()
    assert (False) or ids(found) == []


def test_e001_no_version() -> None:
    """No column to compare, under either name; or a generation in another table."""
    assert ids(model(CasVerbsMixin, models.Model)) == ["cas_orm.E001"]
    assert ids(model(RunSeqMixin, models.Model)) == ["cas_orm.E001"]
    assert ids(model(CasVerbsMixin, models.Model, cas_version_field="nowhere")) == ["cas_orm.E001"]
    assert ids(model(RecordVersionMixin, models.Model, cas_generation_field="nowhere")) == ["cas_orm.E001"]


def test_e001_two_tables() -> None:
    """Version and generation cannot stand in one WHERE."""
    from tests.django.shop.models import Doc

    assert ids(model(Doc, cas_generation_field="epoch", epoch=number())) == ["cas_orm.E001"]
    assert ids(model(Doc, n2=number())) == []


@pytest.mark.parametrize(
    "column", [number(null=True), models.CharField(max_length=5), models.FloatField(), models.DateTimeField()]
)
def test_e002_not_a_number(column: Any) -> None:
    """NULL never equals anything; text and floats do not count."""
    assert ids(model(CasVerbsMixin, models.Model, record_version=column)) == ["cas_orm.E002"]
    options = {"cas_generation_field": "epoch", "epoch": column.clone()}
    assert ids(model(RecordVersionMixin, models.Model, **options)) == ["cas_orm.E002"]


@pytest.mark.parametrize("name", ["nowhere", "record_version", "run_seq"])
def test_e003_unversioned(name: str) -> None:
    """A misspelt name, or a column that the library writes itself."""
    assert ids(model(cas_unversioned_fields=(name,))) == ["cas_orm.E003"]


def test_e003_a_relation_of_many() -> None:
    """A many-to-many field is no column."""
    tags = models.ManyToManyField("shop.Tag")
    assert ids(model(tags=tags, cas_unversioned_fields=("tags",))) == ["cas_orm.E003"]


def test_e004_managers() -> None:
    """A default or base manager that does not bump."""
    assert ids(model(objects=models.Manager())) == ["cas_orm.E004", "cas_orm.E004"]
    plain = {"plain": models.Manager(), "objects": CasManager(), "Meta": {"default_manager_name": "plain"}}
    assert ids(model(**plain)) == ["cas_orm.E004"]
    base = {"objects": CasManager(), "plain": models.Manager(), "Meta": {"base_manager_name": "plain"}}
    assert ids(model(**base)) == ["cas_orm.E004"]
    assert ids(model(objects=CasManager(), plain=models.Manager())) == []


@pytest.mark.parametrize(
    "options",
    [
        {"indexes": [models.Index(fields=["record_version"], name="v")]},
        {"indexes": [models.Index(fields=["n", "record_version"], name="v")]},
        {"constraints": [models.UniqueConstraint(fields=["n", "record_version"], name="v")]},
        {"unique_together": [("n", "record_version")]},
        {"unique_together": ("n", "record_version")},
    ],
)
def test_w001_an_indexed_version(options: dict[str, Any]) -> None:
    """Every write changes the version, and the index with it."""
    assert ids(model(n=number(), Meta=options)) == ["cas_orm.W001"]


def test_w001_on_the_column() -> None:
    """The index that the field itself asks for."""
    for options in ({"db_index": True}, {"unique": True}):
        assert ids(model(CasVerbsMixin, models.Model, record_version=number(**options))) == ["cas_orm.W001"]


def test_w001_descending() -> None:
    """An index the other way round is an index."""
    index = models.Index(fields=["-record_version"], name="v")
    assert ids(model(Meta={"indexes": [index]})) == ["cas_orm.W001"]


@pytest.mark.usefixtures("_open")
def test_w002_transactions_of_sqlite() -> None:
    """Named for the aliases that begin deferred, silent for the one that begins immediate."""
    found = [m for m in check_sqlite() if m.id == "cas_orm.W002"]
    assert [m.msg.split("'")[1] for m in found] == ["sqlite_deferred", "sqlite_wal"]
    assert found == [m for m in checks.run_checks() if m.id == "cas_orm.W002"]


@pytest.fixture
def mariadb(_open: None) -> Iterator[Any]:
    """Return a connection to MariaDB whose session and tables are put back afterwards."""
    from tests.django.shop.models import Doc

    connection = connections[alias_or_skip("mariadb")]
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@sql_mode")
        (mode,) = cursor.fetchone()
    yield connection
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION sql_mode = %s", [mode])
        cursor.execute(f"ALTER TABLE {Doc._meta.db_table} ENGINE=InnoDB")


def test_e005_a_lenient_mode(mariadb: Any) -> None:
    """Without a strict mode a version at its maximum would stop growing."""
    with mariadb.cursor() as cursor:
        cursor.execute("SET SESSION sql_mode = ''")
    assert [m.id for m in check_databases([mariadb.alias])] == ["cas_orm.E005"]
    for mode in ("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES"):
        with mariadb.cursor() as cursor:
            cursor.execute("SET SESSION sql_mode = %s", [mode])
        assert check_databases([mariadb.alias]) == []


def test_e006_an_engine_without_rollback(mariadb: Any) -> None:
    """MyISAM keeps what a rollback should undo."""
    from tests.django.shop.models import Doc

    assert check_databases([mariadb.alias]) == []
    with mariadb.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {Doc._meta.db_table} ENGINE=MyISAM")
    (message,) = check_databases([mariadb.alias])
    assert message.id == "cas_orm.E006" and Doc._meta.db_table in message.msg


def test_database_checks_run_when_asked(alias: str) -> None:
    """``check --database`` connects; without it no database is touched."""
    found = checks.run_checks(tags=[checks.Tags.database], databases=[alias])
    assert [m for m in found if (m.id or "").startswith("cas_orm.")] == []
    assert check_databases(None) == check_databases([]) == []
