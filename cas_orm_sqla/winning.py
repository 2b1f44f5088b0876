"""How an object falls in step with the row that it has won, and how it leaves with one it has deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import JSON
from sqlalchemy.orm import InstanceState, Session
from sqlalchemy.orm.attributes import set_committed_value
from sqlalchemy.orm.base import NO_VALUE

from cas_orm import Outcome
from cas_orm.lifecycle import FINISHED
from cas_orm.memory import advanced
from cas_orm_sqla import memory
from cas_orm_sqla.columns import Columns
from cas_orm_sqla.script import Script
from cas_orm_sqla.seen import differs, number, see

#: SQLAlchemy has no public name for either.
_REMOVE_DELETED: Final = "_remove_newly_deleted"
_COMMIT_ALL: Final = "_commit_all"


def take_over(session: Session, obj: Any, script: Script, outcome: Outcome) -> None:
    """Bring the object in step with the row that it has just won."""
    state, columns = memory.state_of(obj), script.columns
    last = number(state, columns.version, "record_version")
    remembered = see(state, columns)
    made = memory.mark(session, state) if outcome.provisional else None
    _assign(state, obj, columns, _known(script))
    lost = _lost(state, script)
    if lost:
        _load_again(session, state, obj, lost)
    if script.token is not None and columns.token is not None:
        set_committed_value(obj, columns.token.key, script.token)
    if columns.generation is not None and script.hands_over:
        set_committed_value(obj, columns.generation.key, outcome.run_seq)
        remembered.generation = outcome.run_seq
    _take_version(obj, remembered, script, outcome, last)
    _settle_unchanged(state, obj, columns)
    _make_clean(session, state)
    if made is not None:
        made.keys.update(script.values, script.answered, lost, columns.roles)


def _known(script: Script) -> dict[str, Any]:
    """Return the new values: what was sent, and what the database has handed back."""
    known = dict(script.values)
    for key in script.unseen:
        known.pop(key, None)
    known.update(script.answered)
    return known


def _lost(state: InstanceState[Any], script: Script) -> list[str]:
    """Name the attributes that would show another value than the new one, which nobody has said.

    One that was inserted as NULL without being assigned is not loaded, and shows None all the same.
    """
    unsaid = [key for key in script.unseen if key not in script.answered]
    shown = [key for key in unsaid if key not in state.expired_attributes]
    return shown + [key for key in script.columns.derived if key not in script.answered and key in state.dict]


def _assign(state: InstanceState[Any], obj: object, columns: Columns, values: Mapping[str, Any]) -> None:
    """Give the object new values as a refresh would, so that mutable types and composites hear of them."""
    replaced = []
    loaded, changed, expired = state.dict, state.committed_state, state.expired_attributes
    for key, value in values.items():
        if key == columns.version.key:
            continue
        if value is JSON.NULL:
            value = None
        if loaded.get(key, NO_VALUE) is not value:
            replaced.append(key)
        elif key in changed and key not in expired:  # the object has it already: it is a change no more
            del changed[key]
            continue
        set_committed_value(obj, key, value)
    if replaced:
        state.manager.dispatch.refresh(state, None, replaced)


def _load_again(session: Session, state: InstanceState[Any], obj: object, keys: list[str]) -> None:
    """Have attributes loaded at their next use: a won write stays one statement, with asyncio, too."""
    if state.session is not None:
        session.expire(obj, keys)
    else:
        for key in keys:
            state.dict.pop(key, None)


def take_found(session: Session, obj: Any, script: Script, outcome: Outcome) -> None:
    """Take over what was applied before: the values that the verb was to reach, and the version.

    What else that write has changed was not read: it is loaded at its next use.
    """
    state, columns, found = memory.state_of(obj), script.columns, outcome.actual or {}
    last, version = number(state, columns.version, "record_version"), outcome.record_version
    see(state, columns)
    made = memory.mark(session, state) if outcome.provisional else None
    if made is not None:
        made.keys |= {*(script.target or ()), columns.version.key}
    for name in script.target or ():
        set_committed_value(obj, name, found[name])
    unread = [
        name for name in FINISHED.difference(script.target or ()) if name not in state.expired_attributes
    ]
    if version != last and unread:
        _load_again(session, state, obj, unread)
    set_committed_value(obj, columns.version.key, version)
    remembered = memory.remember(state)
    remembered.version = version
    if isinstance(last, int) and version not in (last, last + script.bumps):
        remembered.lose_track(outcome, last)


def gone(session: Session, state: InstanceState[Any], columns: Columns, outcome: Outcome) -> None:
    """Let the session know that the row is deleted, as its own delete would; a rollback undoes it."""
    if outcome.provisional:
        see(state, columns)
        memory.mark(session, state)
    if state.session is None:
        return
    deleted = getattr(session, _REMOVE_DELETED, None)  # without it the object is detached
    if outcome.provisional and deleted is not None:
        deleted([state])
    else:
        session.expunge(state.obj())


def _settle_unchanged(state: InstanceState[Any], obj: object, columns: Columns) -> None:
    """Take what was assigned its old value as unchanged: it would keep the object among the modified ones."""
    if not state.committed_state:
        return
    loaded = state.dict
    for key, before in list(state.committed_state.items()):
        attribute = columns.writable.get(key)
        if attribute is not None and key in loaded and not differs(attribute, before, loaded[key]):
            set_committed_value(obj, key, loaded[key])


def _make_clean(session: Session, state: InstanceState[Any]) -> None:
    """Take the object off the list of modified ones, so that no flush looks at it again.

    Inside a savepoint it stays there: that is how the savepoint's rollback knows to expire it.
    """
    if state.session_id and not state.committed_state and not session.in_nested_transaction():
        commit_all = getattr(state, _COMMIT_ALL, None)  # without it a flush looks at the object in vain
        if commit_all is not None:
            commit_all(state.dict, session.identity_map)


def _take_version(
    obj: object, remembered: memory.Memory, script: Script, outcome: Outcome, last: Any
) -> None:
    """Advance the version only as far as the object can vouch for its other attributes."""
    covers = script.verb == "save" and last is None
    shown, in_step = advanced(script, outcome, last, covers=covers)
    if shown is not None:
        set_committed_value(obj, script.columns.version.key, shown)
        remembered.version = shown
    if not in_step:
        remembered.lose_track(outcome, last if isinstance(last, int) else None)
