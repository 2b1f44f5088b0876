"""System checks: silent on every model of the shop, loud on a model that would not be guarded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.core import checks
from django.db import connections, models
from django.test.utils import isolate_apps

from cas_orm_django import CasManager, CasMixin, CasVerbsMixin, RunSeqMixin


def errors(model: type[models.Model]) -> list[str]:
    """Return the ids of the errors that checking a model gives."""
    return [m.id for m in model.check() if m.level >= checks.ERROR and "cas" in (m.id or "")]


@pytest.fixture(autouse=True)
def isolated(_open: None) -> Iterator[None]:
    """Keep the models of these tests out of the registry; the check of a JSON field asks the database."""
    with isolate_apps("tests.django.shop"):
        yield


def test_the_shop_is_clean() -> None:
    """No error of ours for any model of the shop."""
    found = [m for m in checks.run_checks() if "cas" in (m.id or "")]
    assert [m for m in found if m.level >= checks.ERROR] == []
    assert apps.is_installed("cas_orm_django")


def test_sqlite_should_begin_immediate() -> None:
    """A SQLite alias without ``transaction_mode: IMMEDIATE`` is asked for it, one that has it is not."""
    found = " ".join(m.msg for m in checks.run_checks(databases=list(connections)) if "cas" in (m.id or ""))
    assert "sqlite_deferred" in found
    assert "sqlite_wal" in found
    assert "'default'" not in found


def test_good_models() -> None:
    """The accepted twin of the errors below."""

    class Good(CasMixin, models.Model):
        class Meta:
            app_label = "shop"

    class Adopting(CasVerbsMixin, models.Model):
        cas_version_field = "lock"
        lock = models.BigIntegerField(default=1, db_default=1)

        class Meta:
            app_label = "shop"

    assert errors(Good) == errors(Adopting) == []


def test_a_default_manager_that_does_not_bump() -> None:
    """``objects = models.Manager()`` replaces the bumping manager."""

    class Plain(CasMixin, models.Model):
        objects = models.Manager()

        class Meta:
            app_label = "shop"

    assert errors(Plain)


def test_a_base_manager_that_does_not_bump() -> None:
    """Another abstract base first: Django gives the model a plain base manager."""

    class Stamped(models.Model):
        at = models.DateTimeField(auto_now=True)

        class Meta:
            app_label = "shop"
            abstract = True

    class Mixed(Stamped, CasMixin):
        class Meta:
            app_label = "shop"

    assert errors(Mixed)


def test_a_generation_without_a_version() -> None:
    """``RunSeqMixin`` alone is refused."""

    class Alone(RunSeqMixin, models.Model):
        class Meta:
            app_label = "shop"

    assert errors(Alone)


@pytest.mark.parametrize("option", ["cas_version_field", "cas_generation_field"])
def test_an_adopted_column_that_is_not_there(option: str) -> None:
    """A name without a column."""
    body = {
        "__module__": __name__,
        "lock": models.BigIntegerField(default=1),
        "cas_version_field": "lock",
        option: "nowhere",
        "Meta": type("Meta", (), {"app_label": "shop"}),
    }
    assert errors(type("Lost", (CasVerbsMixin, models.Model), body))


def test_an_unversioned_column_that_is_not_there() -> None:
    """A misspelt name would silently be versioned."""

    class Misspelt(CasMixin, models.Model):
        cas_unversioned_fields = ("nowhere",)

        class Meta:
            app_label = "shop"

    assert errors(Misspelt)


def test_a_bumping_manager_of_the_users_own() -> None:
    """A subclass of ``CasManager`` is accepted."""

    class Mine(CasManager):
        pass

    class Owned(CasMixin, models.Model):
        objects = Mine()

        class Meta:
            app_label = "shop"

    assert errors(Owned) == []
