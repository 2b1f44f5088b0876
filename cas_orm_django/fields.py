"""Columns that have to compare exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

if TYPE_CHECKING:
    _CharField = models.CharField[str, str]
else:
    _CharField = models.CharField

#: Where MariaDB would otherwise find 'Running' equal to 'running' (ADR 0017).
BINARY = "utf8mb4_bin"


class StateField(_CharField):
    """A ``CharField`` that tells upper from lower case on every database."""

    def db_parameters(self, connection: BaseDatabaseWrapper) -> Any:
        """Return the column's type, with a binary collation where the default one is not."""
        parameters = super().db_parameters(connection)
        if connection.vendor == "mysql" and not self.db_collation:
            parameters["collation"] = BINARY
        return parameters


class InitialStateField(StateField):
    """The state of a job: new rows have the class's ``cas_initial_state``."""

    def contribute_to_class(self, cls: type[models.Model], name: str, private_only: bool = False) -> None:
        """Take the default from the class; a historical model of a migration keeps its own."""
        initial = getattr(cls, "cas_initial_state", None)
        if initial is not None:
            self.default = self.db_default = initial
        super().contribute_to_class(cls, name, private_only)

    def deconstruct(self) -> Any:
        """Return a plain `StateField` for migrations."""
        name, _, args, kwargs = super().deconstruct()
        return name, "cas_orm_django.fields.StateField", args, kwargs
