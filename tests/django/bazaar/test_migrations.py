"""Migrations of a model with the mixins name Django's fields only; the package loads before the apps do."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest
from django.apps import apps
from django.db import connections
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.graph import MigrationGraph
from django.db.migrations.questioner import NonInteractiveMigrationQuestioner
from django.db.migrations.state import ModelState, ProjectState
from django.db.migrations.writer import MigrationWriter

import cas_orm_django
from tests.django.bazaar import models as bazaar
from tests.django.shop import models as shop

MODELS = [
    shop.Order,
    shop.Doc,
    shop.Run,
    shop.Ticket,
    shop.Page,
    shop.Item,
    shop.Book,
    shop.UrgentOrder,
    bazaar.Reading,
]


def project(*models: Any) -> ProjectState:
    """Return the state of a project with these models."""
    state = ProjectState()
    for model in models:
        state.add_model(ModelState.from_model(model))
    return state


def detected(before: ProjectState, after: ProjectState) -> list[Any]:
    """Return what ``makemigrations`` would write."""
    asker = NonInteractiveMigrationQuestioner(specified_apps={"shop", "bazaar"}, dry_run=True)
    changes = MigrationAutodetector(before, after, asker).changes(graph=MigrationGraph())
    return [migration for migrations in changes.values() for migration in migrations]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_no_import_of_the_library(model: Any) -> None:
    """Neither mixins nor managers are written down, so the library can leave the project again."""
    needed = [model, shop.Customer, shop.Order, shop.Item]
    migrations = detected(ProjectState(), project(*dict.fromkeys(needed)))
    text = "".join(MigrationWriter(migration).as_string() for migration in migrations)
    assert "cas_orm" not in text and "managers=" not in text
    assert f"'{model.__name__}'" in text.replace('"', "'")


def test_the_columns_in_a_migration() -> None:
    """Both defaults, Python's for old rows and the database's for strangers."""
    (migration, *_) = detected(ProjectState(), project(shop.Run))
    text = MigrationWriter(migration).as_string()
    assert "models.BigIntegerField(db_default=1, default=1, editable=False)" in text
    assert "models.BigIntegerField(db_default=0, default=0, editable=False)" in text


def test_a_second_run_finds_nothing() -> None:
    """The state is stable."""
    state = project(shop.Customer, shop.Order)
    assert detected(state, project(shop.Customer, shop.Order)) == []


def test_adding_the_mixin_to_an_old_model() -> None:
    """Two AddField operations that ask no question."""
    old = project(shop.Run)
    fields = old.models["shop", "run"].fields
    del fields["record_version"], fields["run_seq"]
    (migration,) = detected(old, project(shop.Run))
    assert sorted(operation.name for operation in migration.operations) == ["record_version", "run_seq"]
    assert {type(operation).__name__ for operation in migration.operations} == {"AddField"}


def test_sql_of_adding_the_columns(alias: str) -> None:
    """As ``sqlmigrate`` prints it: the default stays in the table, so raw INSERTs start at 1 and 0."""
    old = project(shop.Run)
    for name in ("record_version", "run_seq"):
        del old.models["shop", "run"].fields[name]
    (migration,) = detected(old, project(shop.Run))
    with connections[alias].schema_editor(collect_sql=True, atomic=False) as editor:
        state = old.clone()
        for operation in migration.operations:
            before = state.clone()
            operation.state_forwards("shop", state)
            operation.database_forwards("shop", editor, before, state)
    text = "\n".join(editor.collected_sql).replace('"', "").replace("`", "")
    assert "record_version bigint DEFAULT 1 NOT NULL" in text
    assert "run_seq bigint DEFAULT 0 NOT NULL" in text
    assert "DROP DEFAULT" not in text


def test_a_raw_insert_gets_the_defaults(alias: str) -> None:
    """Who inserts by hand makes a row that the library can write."""
    with connections[alias].cursor() as cursor:
        cursor.execute("INSERT INTO shop_run (state) VALUES ('x')")
    run = shop.Run.objects.get()
    assert (run.record_version, run.run_seq) == (1, 0)
    run.save()


def test_historical_models_are_plain() -> None:
    """In a data migration nothing is guarded: the library does not live in the history."""
    historical = project(shop.Run).apps.get_model("shop", "run")
    assert not issubclass(historical, cas_orm_django.CasVerbsMixin)
    assert not hasattr(historical, "save_if_current")


def _python(code: str) -> str:
    """Run code in a fresh interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_before_the_apps_are_ready() -> None:
    """Importing the package loads no model and needs no settings."""
    code = "import sys, cas_orm_django; print([m for m in sys.modules if m.startswith('django.db')])"
    assert _python(code) == "[]"


def test_installed_apps() -> None:
    """The package stands in INSTALLED_APPS; mixins are importable once the apps load."""
    code = """
from django.conf import settings
settings.configure(INSTALLED_APPS=["cas_orm_django"])
import django; django.setup()
from django.apps import apps
from cas_orm_django import CasMixin
print(apps.get_app_config("cas_orm_django").verbose_name, CasMixin._meta.abstract)
"""
    assert _python(code) == "Compare-and-swap True"


@pytest.mark.parametrize("name", cas_orm_django.__all__)
def test_every_name_resolves(name: str) -> None:
    """To what it says, whatever was imported before, and to the same object ever after."""
    for room in iter_modules(cas_orm_django.__path__):
        import_module(f"cas_orm_django.{room.name}")
    first = getattr(cas_orm_django, name)
    assert callable(first)
    assert getattr(cas_orm_django, name) is first
    assert first.__name__ == name
    assert first.__module__.startswith("cas_orm_django.")
    assert first.__doc__


def test_settle_after_its_twin() -> None:
    """Either of the two names may be imported first."""
    code = """
from django.conf import settings
settings.configure(INSTALLED_APPS=["cas_orm_django"])
import django; django.setup()
from cas_orm_django import {}
from cas_orm_django import {}
print(callable(settle), callable(asettle))
"""
    assert _python(code.format("settle", "asettle")) == "True True"
    assert _python(code.format("asettle", "settle")) == "True True"


def test_the_list_of_names_is_sorted() -> None:
    """A flat list, no name twice; stars import exactly it."""
    assert sorted(cas_orm_django.__all__) == cas_orm_django.__all__
    space: dict[str, Any] = {}
    exec("from cas_orm_django import *", space)
    assert set(space) - {"__builtins__"} == set(cas_orm_django.__all__)
    assert apps.is_installed("cas_orm_django")
