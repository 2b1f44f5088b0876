"""The Django adapter under the contract suite."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, ClassVar

from asgiref.sync import async_to_sync, sync_to_async
from django.db import connections, transaction
from django.db.models import F, Q, QuerySet
from django.test.utils import CaptureQueriesContext

import cas_orm_django
from cas_orm import Outcome
from tests.contract.adapters.base import Api, Model, Undo
from tests.django import tables
from tests.django.shop import models as shop


class DjangoApi(Api):
    """Verbs on objects, by function and by manager; transactions by ``atomic``."""

    doors: ClassVar[tuple[str, ...]] = ("function", "manager")
    capabilities = frozenset({"plain_save_is_guarded", "partial_reload"})
    models = SimpleNamespace(**{name: getattr(shop, name) for name in shop.__all__})

    def __init__(self, database: str, alias: str, *, colour: str, door: str = "function") -> None:
        self.database = database
        self.alias = alias
        self.colour = colour
        self.door = door

    def drive(self, test: Coroutine[Any, Any, None]) -> None:
        """Run the test: step by step without a loop, or in a loop whose database thread is this one."""
        if self.colour == "async":

            async def run() -> None:
                await test

            async_to_sync(run)()
            return
        try:
            test.send(None)
        except StopIteration:
            return
        test.close()
        raise AssertionError("a sync verb suspended")

    async def hop(self, fn: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Call sync code in the thread that owns the connections."""
        if self.colour == "sync":
            return fn(*args, **options)
        return await sync_to_async(fn)(*args, **options)

    async def _call(self, target: Any, verb: str, *args: Any, **options: Any) -> Any:
        if self.colour == "async":
            return await getattr(target, f"a{verb}")(*args, **options)
        result = getattr(target, verb)(*args, **options)
        assert not inspect.isawaitable(result)
        return result

    async def _verb(self, target: Any, verb: str, *args: Any, **options: Any) -> Outcome:
        result = await self._call(target, verb, *args, **options)
        assert isinstance(result, Outcome)
        return result

    async def on_object(self, verb: str, obj: Any, *args: Any, **options: Any) -> Outcome:
        """Call ``obj.verb()`` or its twin."""
        return await self._verb(obj, verb, *args, **options)

    async def by_key(self, verb: str, model: Model, key: Any, *args: Any, **options: Any) -> Outcome:
        """Call ``verb(Model, key)`` or ``Model.objects.verb(key)``."""
        if self.door == "manager":
            return await self._verb(model.objects, verb, key, *args, **options)
        return await self._verb(cas_orm_django, verb, model, key, *args, **options)

    async def on_set(self, verb: str, model: Model, *args: Any, **options: Any) -> Any:
        """Call ``verb(Model)`` or ``Model.objects.verb()``."""
        if self.door == "manager":
            return await self._call(model.objects, verb, *args, **options)
        return await self._call(cas_orm_django, verb, model, *args, **options)

    def has_verb(self, model: Model, verb: str) -> bool:
        """Look on the class."""
        return hasattr(model, verb)

    async def insert(self, model: Model, **values: Any) -> Any:
        """Create through the default manager."""
        return await self.hop(model._default_manager.create, **values)

    async def load(self, model: Model, key: Any) -> Any:
        """Get through the base manager."""
        return await self.hop(model._base_manager.get, pk=key)

    async def reload(self, obj: Any, *names: str) -> None:
        """Call ``refresh_from_db``."""
        await self.hop(obj.refresh_from_db, fields=list(names) or None)

    async def defer(self, obj: Any, name: str) -> None:
        """Load the object once more with a plain queryset that defers the column, and take over its state."""
        plain = QuerySet(type(obj), using=self.alias).defer(name)
        found = await self.hop(plain.get, pk=obj.pk)
        obj.__dict__.clear()
        obj.__dict__.update(found.__dict__)

    async def plain_save(self, obj: Any) -> None:
        """Call ``save``."""
        await self.hop(obj.save)

    def key(self, obj: Any) -> Any:
        """Return ``pk``."""
        return obj.pk

    async def row(self, model: Model, key: Any) -> Mapping[str, Any] | None:
        """Read with a plain queryset."""
        return await self.hop(tables.row, model, key, self.alias)

    async def rival(self, obj: Any, **columns: Any) -> None:
        """Update in plain SQL; one row it must be."""
        assert await self.hop(tables.rival, type(obj), obj.pk, self.alias, **columns) == 1

    async def remove(self, obj: Any) -> None:
        """Delete in plain SQL."""
        await self.hop(tables.remove, type(obj), obj.pk, self.alias)

    @asynccontextmanager
    async def statements(self) -> AsyncIterator[list[str]]:
        """Collect with ``CaptureQueriesContext``, BEGIN and SAVEPOINT included."""
        sent: list[str] = []
        capture = CaptureQueriesContext(await self.hop(connections.__getitem__, self.alias))
        await self.hop(capture.__enter__)
        try:
            yield sent
        finally:
            await self.hop(capture.__exit__, None, None, None)
            sent += [query["sql"] for query in capture.captured_queries]

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Enter ``atomic``, a savepoint when one is open already."""
        atomic = await self.hop(transaction.atomic, using=self.alias)
        await self.hop(atomic.__enter__)
        try:
            yield
        except BaseException as error:
            await self.hop(atomic.__exit__, type(error), error, error.__traceback__)
            if not isinstance(error, Undo):
                raise
        else:
            await self.hop(atomic.__exit__, None, None, None)

    savepoint = transaction

    def plus(self, column: str, amount: int) -> Any:
        """Return ``F(column) + amount``."""
        return F(column) + amount

    def where(self, model: Model, **columns: Any) -> Any:
        """Return a ``Q``."""
        return Q(**columns)

    def label(self, model: Model) -> str:
        """Return the Django label."""
        return str(model._meta.label)
