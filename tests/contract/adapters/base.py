"""What an adapter has to offer so that the one contract suite runs over it.

A test is an ``async def`` that awaits the verbs of an :class:`Api`. The api of a sync colour never suspends
and is driven without an event loop; the api of the async colour calls the ``a`` twins inside one. To add an
adapter, write one file beside this one and name it in ``ADAPTERS`` of ``tests/contract/conftest.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from types import SimpleNamespace
from typing import Any, ClassVar

from cas_orm import Outcome

Model = type[Any]


class Undo(Exception):
    """Raised by a test inside a transaction or savepoint, which rolls back and swallows it."""


class Api(ABC):
    """One adapter, one colour, one database."""

    #: The mapped classes by their common names: Order, Doc, Run, Ticket, Legacy, Device, Seat, Parcel, Slot,
    #: Cart, CartLine.
    models: SimpleNamespace
    #: sqlite, postgres or mariadb.
    database: str
    #: sync or async.
    colour: str
    #: The ways to call a by-key verb, and the one in use.
    doors: ClassVar[tuple[str, ...]] = ("function",)
    door: str
    #: Named differences between adapters; a test that needs one skips by that name.
    capabilities: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def drive(self, test: Coroutine[Any, Any, None]) -> None:
        """Run one test to its end."""

    @abstractmethod
    async def on_object(self, verb: str, obj: Any, *args: Any, **options: Any) -> Outcome:
        """Call a verb on an object."""

    @abstractmethod
    async def by_key(self, verb: str, model: Model, key: Any, *args: Any, **options: Any) -> Outcome:
        """Call a verb by key, through the door in use."""

    @abstractmethod
    async def on_set(self, verb: str, model: Model, *args: Any, **options: Any) -> Any:
        """Call a set-based verb of a model, through the door in use."""

    @abstractmethod
    def has_verb(self, model: Model, verb: str) -> bool:
        """Tell whether the model's objects have the verb."""

    @abstractmethod
    async def insert(self, model: Model, **values: Any) -> Any:
        """Insert a row by the ORM's own means; return the object that was inserted."""

    @abstractmethod
    async def load(self, model: Model, key: Any) -> Any:
        """Load an object, which has seen its version."""

    @abstractmethod
    async def reload(self, obj: Any, *names: str) -> None:
        """Read all columns again, or only those named."""

    @abstractmethod
    async def defer(self, obj: Any, name: str) -> None:
        """Make one loaded column of the object look as if it had never been loaded."""

    @abstractmethod
    async def plain_save(self, obj: Any) -> None:
        """Save by the ORM's own means."""

    @abstractmethod
    def key(self, obj: Any) -> Any:
        """Return the primary key: a scalar or a tuple."""

    @abstractmethod
    async def row(self, model: Model, key: Any) -> Mapping[str, Any] | None:
        """Return the row as it stands in the database now."""

    @abstractmethod
    async def rival(self, obj: Any, **columns: Any) -> None:
        """Write columns of the object's row as a stranger does, in plain SQL."""

    @abstractmethod
    async def remove(self, obj: Any) -> None:
        """Delete the object's row as a stranger does, in plain SQL."""

    @abstractmethod
    def statements(self) -> AbstractAsyncContextManager[list[str]]:
        """Collect the SQL that is sent inside the block; the list is filled at its end."""

    @abstractmethod
    def transaction(self) -> AbstractAsyncContextManager[None]:
        """Open a transaction of the caller's own; :class:`Undo` rolls it back."""

    @abstractmethod
    def savepoint(self) -> AbstractAsyncContextManager[None]:
        """Open a savepoint inside it; :class:`Undo` rolls it back."""

    @abstractmethod
    def plus(self, column: str, amount: int) -> Any:
        """Return the expression ``column + amount``."""

    @abstractmethod
    def where(self, model: Model, **columns: Any) -> Any:
        """Return the free condition that these columns have these values."""

    @abstractmethod
    def label(self, model: Model) -> str:
        """Return what ``Outcome.model`` says for this model."""

    async def make(self, model: Model, **values: Any) -> Any:
        """Insert a row and return a fresh object of it."""
        return await self.load(model, self.key(await self.insert(model, **values)))

    async def bumped_by_rival(self, obj: Any, **columns: Any) -> None:
        """Let a stranger write columns and raise the version by one."""
        found = await self.row(type(obj), self.key(obj))
        assert found is not None
        await self.rival(obj, record_version=found["record_version"] + 1, **columns)

    async def save_if_current(self, obj: Any, **options: Any) -> Outcome:
        """Save, or raise."""
        return await self.on_object("save_if_current", obj, **options)

    async def try_save_if_current(self, obj: Any, **options: Any) -> Outcome:
        """Save, or return the losing outcome."""
        return await self.on_object("try_save_if_current", obj, **options)

    async def update_if_current(self, obj: Any, **options: Any) -> Outcome:
        """Update, or raise."""
        return await self.on_object("update_if_current", obj, **options)

    async def try_update_if_current(self, obj: Any, **options: Any) -> Outcome:
        """Update, or return the losing outcome."""
        return await self.on_object("try_update_if_current", obj, **options)

    async def delete_if_current(self, obj: Any, **options: Any) -> Outcome:
        """Delete, or raise."""
        return await self.on_object("delete_if_current", obj, **options)

    async def try_delete_if_current(self, obj: Any, **options: Any) -> Outcome:
        """Delete, or return the losing outcome."""
        return await self.on_object("try_delete_if_current", obj, **options)

    async def new_generation_if_current(self, obj: Any, **options: Any) -> Outcome:
        """Hand over, or raise."""
        return await self.on_object("new_generation_if_current", obj, **options)

    async def try_new_generation_if_current(self, obj: Any, **options: Any) -> Outcome:
        """Hand over, or return the losing outcome."""
        return await self.on_object("try_new_generation_if_current", obj, **options)
