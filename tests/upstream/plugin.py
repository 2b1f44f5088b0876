"""A pytest plugin: SQLAlchemy's own versioning tests, with this library's listeners at work in them.

Every class that those tests map derives from ``CasVerbsMixin`` here, from its first line on, and the version
that its mapper keeps is the one that the mixin looks after. So the propagated mapper events, the session
events and the memory act on it as on a user's class. With ``--cas-session`` every session is a `CasSession`,
too. What the contract refuses and SQLAlchemy accepts must fail in exactly the way that `REFUSED` says.

The run fails at its end if one of our listeners was never seen to act.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event, orm
from sqlalchemy.orm import Mapper, Session

import cas_orm_sqla.session as watched
from cas_orm import ConflictError
from cas_orm_sqla import CasSession, CasVerbsMixin, memory
from cas_orm_sqla.columns import columns_of
from cas_orm_sqla.stale import StaleFlush
from tests.upstream.refused import ONLY_IN_A_CAS_SESSION, REFUSED, Refusal

ACTED: Counter[str] = Counter()


class _OfVersioned:
    """Makes a class one of ours if its mapper has a version; the other classes stay strangers."""

    def __get__(self, obj: object, owner: type[Any]) -> Callable[..., Any]:
        mapper = owner.__dict__.get("__mapper__")
        if mapper is None or mapper.version_id_col is None:
            raise AttributeError("__cas_seen__")
        seen: Callable[..., Any] = CasVerbsMixin.__cas_seen__.__get__(obj, owner)
        return seen


class Ours(CasVerbsMixin):
    """What the classes of those tests derive from besides."""

    __cas_seen__: Any = _OfVersioned()


class _OursAndDeclarative:
    """Stands for ``DeclarativeBase`` in a list of bases: that one must be named directly."""

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (Ours, orm.DeclarativeBase)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cas-session", action="store_true", help="make every session a CasSession")


def pytest_configure(config: pytest.Config) -> None:
    event.listen(Mapper, "instrument_class", _forget)
    event.listen(Mapper, "after_mapper_constructed", _adopt)
    event.listen(Session, "after_flush", _check_flushed)
    event.listen(Session, "after_commit", _check_committed)
    event.listen(CasVerbsMixin, "refresh", _check_refreshed, propagate=True)
    _count(watched, "_guard", "before_flush")
    _count(watched, "undo", "rollback")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _give_classes_our_base()
    in_cas_session = config.getoption("--cas-session")
    refused = REFUSED | ONLY_IN_A_CAS_SESSION if in_cas_session else REFUSED
    if in_cas_session:  # where the tests' modules have imported Session by name, it stays SQLAlchemy's
        orm.Session = CasSession  # type: ignore[misc]
    unused = set(refused)
    for item in items:
        if in_cas_session:
            _unwrap_messages(item)
        # The class's name carries the database's behind an underscore.
        name = f"{item.cls.__name__.split('_')[0]}.{item.name}"  # type: ignore[attr-defined]
        refusal: Refusal | None = refused.get(name)
        if refusal is not None:
            unused.discard(name)
            item.add_marker(pytest.mark.xfail(reason=refusal.why, raises=refusal.raises, strict=True))
    if unused:
        raise pytest.UsageError(f"SQLAlchemy has no such tests: {sorted(unused)}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.testscollected and _idle(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    terminalreporter.write_line(f"Our listeners acted: {dict(ACTED)}; never: {_idle(config) or 'none'}")


def _idle(config: pytest.Config) -> list[str]:
    names = ["adopted", "before_flush", "after_flush", "after_commit", "rollback", "refresh"]
    if config.getoption("--cas-session"):
        names.append("translated")
    return [name for name in names if not ACTED[name]]


def _give_classes_our_base() -> None:
    """Derive the classes that the tests will make; SQLAlchemy's own plugin has to be set up by now."""
    from sqlalchemy.testing.fixtures import orm as fixtures

    fixtures.BasicEntity = type("BasicEntity", (fixtures.BasicEntity, Ours), {})
    fixtures.DeclarativeBase = _OursAndDeclarative()


def _forget(mapper: Mapper[Any], class_: type[Any]) -> None:
    """Take back what an earlier mapping of the class has named."""
    if issubclass(class_, Ours):
        class_.cas_version_field = None


def _adopt(mapper: Mapper[Any], class_: type[Any]) -> None:
    """Name the version as a user's class does; it is known only when the mapper is there."""
    if mapper.version_id_col is not None and issubclass(class_, Ours):
        class_.cas_version_field = mapper.get_property_by_column(mapper.version_id_col).key
        ACTED["adopted"] += 1


def _ours(objects: Any) -> Any:
    return [obj for obj in objects if hasattr(type(obj), "__cas_seen__")]


def _check_flushed(session: Session, context: Any) -> None:
    for obj in _ours([*session.dirty, *session.new]):
        _check_seen(obj, "after_flush")


def _check_committed(session: Session) -> None:
    if not session.in_nested_transaction():
        for obj in _ours(session.identity_map.values()):
            _check_seen(obj, "after_commit")


def _check_refreshed(obj: Any, context: Any, attrs: Any) -> None:
    if _ours([obj]) and memory.recall(memory.state_of(obj)) is not None:
        _check_seen(obj, "refresh")


def _check_seen(obj: Any, listener: str) -> None:
    """Let the remembered version be the loaded one."""
    state, key = memory.state_of(obj), columns_of(type(obj)).version.key
    if state.dict.get(key) is not None and key not in state.committed_state:
        remembered = memory.recall(state)
        assert remembered is not None and remembered.version == state.dict[key], (listener, obj)
        ACTED[listener] += 1


def _count(module: Any, name: str, listener: str) -> None:
    """Count the calls of a function that a listener of ours makes."""
    inner = getattr(module, name)

    def counted(*args: Any) -> Any:
        ACTED[listener] += 1
        return inner(*args)

    setattr(module, name, counted)


def _unwrap_messages(item: Any) -> None:
    """Let a test read SQLAlchemy's message in our error's cause.

    A session that it makes by itself stays SQLAlchemy's: that is the rival, which writes past the guard.
    """
    item.module.assert_raises_message = _assert_raises_message


def _assert_raises_message(error: type[Exception], message: str, call: Any, *args: Any, **kw: Any) -> Any:
    from sqlalchemy.testing import assertions

    def unwrapped() -> None:
        try:
            call(*args, **kw)
        except StaleFlush as stale:
            raise _translated(stale) from None

    return assertions.assert_raises_message(error, message, unwrapped)


def _translated(stale: StaleFlush) -> BaseException:
    """Return what an error of ours was made from; its own message names a code."""
    assert isinstance(stale, ConflictError) and re.search(r"\[cas-[a-z-]+\]", str(stale))
    ACTED["translated"] += 1
    return stale.__cause__ or stale
