"""A race that reads the same on both adapters: two actors, and a witness who reads what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from sqlalchemy import inspect
from sqlalchemy.orm.exc import StaleDataError

from cas_orm import ErrRecordVersionConflict
from tests.contract.adapters.base import Api
from tests.contract.adapters.django import DjangoApi
from tests.races.actors import Actor, DjangoActor
from tests.races.actors_sqla import SqlaActor

#: adapter and colour
SEATS = ("django-sync", "django-async", "sqla-sync", "sqla-async")


def seated(seat: str, door: str, alias: str) -> Actor:
    """Return an actor of this adapter and colour at this door."""
    adapter, colour = seat.split("-")
    return DjangoActor(alias, colour) if adapter == "django" else SqlaActor(door, alias, colour)


@dataclass(frozen=True)
class Stage:
    """The actors of one race."""

    early: Actor
    late: Actor
    witness: Actor

    @property
    def pair(self) -> tuple[Actor, Actor]:
        """The one who is first, and the one who is late."""
        return self.early, self.late

    @property
    def models(self) -> SimpleNamespace:
        """The classes by their common names."""
        return self.witness.api.models

    def insert(self, model: type[Any], **values: Any) -> Any:
        """Insert a row and return its key."""
        return self.witness.do(self._insert, model, **values)

    async def _insert(self, model: type[Any], **values: Any) -> Any:
        return self.witness.api.key(await self.witness.api.insert(model, **values))

    def row(self, model: type[Any], key: Any) -> Any:
        """Return the row as it stands now."""
        return self.witness.do(self.witness.api.row, model, key)

    def held(self, model: type[Any], key: Any) -> list[Any]:
        """Let both load the row, each an object of its own."""
        return [actor.do(actor.api.load, model, key) for actor in self.pair]


def table_of(model: type[Any]) -> str:
    """Return the name of a class's table."""
    meta = getattr(model, "_meta", None)
    return str(meta.db_table if meta is not None else inspect(model).local_table.name)


async def save_only(api: Api, obj: Any, name: str) -> None:
    """Save one column by the ORM's own means; SQLAlchemy writes what has changed."""
    if isinstance(api, DjangoApi):
        await api.hop(obj.save, update_fields=[name])
    else:
        await api.plain_save(obj)


def is_version_conflict(error: object) -> bool:
    """Tell whether a save was refused by the version; a flush of a plain session says it in its own words."""
    return isinstance(error, ErrRecordVersionConflict | StaleDataError)
