"""What cannot count is refused by name; what commits by itself makes a final win; SQLite's transactions."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Dialect, Engine, create_engine, event, select
from sqlalchemy.dialects import mssql, mysql, oracle, postgresql, registry, sqlite
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from cas_orm import Expect, Outcome, TransientConflict, UnsupportedBackend
from cas_orm_sqla import try_update_if_current
from cas_orm_sqla.capabilities import Capabilities, capabilities_of, commits_itself
from cas_orm_sqla.transactions import own_transaction
from tests.sqla.databases import DRIVERS, Engines, url
from tests.sqla.shapes import Book
from tests.sqla.shop import Cart, CartLine, Device, Slot

Prepare = Callable[[Engine], None]


def on(database: str) -> pytest.MarkDecorator:
    """Run a test on one database only."""
    return pytest.mark.parametrize("db", [database], indirect=True)


class Uncounted(SQLiteDialect_pysqlite):
    """A dialect that does not trust its counts, although it has RETURNING."""

    driver = "uncounted"
    supports_sane_rowcount = False
    supports_statement_cache = True


registry.register("sqlite.uncounted", __name__, "Uncounted")


@contextmanager
def made(database: str, prepare: Prepare | None = None, **options: Any) -> Iterator[Engine]:
    """Yield one more engine on a database under test."""
    engine = create_engine(options.pop("url", url(database)), **options)
    if prepare is not None:
        prepare(engine)
    yield engine
    engine.dispose()


@contextmanager
def sent(engine: Engine) -> Iterator[list[str]]:
    """Collect what reaches a cursor."""
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    yield statements


def _name(db: Engines) -> str:
    return {"sqlite": "sqlite", "postgresql": "postgres"}.get(db.sync.dialect.name, "mariadb")


def _device(db: Engines) -> int:
    with Session(db.sync) as session:
        device = Device(name="a", hits=3)
        session.add(device)
        session.commit()
        return device.id


# -- counting ----------------------------------------------------------------------------------------------


@on("sqlite")
def test_a_dialect_that_cannot_count_is_refused(db: Engines) -> None:
    """By name and before any UPDATE, although it could return rows; the same database counts otherwise."""
    key = _device(db)
    with (
        made("sqlite", url=url("sqlite").set(drivername="sqlite+uncounted")) as engine,
        sent(engine) as statements,
        Session(engine) as session,
    ):
        device = session.get_one(Device, key)
        device.name = "b"
        for verb in (device.save_if_current, device.delete_if_current):
            with pytest.raises(UnsupportedBackend, match=r"sqlite\+uncounted .*supports_sane_rowcount"):
                verb(session)
        assert all(statement.startswith("SELECT") for statement in statements)
        session.expunge_all()
    with Session(db.sync) as session:
        assert session.get_one(Device, key).delete_if_current(session)


@pytest.mark.parametrize(
    "dialect",
    [sqlite.dialect(), postgresql.dialect(), mysql.dialect(), oracle.dialect(), mssql.dialect()],
    ids=lambda dialect: dialect.name,
)
def test_the_dialects_that_sqlalchemy_ships_count(dialect: Dialect) -> None:
    """None of them is refused for what it says of itself; with the flag off, each would be."""
    assert Capabilities.why_not_counted(dialect) == ""
    dialect.supports_sane_rowcount = False
    assert "supports_sane_rowcount" in Capabilities.why_not_counted(dialect)


@on("mariadb")
@pytest.mark.parametrize(("flag", "counts"), [(0, False), (2, True)])
def test_mariadb_must_count_what_matched(db: Engines, flag: int, counts: bool) -> None:
    """A client_flag of the user's own drops FOUND_ROWS; a write that changes nothing would look refused."""
    key = _device(db)
    with made("mariadb", connect_args={"client_flag": flag}) as engine, Session(engine) as session:
        device = session.get_one(Device, key)
        if counts:
            assert device.update_if_current(session, expect=Expect(run_seq=0), set={"hits": 3})
        else:
            with pytest.raises(UnsupportedBackend, match=r"CLIENT\.FOUND_ROWS"):
                device.update_if_current(session, expect=Expect(run_seq=0), set={"hits": 3})


@on("mariadb")
def test_mariadb_must_count_what_matched_async(db: Engines) -> None:
    """The async driver keeps the flag in another place."""
    key = _device(db)

    async def write() -> None:
        engine = create_async_engine(
            url("mariadb", asynchronous=True), connect_args={"client_flag": 0}, poolclass=NullPool
        )
        async with AsyncSession(engine) as session:
            device = await session.get_one(Device, key)
            with pytest.raises(UnsupportedBackend, match=r"CLIENT\.FOUND_ROWS"):
                await device.aupdate_if_current(session, expect=Expect(run_seq=0), set={"hits": 3})

    asyncio.run(write())


@on("postgres")
def test_a_pipeline_is_refused(db: Engines) -> None:
    """Before anything is sent: psycopg answers there when it is too late; after the block all is well."""
    if DRIVERS["postgres"][0].module != "psycopg":
        pytest.skip("about psycopg")
    key = _device(db)
    with Session(db.sync.execution_options(isolation_level="AUTOCOMMIT")) as session:
        device = session.get_one(Device, key)
        device.name = "b"
        driver: Any = session.connection().connection.driver_connection
        with driver.pipeline(), pytest.raises(UnsupportedBackend, match="pipeline"):
            device.save_if_current(session)
        assert device.save_if_current(session).record_version == 2


# -- AUTOCOMMIT --------------------------------------------------------------------------------------------


def _psycopg2_autocommit(engine: Engine) -> None:
    event.listen(engine, "connect", lambda connection, _: setattr(connection, "autocommit", True))


def _by_driver(database: str) -> dict[str, Any]:
    """Return how a user puts this driver in autocommit without SQLAlchemy's knowing."""
    driver = DRIVERS[database][0].module
    if driver == "psycopg2":
        return {"prepare": _psycopg2_autocommit}
    return {"connect_args": {"isolation_level": None} if driver == "sqlite3" else {"autocommit": True}}


@pytest.mark.parametrize("where", ["engine", "options", "driver", "nowhere"])
def test_what_commits_by_itself_makes_a_final_win(db: Engines, where: str) -> None:
    """Whoever put it in autocommit: not provisional, `on_won` at once, no rollback undoes it."""
    set_ups: dict[str, dict[str, Any]] = {
        "engine": {"isolation_level": "AUTOCOMMIT"},
        "options": {"execution_options": {"isolation_level": "AUTOCOMMIT"}},
        "driver": _by_driver(_name(db)),
        "nowhere": {},
    }
    _check_final(db, where != "nowhere", **set_ups[where])


@on("sqlite")
@pytest.mark.skipif(sys.version_info < (3, 12), reason="sqlite3 of Python 3.12 and newer")
@pytest.mark.parametrize("autocommit", [True, False])
def test_sqlite_by_pep_249(db: Engines, autocommit: bool) -> None:
    """The driver's newer option, of which SQLAlchemy knows nothing."""
    _check_final(db, autocommit, connect_args={"autocommit": autocommit})


def _check_final(db: Engines, final: bool, **options: Any) -> None:
    key = _device(db)
    won: list[Outcome] = []
    with made(_name(db), **options) as engine:
        with Session(engine) as session:
            outcome = try_update_if_current(
                session, Device, key, expect=Expect(record_version=1), set={"name": "b"}, on_won=won.append
            )
            assert outcome and outcome.provisional is not final
            assert len(won) == final
            session.rollback()
        with Session(engine) as session:
            found = session.get_one(Device, key)
            assert (found.name, found.record_version) == (("b", 2) if final else ("a", 1))
    assert len(won) == final


def test_a_connection_of_the_session_in_autocommit(db: Engines) -> None:
    """One transaction of a session that has others."""
    key = _device(db)
    with Session(db.sync) as session:
        session.connection(execution_options={"isolation_level": "AUTOCOMMIT"})
        device = session.get_one(Device, key)
        assert device.save_if_current(session).provisional is False
        session.rollback()
        device.name = "b"
        assert device.save_if_current(session).provisional is True


@pytest.mark.parametrize("final", [True, False])
def test_the_async_driver_in_autocommit(db: Engines, final: bool) -> None:
    """asyncpg has no such option of its own; the engine's is the same to it."""
    name = _name(db)
    options = {
        "aiosqlite": {"connect_args": {"isolation_level": None}},
        "asyncpg": {"isolation_level": "AUTOCOMMIT"},
    }.get(DRIVERS[name][1].module, {"connect_args": {"autocommit": True}})
    key = _device(db)

    async def write() -> Outcome:
        engine = create_async_engine(
            url(name, asynchronous=True), poolclass=NullPool, **(options if final else {})
        )
        async with AsyncSession(engine) as session:
            device = await session.get_one(Device, key)
            device.name = "b"
            outcome = await device.asave_if_current(session)
            await session.rollback()
            return outcome

    assert asyncio.run(write()).provisional is not final
    with Session(db.sync) as session:
        assert session.get_one(Device, key).record_version == 1 + final


def test_a_lost_connection_can_still_be_asked(db: Engines) -> None:
    """There is no driver left; what SQLAlchemy was told is the answer."""
    for level in ("AUTOCOMMIT", None):
        options = {} if level is None else {"isolation_level": level}
        with db.sync.connect() as plain:
            connection = plain.execution_options(**options)
            connection.execute(select(1))
            commits_itself(connection)
            connection.invalidate()
            assert commits_itself(connection) is (level is not None)
            connection.rollback()


def test_dialects_are_not_kept_without_end(db: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that makes an engine per request forgets the oldest answers, and asks again."""
    from cas_orm_sqla import capabilities

    monkeypatch.setattr(capabilities, "MOST_DIALECTS", 2)
    monkeypatch.setattr(capabilities, "_KNOWN", {})
    for _ in range(5):
        with made(_name(db), poolclass=NullPool) as engine, engine.connect() as connection:
            assert capabilities_of(connection) is capabilities_of(connection)
            assert len(capabilities._KNOWN) <= 2


# -- several statements on SQLite --------------------------------------------------------------------------


def _begin_by_event(begin: str) -> Prepare:
    """Return SQLAlchemy's own recipe: the driver is told to begin nothing, an event begins."""

    def prepare(engine: Engine) -> None:
        event.listen(engine, "connect", lambda connection, _: setattr(connection, "isolation_level", None))
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))

    return prepare


RECIPES: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "BEGIN": {"prepare": _begin_by_event("BEGIN")},
    "BEGIN IMMEDIATE": {"prepare": _begin_by_event("BEGIN IMMEDIATE")},
    "BEGIN in AUTOCOMMIT": {"prepare": _begin_by_event("BEGIN"), "isolation_level": "AUTOCOMMIT"},
}
if sys.version_info >= (3, 12):
    RECIPES["autocommit=False"] = {"connect_args": {"autocommit": False}}
    RECIPES["autocommit=False in AUTOCOMMIT"] = {
        "connect_args": {"autocommit": False},
        "isolation_level": "AUTOCOMMIT",
    }


@pytest.fixture(params=list(RECIPES))
def recipe(db: Engines, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Yield an engine that begins transactions in one of the ways that SQLite users have."""
    with made("sqlite", **RECIPES[request.param]) as engine:
        yield engine


def _book(db: Engines) -> int:
    with Session(db.sync) as session:
        book = Book(name="a", pages=1)
        session.add(book)
        session.commit()
        return book.id


def _cart(db: Engines) -> int:
    with Session(db.sync) as session:
        cart = Cart(name="a", lines=[CartLine(sku="x"), CartLine(sku="y")])
        session.add(cart)
        session.commit()
        return cart.id


def _read_book(db: Engines, key: int) -> tuple[str, int, int]:
    with Session(db.sync) as session:
        book = session.get_one(Book, key)
        return book.name, book.pages, book.record_version


@on("sqlite")
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_two_tables_stand_and_fall_with_the_session(db: Engines, recipe: Engine, end: str) -> None:
    """The library's savepoint commits nothing by itself, whoever has begun, and if nobody has."""
    key = _book(db)
    with Session(recipe) as session:
        book = session.get_one(Book, key)
        book.name, book.pages = "b", 2
        assert book.save_if_current(session).provisional
        getattr(session, end)()
    assert _read_book(db, key) == (("b", 2, 2) if end == "commit" else ("a", 1, 1))


@on("sqlite")
def test_two_tables_refused(db: Engines, recipe: Engine) -> None:
    """Neither is written; the session's earlier work stays and can be committed."""
    key, other = _book(db), _device(db)
    with Session(recipe) as session:
        session.get_one(Device, other).name = "before"
        session.flush()
        book = session.get_one(Book, key)
        book.name, book.pages = "b", 2
        assert not book.try_save_if_current(session, expect=Expect(record_version=7))
        session.expunge(book)
        session.commit()
    assert _read_book(db, key) == ("a", 1, 1)
    with Session(db.sync) as session:
        assert session.get_one(Device, other).name == "before"


@on("sqlite")
@pytest.mark.parametrize("end", ["commit", "rollback"])
@pytest.mark.parametrize("stale", [False, True])
def test_a_cascading_delete(db: Engines, recipe: Engine, stale: bool, end: str) -> None:
    """Parent and children go together with the session's commit, or not at all."""
    key = _cart(db)
    with Session(recipe) as session:
        cart = session.get_one(Cart, key)
        expect = Expect(record_version=7) if stale else None
        assert bool(cart.try_delete_if_current(session, expect=expect)) is not stale
        session.expunge_all()
        getattr(session, end)()
    with Session(db.sync) as session:
        gone = not stale and end == "commit"
        assert (session.get(Cart, key) is None) is gone
        assert len(session.scalars(select(CartLine)).all()) == (0 if gone else 2)


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_two_tables_through_the_async_driver(db: Engines, end: str) -> None:
    """aiosqlite begins as late as sqlite3 does."""
    key = _book(db)

    async def write() -> None:
        async with AsyncSession(db.asynchronous) as session:
            book = await session.get_one(Book, key)
            book.name, book.pages = "b", 2
            assert (await book.asave_if_current(session)).provisional
            await getattr(session, end)()

    asyncio.run(write())
    assert _read_book(db, key) == (("b", 2, 2) if end == "commit" else ("a", 1, 1))


@pytest.mark.parametrize("fails", [False, True])
def test_in_autocommit_the_library_owns_the_transaction(db: Engines, fails: bool) -> None:
    """Both tables or none, at once; a hook that writes inside it takes part by a savepoint."""
    key, code = _book(db), "k"
    with Session(db.sync) as session:
        session.add(Slot(code=code))
        session.add(Cart(id=1, lines=[CartLine(sku="x")]))
        session.commit()
    with made(_name(db), **_by_driver(_name(db))) as engine, Session(engine) as session:
        book = session.get_one(Book, key)

        def hook(*_: Any) -> None:
            book.name, book.pages = "b", 2
            book.save_if_current(session)
            if fails:
                raise LookupError

        cart = session.get_one(Cart, 1)
        event.listen(Cart, "before_delete", hook)
        try:
            if fails:
                with pytest.raises(LookupError):
                    cart.delete_if_current(session)
            else:
                assert cart.delete_if_current(session).provisional is False
        finally:
            event.remove(Cart, "before_delete", hook)
        session.expunge_all()
        session.rollback()
    assert _read_book(db, key) == (("a", 1, 1) if fails else ("b", 2, 2))
    with Session(db.sync) as session:
        assert (session.get(Cart, 1) is not None) is fails


def test_what_the_librarys_own_transaction_sends(db: Engines) -> None:
    """In autocommit BEGIN and COMMIT, on SQLite with the write lock at once: settling reads behind it."""
    begin = "BEGIN IMMEDIATE" if _name(db) == "sqlite" else "BEGIN"
    with made(_name(db), **_by_driver(_name(db))) as engine, engine.connect() as connection:
        with sent(engine) as statements, own_transaction(connection):
            connection.execute(select(1))
            assert commits_itself(connection)
        assert statements == [begin, "SELECT 1", "COMMIT"]
        with sent(engine) as statements, pytest.raises(LookupError), own_transaction(connection):
            raise LookupError
        assert statements == [begin, "ROLLBACK"]


def test_what_its_savepoint_sends(db: Engines) -> None:
    """In the session's transaction, which on SQLite nobody may have begun."""
    begin = ["BEGIN IMMEDIATE"] if _name(db) == "sqlite" else []
    with made(_name(db)) as engine, engine.connect() as connection:
        with sent(engine) as statements:
            for _ in range(2):
                with own_transaction(connection):
                    connection.execute(select(1))
        around = [(f"SAVEPOINT sa_savepoint_{n}", f"RELEASE SAVEPOINT sa_savepoint_{n}") for n in (1, 2)]
        assert statements == begin + [sql for into, out in around for sql in (into, "SELECT 1", out)]


@on("sqlite")
def test_a_commit_that_is_refused_is_taken_back(db: Engines) -> None:
    """A reader in the way of the library's own COMMIT: nothing is written, no transaction is left open."""
    key = _book(db)
    options = {"isolation_level": "AUTOCOMMIT", "connect_args": {"timeout": 0}}
    with made("sqlite", **options) as engine, Session(engine) as session:
        book = session.get_one(Book, key)
        book.name, book.pages = "b", 2
        reader = db.sync.raw_connection()
        reading = reader.cursor()
        reading.execute("SELECT id FROM item UNION ALL SELECT id FROM item")
        assert reading.fetchone() == (key,)  # half read: its lock stays
        with pytest.raises(TransientConflict) as refused:
            book.save_if_current(session)
        assert refused.value.transaction == "open"
        assert not session.connection().connection.driver_connection.in_transaction
        reading.close()
        reader.close()
        assert _read_book(db, key) == ("a", 1, 1)
        assert book.save_if_current(session).record_version == 2
    assert _read_book(db, key) == ("b", 2, 2)
