"""Models of jobs in migrations: stable, and with states that compare exactly on each database."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from django.core.management import call_command
from django.db import connections, models
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.questioner import NonInteractiveMigrationQuestioner
from django.db.migrations.state import ModelState, ProjectState
from django.db.migrations.writer import MigrationWriter
from django.test.utils import isolate_apps, override_settings

from cas_orm_django import JobMixin
from cas_orm_django.fields import StateField

STATES = ("state", "action", "result")


def errand() -> type[models.Model]:
    """Return a model of jobs with an initial state of its own."""

    class Errand(JobMixin, models.Model):
        cas_initial_state = "new"
        cas_transitions = {"new": ("running",), "running": ("new", "done")}

        class Meta:
            app_label = "errands"

    return Errand


@pytest.fixture
def model() -> Iterator[type[models.Model]]:
    """Yield a model of jobs that is in no registry but its own."""
    with isolate_apps("tests.django.shop"):
        yield errand()


def changes(before: ProjectState, after: ProjectState) -> list[object]:
    """Return the operations that ``makemigrations`` would write."""
    found = MigrationAutodetector(before, after, NonInteractiveMigrationQuestioner({"ask_initial": True}))
    migrations = found.changes(graph=MigrationLoader(None).graph).get("errands", [])
    return [operation for migration in migrations for operation in migration.operations]


def of(model: type[models.Model]) -> ProjectState:
    """Return the state of a project with this one model."""
    state = ProjectState()
    state.add_model(ModelState.from_model(model))
    return state


def run_text(text: str) -> ModuleType:
    """Import a migration from its text."""
    module = ModuleType("errands_0001")
    sys.modules[module.__name__] = module
    exec(compile(text, "errands_0001", "exec"), module.__dict__)  # as Django imports a file
    return module


def written(model: type[models.Model]) -> tuple[str, ProjectState]:
    """Return the text of the model's first migration, and the state that it leads to when it is read back."""
    found = MigrationAutodetector(
        ProjectState(), of(model), NonInteractiveMigrationQuestioner({"ask_initial": True})
    )
    (migration,) = found.changes(graph=MigrationLoader(None).graph)["errands"]
    text = MigrationWriter(migration).as_string()
    read = run_text(text).Migration("0001_initial", "errands")
    return text, read.mutate_state(ProjectState())


def test_a_second_run_finds_nothing(model: type[models.Model]) -> None:
    """What is written leads to what the model is; no mixin and no collation is in it."""
    text, state = written(model)
    assert changes(state, of(model)) == []
    assert "cas_orm_django.fields.StateField" in text
    assert "InitialStateField" not in text
    assert "db_collation" not in text
    assert "default='new'" in text


def test_another_initial_state_is_a_change(model: type[models.Model]) -> None:
    """The accepted twin: what is different is found."""
    with isolate_apps("tests.django.shop"):

        class Errand(JobMixin, models.Model):
            class Meta:
                app_label = "errands"

        found = changes(written(model)[1], of(Errand))
    assert [type(operation).__name__ for operation in found] == ["AlterField"]


def test_tables_by_migration(alias: str, model: type[models.Model]) -> None:
    """The table that the migration makes takes rows; 'New' is not 'new' in it, on MariaDB either."""
    connection = connections[alias]
    made = written(model)[1].apps.get_model("errands", "Errand")
    with connection.schema_editor() as editor:
        editor.create_model(made)
    try:
        rows: models.QuerySet[models.Model] = models.QuerySet(made, using=alias)
        table = connection.ops.quote_name(made._meta.db_table)
        with connection.cursor() as cursor:
            cursor.execute(f"INSERT INTO {table} (id) VALUES (7)")  # every column has its default
        assert rows.values_list("state", "action", "attempts", "run_seq").get() == ("new", "start", 0, 0)
        assert rows.filter(state="new").count() == 1
        for other in ("New", "NEW"):
            assert rows.filter(state=other).count() == 0
        with connection.cursor() as cursor:
            described = connection.introspection.get_table_description(cursor, made._meta.db_table)
        collations = {c.name: c.collation for c in described if c.name in STATES}
        expected = "utf8mb4_bin" if connection.vendor == "mysql" else None
        assert collations == dict.fromkeys(STATES, expected)
    finally:
        with connection.schema_editor() as editor:
            editor.delete_model(made)


def test_a_state_that_becomes_exact(alias: str) -> None:
    """A column that was a CharField compares exactly once it is a StateField."""
    connection = connections[alias]
    with isolate_apps("tests.django.shop"):

        class Adopted(models.Model):
            kind = models.CharField(max_length=32)

            class Meta:
                app_label = "errands"

    before = Adopted._meta.get_field("kind")
    after = StateField(max_length=32)
    after.set_attributes_from_name("kind")
    after.model = Adopted
    with connection.schema_editor() as editor:
        editor.create_model(Adopted)
    try:
        rows: models.QuerySet[Adopted] = models.QuerySet(Adopted, using=alias)
        rows.create(kind="new")
        with connection.schema_editor() as editor:
            editor.alter_field(Adopted, before, after)
        assert rows.filter(kind="New").count() == 0
        assert rows.filter(kind="new").count() == 1
    finally:
        with connection.schema_editor() as editor:
            editor.delete_model(Adopted)


@pytest.mark.usefixtures("_open")
def test_makemigrations_of_an_app(tmp_path: Path) -> None:
    """The command itself: written once, and nothing left to write for an app that has jobs."""
    package = tmp_path / "errand_migrations"
    package.mkdir()
    (package / "__init__.py").touch()
    sys.path.insert(0, str(tmp_path))
    try:
        with override_settings(MIGRATION_MODULES={"shop": "errand_migrations"}):
            call_command("makemigrations", "shop", verbosity=0)
            assert "StateField" in (package / "0001_initial.py").read_text()
            call_command("makemigrations", "shop", check_changes=True, verbosity=0)
    finally:
        sys.path.remove(str(tmp_path))
        for name in [n for n in sys.modules if n.startswith("errand_migrations")]:
            del sys.modules[name]
