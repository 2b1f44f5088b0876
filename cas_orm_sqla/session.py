"""What happens around a session's flushes and transactions, on every ``Session``.

before_flush ─▶ a refused object raises again; an expired version becomes the last-seen one (before_update and
                before_delete, for what only the flush knows that it writes)
after_flush  ─▶ the versions that the flush has written are the last-seen ones now
after_commit ─▶ what is loaded now has been seen
the end of a transaction without a commit ─▶ what was seen before it is the last-seen again
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import Connection, event
from sqlalchemy.orm import InstanceState, Mapper, Session, SessionTransaction
from sqlalchemy.orm.attributes import set_committed_value

from cas_orm import InvalidExpectation, MissingExpectation
from cas_orm_sqla import hooks, memory
from cas_orm_sqla.capabilities import check_can_count, commits_itself
from cas_orm_sqla.columns import Columns, columns_for, columns_of
from cas_orm_sqla.instance import pending, see

_COMMITTED: Final = "cas_orm_committed"
_CLASS: Final = attrgetter("class_")


def watch(base: type[Any]) -> None:
    """Listen to every session, for the objects of classes below ``base``."""
    event.listen(Session, "before_flush", _before_flush)
    event.listen(Session, "after_flush", _after_flush)
    event.listen(Session, "after_commit", _after_commit)
    event.listen(Session, "after_transaction_end", _after_transaction_end)
    event.listen(base, "before_update", _before_write, propagate=True)
    event.listen(base, "before_delete", _before_write, propagate=True)
    event.listen(base, "refresh", _refreshed, propagate=True)
    event.listen(base, "pickle", _pickled, propagate=True)


def _ours(objects: Iterable[Any]) -> Iterator[tuple[InstanceState[Any], Columns]]:
    """Yield the states of the objects that have the verbs."""
    for obj in objects:
        if hasattr(type(obj), "__cas_seen__"):
            state = memory.state_of(obj)
            yield state, columns_for(state.manager.mapper)


def _before_flush(session: Session, context: Any, instances: Any) -> None:
    check_others(session, None)


def check_others(session: Session, but: object) -> None:
    """Refuse what a flush of this session would refuse, one object aside.

    Raises:
        ConflictError: an object was refused, or lost track of its version.
        InvalidExpectation: version or generation was assigned.
        MissingExpectation: a version was never seen.
    """
    deleted = session.deleted
    for state, columns in _ours([*session.dirty, *deleted]):
        obj = state.obj()
        if obj is but:
            continue
        if _is_sound(state, columns):
            see(state, columns)
        elif obj in deleted or session.is_modified(obj):  # asks every attribute, so it is asked last
            _guard(state, columns)


def _before_write(mapper: Mapper[Any], connection: Connection, obj: Any) -> None:
    """Guard what only the flush itself knows that it writes: an orphan, a child in a list without backref.

    In here a refusal ends the session's transaction; so whatever can be refused before the flush is.

    Raises:
        UnsupportedBackend: nobody would count the rows; SQLAlchemy would write without the check, and warn.
    """
    if hasattr(type(obj), "__cas_seen__"):
        check_can_count(connection)
        state = memory.state_of(obj)
        columns = columns_for(state.manager.mapper)
        if not _is_sound(state, columns):
            _guard(state, columns)


def _after_flush(session: Session, context: Any) -> None:
    provisional: dict[Columns, bool] = {}
    for state, columns in _ours([*session.dirty, *session.new]):
        if columns.version_name in state.dict:
            if columns not in provisional:
                connection = session.connection(bind_arguments={"mapper": columns.mapper})
                provisional[columns] = not commits_itself(connection)
            if provisional[columns]:
                memory.mark(session, state)
            see(state, columns)


def _after_commit(session: Session) -> None:
    transaction = session.get_nested_transaction() or session.get_transaction()
    session.info.setdefault(_COMMITTED, set()).add(transaction)
    if session.in_nested_transaction():
        return
    states = session.identity_map.all_states()
    keys: dict[type[Any], memory.Keys] = {}
    for class_ in set(map(_CLASS, states)):
        if hasattr(class_, "__cas_seen__"):
            columns = columns_of(class_)
            job = ("state", "action") if columns.is_job else ()
            keys[class_] = columns.version_name, columns.generation_name, job
    if keys:
        memory.note(states, keys)


def _after_transaction_end(session: Session, transaction: SessionTransaction) -> None:
    """Hand on what a savepoint has written, run the hooks of a commit, undo everything else."""
    waiting, marks = hooks.take(session, transaction), memory.take_marks(session, transaction)
    committed: set[SessionTransaction] = session.info.get(_COMMITTED, set())
    if transaction not in committed:
        for state, made in marks.items():
            undo(session, state, made)
        return
    committed.discard(transaction)
    parent = transaction.parent
    if transaction.nested and parent is not None:
        hooks.hand_on(session, waiting, parent)
        memory.hand_on(session, marks, parent)
        return
    for hook in waiting:
        hook()


def _refreshed(obj: Any, context: Any, attrs: Any) -> None:
    state = memory.state_of(obj)
    remembered = memory.recall(state)
    if remembered is None:
        return
    columns = columns_of(type(obj))
    if columns.version.key not in state.dict:
        return
    if attrs is None or columns.version.key in attrs:
        remembered.reloaded()
        see(state, columns)


def _pickled(obj: Any, pickled: dict[str, Any]) -> None:
    """Let an expired object's last-seen numbers go with it."""
    state = memory.state_of(obj)
    if memory.recall(state) is not None:
        pickled["info"] = state.info


def _is_sound(state: InstanceState[Any], columns: Columns) -> bool:
    """Tell whether there is nothing that `_guard` would refuse, or give back."""
    remembered = memory.recall(state)
    if remembered is not None and not (remembered.fence is None and remembered.doubt is None):
        return False
    names = (columns.version_name, columns.generation_name)
    return columns.version_name in state.dict and state.committed_state.keys().isdisjoint(names)


def _guard(state: InstanceState[Any], columns: Columns) -> None:
    """Refuse what was refused; give an expired version back before the flush compares it with itself.

    Raises:
        ConflictError: the object was refused, or lost track of its version.
        InvalidExpectation: version or generation was assigned.
        MissingExpectation: the version was never seen.
    """
    remembered = memory.recall(state)
    if remembered is not None:
        remembered.check_fence()
        remembered.check_version_known()
    for attribute in (columns.version, columns.generation):
        if attribute is not None and pending(state, attribute.key):
            raise InvalidExpectation(
                f"{columns.label}.{attribute.key} is written by the library alone [cas-invalid-expectation]"
            )
    if columns.version.key in state.dict:
        see(state, columns)
        return
    if remembered is None or remembered.version is None:
        raise MissingExpectation(
            f"{columns.label}: the version was never seen, so there is nothing to compare; refresh the "
            "object [cas-no-expectation]"
        )
    set_committed_value(state.obj(), columns.version.key, remembered.version)


def undo(session: Session, state: InstanceState[Any], made: memory.Mark) -> None:
    """Put back what was seen before a write that has been rolled back."""
    remembered = memory.remember(state)
    remembered.version, remembered.generation, remembered.doubt = made.version, made.generation, made.doubt
    remembered.job = made.job
    obj = state.obj()
    if obj is None:
        return
    columns = columns_of(type(obj))
    if state.transient or state.pending:  # its insert is undone: it claims no version of any row
        state.dict.pop(columns.version.key, None)
        return
    if state.session is session and state.persistent:
        loaded = [key for key in made.keys if key in state.dict]
        if loaded:
            session.expire(obj, loaded)
        return
    for attribute, number in ((columns.version, made.version), (columns.generation, made.generation)):
        if attribute is not None and number is not None and attribute.key in state.dict:
            set_committed_value(obj, attribute.key, number)
