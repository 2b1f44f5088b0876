"""The SQLAlchemy adapter under the contract suite: one session per test.

Outside :meth:`SqlaApi.transaction` the session's connection is in AUTOCOMMIT, inside it is not; the objects
stay in the one session throughout. A session holds one object per row: where a test has two of the same row,
the one in use is attached and the other is not.
"""

from __future__ import annotations

import asyncio
import inspect as python_inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Integer, and_, bindparam, column, event, inspect, select, text
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session, SessionTransaction

import cas_orm_sqla
from cas_orm import Outcome
from tests.contract.adapters.base import Api, Model, Undo
from tests.sqla import shop
from tests.sqla.databases import engines

LEVELS = {"sqlite": "SERIALIZABLE", "postgres": "READ COMMITTED", "mariadb": "REPEATABLE READ"}


class SqlaApi(Api):
    """Verbs on objects and by function, over a ``Session`` or an ``AsyncSession``."""

    capabilities = frozenset({"partial_reload", "plain_save_is_guarded"})
    models = SimpleNamespace(**{name: getattr(shop, name) for name in shop.__all__})

    def __init__(self, database: str, alias: str, *, colour: str, door: str = "function") -> None:
        self.database = database
        self.colour = colour
        self.door = door
        self.engines = engines(database)
        self.level = LEVELS[database]
        self.begins_with = {"sqlite": "BEGIN IMMEDIATE"}.get(
            database
        )  # the driver begins too late for a savepoint
        self.session: Any = None

    def drive(self, test: Coroutine[Any, Any, None]) -> None:
        """Run the test in a session that is closed, and on tables that are emptied, at its end."""
        try:
            if self.colour == "async":
                asyncio.run(self._run(test))
            else:
                engine = self.engines.sync.execution_options(isolation_level="AUTOCOMMIT")
                with Session(engine) as self.session:
                    _step(test)
        finally:
            self.engines.empty()

    async def _run(self, test: Coroutine[Any, Any, None]) -> None:
        engine = self.engines.asynchronous.execution_options(isolation_level="AUTOCOMMIT")
        async with AsyncSession(engine, expire_on_commit=False) as self.session:
            await test

    async def hop(self, fn: Callable[[Session], Any]) -> Any:
        """Call sync code with the session, in the greenlet that may wait for the database."""
        return fn(self.session) if self.colour == "sync" else await self.session.run_sync(fn)

    async def _call(self, target: Any, verb: str, *args: Any, **options: Any) -> Any:
        if self.colour == "async":
            return await getattr(target, f"a{verb}")(self.session, *args, **options)
        result = getattr(target, verb)(self.session, *args, **options)
        assert not python_inspect.isawaitable(result)
        return result

    async def _verb(self, target: Any, verb: str, *args: Any, **options: Any) -> Outcome:
        result = await self._call(target, verb, *args, **options)
        assert isinstance(result, Outcome)
        return result

    async def on_object(self, verb: str, obj: Any, *args: Any, **options: Any) -> Outcome:
        """Call ``obj.verb(session)`` or its twin."""
        self._attach(obj)
        return await self._verb(obj, verb, *args, **options)

    async def by_key(self, verb: str, model: Model, key: Any, *args: Any, **options: Any) -> Outcome:
        """Call ``verb(session, Model, key)``."""
        return await self._verb(cas_orm_sqla, verb, model, key, *args, **options)

    async def on_set(self, verb: str, model: Model, *args: Any, **options: Any) -> Any:
        """Call ``verb(session, Model)``."""
        return await self._call(cas_orm_sqla, verb, model, *args, **options)

    def has_verb(self, model: Model, verb: str) -> bool:
        """Look on the class."""
        return hasattr(model, verb)

    def _attach(self, obj: Any) -> None:
        """Let the session hold this object of the row, and no other."""
        state = inspect(obj)
        if state.detached:
            self._detach(state.key)
            self.session.add(obj)

    def _detach(self, identity: Any) -> None:
        held = self.session.identity_map.get(identity)
        if held is not None:
            self.session.expunge(held)

    async def insert(self, model: Model, **values: Any) -> Any:
        """Add and flush."""
        obj = model(**values)
        await self.plain_save(obj)
        return obj

    async def load(self, model: Model, key: Any) -> Any:
        """Get, past the identity map."""
        self._detach(inspect(model).identity_key_from_primary_key(key if isinstance(key, tuple) else (key,)))
        with self.session.no_autoflush:
            return await self.hop(lambda session: session.get_one(model, key))

    async def reload(self, obj: Any, *names: str) -> None:
        """Call ``refresh``; a refused object must not be flushed before it."""
        self._attach(obj)
        with self.session.no_autoflush:
            await self.hop(lambda session: session.refresh(obj, list(names) or None))

    async def defer(self, obj: Any, name: str) -> None:
        """Expire the column: without a commit before it, its value was never noted."""
        self._attach(obj)
        await self.hop(lambda session: session.expire(obj, [name]))

    async def plain_save(self, obj: Any) -> None:
        """Add and flush."""
        self.session.add(obj)
        await self.hop(lambda session: session.flush())

    def key(self, obj: Any) -> Any:
        """Return the identity of the state."""
        identity = inspect(obj).identity
        return identity[0] if len(identity) == 1 else tuple(identity)

    def _key_is(self, model: Model, key: Any) -> list[Any]:
        parts = key if isinstance(key, tuple) else (key,)
        return [c == part for c, part in zip(inspect(model).primary_key, parts, strict=True)]

    async def row(self, model: Model, key: Any) -> Mapping[str, Any] | None:
        """Read with Core."""
        names = {prop.key: prop.columns[0] for prop in inspect(model).column_attrs}
        query = select(*names.values()).where(*self._key_is(model, key))
        found = (await self.hop(lambda session: session.connection().execute(query))).one_or_none()
        return None if found is None else dict(zip(names, found, strict=True))

    async def _plain(self, obj: Any, verb: str, **columns: Any) -> int:
        """Send plain SQL about the object's row."""
        mapper = inspect(type(obj))
        quote = self.session.get_bind().dialect.identifier_preparer.quote
        sets = {f"s{i}": (mapper.attrs[name].columns[0], v) for i, (name, v) in enumerate(columns.items())}
        identity = zip(mapper.primary_key, inspect(obj).identity, strict=True)
        keys = {f"k{i}": (c, v) for i, (c, v) in enumerate(identity)}
        table = quote(mapper.local_table.name)
        head = f"DELETE FROM {table}"
        if verb == "UPDATE":
            head = f"UPDATE {table} SET " + ", ".join(f"{quote(c.name)} = :{p}" for p, (c, _) in sets.items())
        where = " AND ".join(f"{quote(c.name)} = :{p}" for p, (c, _) in keys.items())
        params = [bindparam(p, v, type_=c.type) for p, (c, v) in (sets | keys).items()]
        sql = text(f"{head} WHERE {where}").bindparams(*params)
        count: int = (await self.hop(lambda session: session.connection().execute(sql))).rowcount
        return count

    async def rival(self, obj: Any, **columns: Any) -> None:
        """Update in plain SQL; one row it must be."""
        assert await self._plain(obj, "UPDATE", **columns) == 1

    async def remove(self, obj: Any) -> None:
        """Delete in plain SQL."""
        await self._plain(obj, "DELETE")

    @asynccontextmanager
    async def statements(self) -> AsyncIterator[list[str]]:
        """Collect what reaches a cursor, SAVEPOINT included."""
        sent: list[str] = []

        def collect(_connection: Any, _cursor: Any, sql: str, *_: Any) -> None:
            sent.append(sql)

        engine = self.engines.sync if self.colour == "sync" else self.engines.asynchronous.sync_engine
        event.listen(engine, "before_cursor_execute", collect)
        try:
            yield sent
        finally:
            event.remove(engine, "before_cursor_execute", collect)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Leave AUTOCOMMIT for one transaction of the session."""
        await self.hop(self._begin)
        try:
            yield
        except BaseException as error:
            await self.hop(lambda session: session.rollback())
            if not isinstance(error, Undo):
                raise
        else:
            await self.hop(lambda session: session.commit())

    def _begin(self, session: Session) -> None:
        session.commit()
        connection = session.connection(execution_options={"isolation_level": self.level})
        if self.begins_with is not None:
            connection.exec_driver_sql(self.begins_with)

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """Call ``begin_nested``."""
        savepoint: SessionTransaction = await self.hop(lambda session: session.begin_nested())
        try:
            yield
        except BaseException as error:
            await self.hop(lambda _: savepoint.rollback())
            if not isinstance(error, Undo):
                raise
        else:
            await self.hop(lambda _: savepoint.commit())

    def plus(self, column_name: str, amount: int) -> Any:
        """Return an expression over the bare column."""
        return column(column_name, Integer) + amount

    def where(self, model: Model, **columns: Any) -> Any:
        """Return a conjunction."""
        return and_(*(getattr(model, name) == value for name, value in columns.items()))

    def label(self, model: Model) -> str:
        """Return the class's name."""
        return model.__name__


def _step(test: Coroutine[Any, Any, None]) -> None:
    """Run the test without a loop."""
    try:
        test.send(None)
    except StopIteration:
        return
    test.close()
    raise AssertionError("a sync verb suspended")
