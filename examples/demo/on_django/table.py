"""The table of one side, made and dropped by Django's schema editor."""

from __future__ import annotations

from django.db import connection, models

from examples.demo.database import SCHEMES


class DjangoWorkshop:
    """A model's table on the default connection."""

    def __init__(self, model: type[models.Model]) -> None:
        self._model = model
        self.scheme = SCHEMES[connection.settings_dict["ENGINE"]]
        self.name = f"{connection.settings_dict['NAME']}.{model._meta.db_table}"

    def ask(self, sql: str, parameter: object) -> object:
        with connection.cursor() as cursor:
            cursor.execute(sql, [parameter])
            return cursor.fetchone()[0]

    def create(self) -> None:
        with connection.schema_editor() as editor:
            editor.create_model(self._model)

    def drop(self) -> None:
        if self._model._meta.db_table in connection.introspection.table_names():
            with connection.schema_editor() as editor:
                editor.delete_model(self._model)

    def reconnect(self) -> None:
        connection.close()
