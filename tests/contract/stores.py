"""The coordinator's stores under one suite: how each is made, filled and looked at, in sync."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from asgiref.sync import async_to_sync
from sqlalchemy import update
from sqlalchemy.ext.asyncio import async_sessionmaker
from sqlalchemy.orm import Session, sessionmaker

from cas_orm import AsyncCoordinator, Coordinator, RunSnapshot
from cas_orm.testing import MemoryStore
from cas_orm_django import DjangoRunStore
from cas_orm_sqla import SqlaRunStore
from tests.django.shop import models as django_shop
from tests.sqla import shop
from tests.sqla.databases import engines

HOUR = timedelta(hours=1)


class Hall:
    """A store, and the hand that fills it."""

    def __init__(self, store: Any, colour: str) -> None:
        self.store, self.colour = store, colour

    def insert(self, **values: Any) -> str:
        """Insert a run and return its id."""
        raise NotImplementedError

    def rival(self, run_id: str, **values: Any) -> None:
        """Change the row behind everybody's back."""
        raise NotImplementedError

    def ask(self, name: str, *args: Any, **options: Any) -> Any:
        """Call a method of the store, through its hop where the colour says so."""
        method = getattr(self.store, name)

        def call() -> Any:
            return method(*args, **options)

        return call() if self.colour == "sync" else self.run(self.store.hop, call)

    def run(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Run a coroutine function to its end."""
        return asyncio.run(fn(*args))

    def handle(self, tick: Any, queue: Any, wakeup: Any, **options: Any) -> Any:
        """Handle a wakeup with the coordinator of the colour."""
        if self.colour == "sync":
            return Coordinator(self.store, tick, queue, **options).handle(wakeup)
        return self.run(AsyncCoordinator(self.store, tick, queue, **options).handle, wakeup)


class MemoryHall(Hall):
    """Runs in memory."""

    def __init__(self, database: str, alias: str, colour: str) -> None:
        super().__init__(MemoryStore(), colour)

    def insert(self, **values: Any) -> str:
        """Add a snapshot."""
        run_id = str(len(self.store.runs) + 1)
        at = values.pop("progressed_at", datetime.now(UTC))
        defaults: dict[str, Any] = {
            "record_version": 1,
            "run_seq": 0,
            "status": "pending",
            "node_states": {},
            "last_transition_seq": 0,
        }
        self.store.add(RunSnapshot(run_id=run_id, **(defaults | values)))
        self.store.progressed_at[run_id] = at
        return run_id

    def rival(self, run_id: str, **values: Any) -> None:
        """Replace the snapshot."""
        from dataclasses import replace

        if "progressed_at" in values:
            self.store.progressed_at[run_id] = values.pop("progressed_at")
        self.store.runs[run_id] = replace(self.store.runs[run_id], **values)


class DjangoHall(Hall):
    """Runs in a Django model."""

    def __init__(self, database: str, alias: str, colour: str) -> None:
        super().__init__(DjangoRunStore(django_shop.Flow), colour)

    def run(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Run in a loop whose database thread is this one."""
        return async_to_sync(fn)(*args)

    def insert(self, **values: Any) -> str:
        """Create through the manager."""
        later = {k: values.pop(k) for k in ("record_version", "run_seq", "progressed_at") if k in values}
        run_id = str(django_shop.Flow.objects.create(**values).pk)
        if later:
            self.rival(run_id, **later)
        return run_id

    def rival(self, run_id: str, **values: Any) -> None:
        """Update by a plain queryset."""
        from django.db import router
        from django.db.models import QuerySet

        rows: QuerySet[Any] = QuerySet(django_shop.Flow, using=router.db_for_write(django_shop.Flow))
        assert rows.filter(pk=run_id).update(**values) == 1


class SqlaHall(Hall):
    """Runs in a mapped class."""

    def __init__(self, database: str, alias: str, colour: str) -> None:
        self.engines = engines(database)
        factory: Any = (
            sessionmaker(self.engines.sync)
            if colour == "sync"
            else async_sessionmaker(self.engines.asynchronous)
        )
        super().__init__(SqlaRunStore(factory, shop.Flow), colour)

    def insert(self, **values: Any) -> str:
        """Add and commit."""
        later = {k: values.pop(k) for k in ("record_version", "run_seq", "progressed_at") if k in values}
        with Session(self.engines.sync) as session:
            flow = shop.Flow(**values)
            session.add(flow)
            session.commit()
            run_id = str(flow.id)
        if later:
            self.rival(run_id, **later)
        return run_id

    def rival(self, run_id: str, **values: Any) -> None:
        """Update by Core."""
        with self.engines.sync.begin() as connection:
            table = shop.Flow.__table__
            assert connection.execute(
                update(table).where(table.c.id == int(run_id)).values(**values)
            ).rowcount


HALLS = {"memory": MemoryHall, "django": DjangoHall, "sqla": SqlaHall}
