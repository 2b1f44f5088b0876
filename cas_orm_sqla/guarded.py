"""Sessions that say which object lost: `CasSession`, and `guard` for a factory in use."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import event, inspect
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.orm.exc import ObjectDeletedError, StaleDataError

from cas_orm import RecordMissing
from cas_orm_sqla.bulk_guard import check_mappings, check_objects, guard_statement, stale_mapping
from cas_orm_sqla.columns import columns_of
from cas_orm_sqla.merging import check_merge, given_with
from cas_orm_sqla.stale import StaleFlush, about_to_write, judged, unmerged

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import async_sessionmaker

__all__ = ["CasSession", "guard"]

T = TypeVar("T")
F = TypeVar("F", bound="sessionmaker[Any] | async_sessionmaker[Any]")


class CasSession(Session):
    """A ``Session`` whose stale flush, or merge, names the row, the expected and the actual version.

    What passes the flush by does not pass the guard by: an ``update(Model)`` bumps the version of every row
    that it writes; rows named by key are compared; an upsert, and a merge of changes that come without a
    version, are refused. Not guarded: ``delete(Model)``, ``text()`` and what its connection executes.

    The error is both the judged one (`ErrRecordVersionConflict`, `Superseded`, `RecordMissing`) and
    SQLAlchemy's ``StaleDataError``. A stale flush ends the session's transaction, as flushes do.
    """

    def flush(self, objects: Sequence[Any] | None = None) -> None:
        """Flush, and translate a stale error.

        Raises:
            ConflictError: a row was not as the object had seen it; also a ``StaleDataError``.
        """
        written = about_to_write(self)
        try:
            if objects is None:
                super().flush()
            else:
                super().flush(objects)
        except StaleDataError as error:
            if isinstance(error, StaleFlush) or not written:
                raise
            raise judged(self, written) from error
        except ObjectDeletedError as error:  # a flush that has to load an expired key finds no row
            refused = judged(self, written) if written else None
            if isinstance(refused, RecordMissing):
                raise refused from error
            raise

    def merge(self, instance: T, **options: Any) -> T:
        """Merge what was seen at the row's version, and translate the error of what is older.

        Raises:
            ConflictError: the instance has another version than the row, or had a row that is gone; also a
                ``StaleDataError``. Or it was refused before and has not been refreshed (``fenced``).
            MissingExpectation: the row exists, and the instance would change it without a version.
        """
        held = check_merge(self, instance) if options.get("load", True) else []
        try:
            return super().merge(instance, **options)
        except StaleDataError as error:
            given = given_with(self, instance)
            if isinstance(error, StaleFlush) or not given:
                raise
            raise unmerged(self, given) from error
        finally:
            held.clear()

    def merge_all(self, instances: Iterable[T], **options: Any) -> Sequence[T]:
        """Merge each of these; SQLAlchemy's own, from 2.1 on, would pass `merge` by.

        Raises:
            ConflictError: as `merge` does, for the first that is refused.
            MissingExpectation: likewise.
        """
        return [self.merge(instance, **options) for instance in instances]

    def bulk_update_mappings(self, mapper: Any, mappings: Iterable[dict[str, Any]]) -> None:
        """Update rows by key; every mapping needs its version.

        Raises:
            MissingExpectation: a mapping has no version.
            ConflictError: a row has another version; also a ``StaleDataError``.
        """
        class_, rows = inspect(mapper).mapper.class_, list(mappings)
        if not hasattr(class_, "__cas_seen__"):
            super().bulk_update_mappings(mapper, rows)
            return
        check_mappings(columns_of(class_), rows)
        try:
            super().bulk_update_mappings(mapper, rows)
        except StaleDataError as error:
            raise stale_mapping(self, columns_of(class_), rows, error) from error

    def bulk_save_objects(self, objects: Iterable[object], *args: Any, **options: Any) -> None:
        """Insert new objects; those of ours that have a row are refused.

        Raises:
            InvalidExpectation: an object of ours has a row: it would be written and never be in step again.
        """
        given = list(objects)
        check_objects(given)
        super().bulk_save_objects(given, *args, **options)


event.listen(CasSession, "do_orm_execute", guard_statement)


def guard(session_factory: F) -> F:
    """Return a new factory of the same kind whose sessions translate; the given one is untouched.

    Args:
        session_factory: a ``sessionmaker`` or an ``async_sessionmaker``; its own class is kept as a base.

    Raises:
        TypeError: something else.
    """
    asynchronous = sys.modules.get("sqlalchemy.ext.asyncio")  # whoever has such a factory has imported it
    is_async = asynchronous is not None and isinstance(session_factory, asynchronous.async_sessionmaker)
    if not is_async and not isinstance(session_factory, sessionmaker):
        raise TypeError(f"guard() takes a session factory, not {type(session_factory).__name__}")
    options: dict[str, Any] = dict(session_factory.kw)
    base: Any = session_factory.class_
    if is_async:
        inner = options.pop("sync_session_class", None) or base.sync_session_class
        options |= {"class_": base, "sync_session_class": _translating(inner)}
    else:
        options["class_"] = _translating(base)
    return type(session_factory)(**options)


def _translating(base: type[Any]) -> type[Any]:
    if issubclass(base, CasSession):
        return base
    return type(f"Cas{base.__name__}", (CasSession, base), {})
