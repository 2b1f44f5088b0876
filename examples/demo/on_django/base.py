"""What both Django sides share: the table, the referee's look at a row, the captured SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

import django
from django.db import Error, connection, models, reset_queries

from examples.demo.on_django.table import DjangoWorkshop
from examples.demo.own_table import own_table
from examples.demo.story import WRITES, Actor, DemoError, Row, fresh_keys, told_apart


class DjangoSide:
    """A side without the code of the team."""

    model: ClassVar[type[models.Model]]
    calls: ClassVar[Mapping[Actor, str]]

    def describe(self) -> tuple[str, str]:
        """Name Django and the database, with their versions."""
        version = ".".join(map(str, connection.get_database_version()))
        return f"Django {django.__version__}", f"{connection.display_name} {version}"

    @contextmanager
    def jobs(self, rounds: int) -> Iterator[list[int]]:
        """Create the table with one running job for every round; drop it at the end.

        Raises:
            DemoError: the database refused something.
        """
        manager = self.model._default_manager
        try:
            with own_table(DjangoWorkshop(self.model)):
                keys = fresh_keys(rounds)
                manager.bulk_create([self.model(pk=key, state="running") for key in keys])
                yield keys
        except Error as error:
            raise DemoError(f"the database refused: {error}") from error

    def row(self, key: int) -> Row:
        """Read a job as it stands."""
        (row,) = self.model._default_manager.filter(pk=key).values()
        del row[self.model._meta.pk.name]
        return told_apart(row)

    def alone(self, actor: Actor) -> Row:
        """Say how a job must look after this actor, and nobody else, has written it."""
        return {"action": "start", **WRITES[actor]._asdict()}

    def listen(self) -> None:
        """Capture the statements of this process's connection, from now on."""
        connection.force_debug_cursor = True
        reset_queries()

    def sent(self) -> list[str]:
        """Return the statements that were sent since the last `listen`."""
        return [query["sql"] for query in connection.queries]
