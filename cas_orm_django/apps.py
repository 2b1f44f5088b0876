"""The Django application: registers the system checks."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.checks import Tags, register


class CasOrmConfig(AppConfig):
    """Put ``"cas_orm_django"`` into INSTALLED_APPS."""

    name = "cas_orm_django"
    label = "cas_orm_django"
    verbose_name = "Compare-and-swap"

    def ready(self) -> None:
        """Register the checks that are not about one model."""
        from cas_orm_django import checks

        register(checks.check_sqlite)
        register(checks.check_databases, Tags.database)
