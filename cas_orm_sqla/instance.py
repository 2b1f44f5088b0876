"""An object and what it would write: is it ready for a verb, and what has changed on it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy.orm import InstanceState, Session, scoped_session
from sqlalchemy.orm.base import NO_VALUE

from cas_orm import InvalidExpectation, MissingExpectation
from cas_orm_sqla import memory
from cas_orm_sqla.columns import Columns, columns_for
from cas_orm_sqla.names import parts_of
from cas_orm_sqla.seen import believed, differs, pending, see, seen
from cas_orm_sqla.winning import gone, take_over

__all__ = ["believed", "changes", "gone", "pending", "ready", "see", "seen", "take_over", "unwrap"]


def unwrap(session: object) -> Session:
    """Return the session behind a scoped one.

    Raises:
        TypeError: the wrong kind of session.
    """
    if isinstance(session, scoped_session):
        session = session()
    if not isinstance(session, Session):
        raise TypeError(
            f"a Session is needed here, not {type(session).__name__}; AsyncSession has the a-twins"
        )
    return session


def ready(session: Session, obj: object) -> tuple[InstanceState[Any], Columns]:
    """Return the state and the roles of an object that has a row, and is not fenced.

    Raises:
        ConflictError: the object was refused before and has not been reloaded; ``fenced``.
        MissingExpectation: the object was never stored, so there is no row to believe in.
        InvalidExpectation: the object belongs to another session.
    """
    state = memory.state_of(obj)
    columns = columns_for(state.manager.mapper)
    remembered = memory.recall(state)
    if remembered is not None:
        remembered.check_fence()
    if state.key is None:
        raise MissingExpectation(
            f"{columns.label}: an object that is being added has no row, and no version to compare "
            "[cas-no-expectation]"
        )
    owner = state.session
    if owner is not None and owner is not session:
        raise InvalidExpectation(
            f"{columns.label}: the object belongs to another session [cas-invalid-expectation]"
        )
    return state, columns


def changes(
    state: InstanceState[Any], columns: Columns, update_fields: Iterable[str] | None
) -> tuple[dict[str, Any], bool]:
    """Return what a save writes by attribute name, and whether that bumps the version.

    Raises:
        InvalidExpectation: a name that is not writable or not loaded, or a pending many-to-one change.
    """
    if update_fields is None:
        _check_pending_key(state, columns)
        _check_pending_relationships(state, columns, columns.writable)
        loaded, writable = state.dict, columns.writable
        values = {
            key: loaded[key]
            for key, before in state.committed_state.items()
            if key in writable
            and key in loaded
            and key not in columns.unversioned
            and differs(writable[key], before, loaded[key])
        }
        return values, True
    named = [update_fields] if isinstance(update_fields, str) else update_fields
    values = {}
    for name in (part for whole in named for part in parts_of(columns.mapper, whole)):
        key = columns.attribute(name).key
        if key not in state.dict:
            raise InvalidExpectation(f"{columns.label}.{name} is not loaded [cas-invalid-expectation]")
        values[key] = state.dict[key]
    _check_pending_relationships(state, columns, values)
    return values, not values or not columns.unversioned.issuperset(values)


def _check_pending_relationships(
    state: InstanceState[Any], columns: Columns, written: Collection[str]
) -> None:
    """Refuse to write a foreign key that a flush would set to something else."""
    for key, foreign_key in columns.many_to_one.items():
        if key not in state.committed_state or state.committed_state[key] is state.dict.get(key, NO_VALUE):
            continue
        if not foreign_key.isdisjoint(written):
            raise InvalidExpectation(
                f"{columns.label}.{key} was assigned; its foreign key is set by a flush: flush first, or "
                "assign the column [cas-invalid-expectation]"
            )


def _check_pending_key(state: InstanceState[Any], columns: Columns) -> None:
    """Refuse a new primary key, which a verb cannot write and a later flush would."""
    for part in columns.parts:
        for attribute in part.keys:
            if pending(state, attribute.key):
                raise InvalidExpectation(
                    f"{columns.label}.{attribute.key} was assigned; a flush alone changes a primary key "
                    "[cas-invalid-expectation]"
                )
