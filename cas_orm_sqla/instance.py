"""An object and its row: what it believes, what it would write, and how it falls in step after a win."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy.orm import InstanceState, Session, scoped_session
from sqlalchemy.orm.attributes import set_committed_value
from sqlalchemy.orm.base import NO_VALUE

from cas_orm import UNSET, Expect, InvalidExpectation, MissingExpectation, Outcome
from cas_orm.belief import Belief, exact, resolve
from cas_orm.memory import advanced
from cas_orm_sqla import memory
from cas_orm_sqla.belief import AttributeBelief, Where, check_where
from cas_orm_sqla.columns import Attribute, Columns, columns_of
from cas_orm_sqla.script import Script, is_expression


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


def seen(obj: object, names: tuple[str, ...]) -> dict[str, object]:
    """Return the committed values of these roles and columns; no names mean version and generation.

    Raises:
        MissingExpectation: one is expired, deferred, or was never seen.
    """
    columns, state = columns_of(type(obj)), memory.state_of(obj)
    remembered = memory.recall(state)
    doubtful = remembered is not None and remembered.doubt is not None
    asked = names or (("record_version",) if columns.generation is None else ("record_version", "run_seq"))
    values: dict[str, object] = {}
    for name in asked:
        number = _numbers(columns).get(name)
        if number is not None:
            role, attribute = number
            value: object = _number(state, attribute, role)
            if role == "record_version" and doubtful:
                value = None
        else:
            role, attribute = name, columns.condition(name, None)[1]
            value = committed(state, attribute.key)
        if value is NO_VALUE or (number is not None and value is None):
            raise MissingExpectation(f"{columns.label}.{name} was not loaded [cas-no-expectation]")
        values[role] = value
    return values


def _numbers(columns: Columns) -> dict[str, tuple[str, Attribute]]:
    numbers = {}
    for role, attribute in (("record_version", columns.version), ("run_seq", columns.generation)):
        if attribute is not None:
            numbers[role] = numbers[attribute.key] = (role, attribute)
    return numbers


def committed(state: InstanceState[Any], key: str) -> object:
    """Return what was last loaded or flushed, pending changes aside; NO_VALUE when nothing was."""
    if key in state.committed_state:
        return state.committed_state[key]
    return state.dict.get(key, NO_VALUE)


def pending(state: InstanceState[Any], key: str) -> bool:
    """Tell whether an attribute has a change that was not flushed."""
    return key in state.committed_state and state.committed_state[key] != state.dict.get(key, NO_VALUE)


def _number(state: InstanceState[Any], attribute: Attribute, role: str) -> Any:
    """Return the version or generation as last seen, the attribute itself or what is remembered of it."""
    if pending(state, attribute.key):
        raise InvalidExpectation(
            f"{attribute.key} is written by the library alone; name another one in expect= "
            "[cas-invalid-expectation]"
        )
    if attribute.key in state.dict:
        return state.dict[attribute.key]
    remembered = memory.recall(state)
    if remembered is None:
        return None
    return remembered.version if role == "record_version" else remembered.generation


def see(state: InstanceState[Any], columns: Columns) -> None:
    """Keep the loaded numbers as the last-seen ones."""
    loaded, key = state.dict, columns.version.key
    version = loaded.get(key)
    if version is None or pending(state, key):
        return
    remembered = memory.remember(state)
    remembered.version = version
    if columns.generation is not None and columns.generation.key in loaded:
        remembered.generation = loaded[columns.generation.key]


def ready(session: Session, obj: object) -> tuple[InstanceState[Any], Columns]:
    """Return the state and the roles of an object that has a row, and is not fenced.

    Raises:
        ConflictError: the object was refused before and has not been reloaded; ``fenced``.
        MissingExpectation: the object was never stored, so there is no row to believe in.
        InvalidExpectation: the object belongs to another session.
    """
    state, columns = memory.state_of(obj), columns_of(type(obj))
    remembered = memory.recall(state)
    if remembered is not None:
        remembered.check_fence()
    if state.key is None:
        raise MissingExpectation(
            f"{columns.label}: an object that is being added has no row, and no version to compare "
            "[cas-no-expectation]"
        )
    if state.session is not None and state.session is not session:
        raise InvalidExpectation(
            f"{columns.label}: the object belongs to another session [cas-invalid-expectation]"
        )
    return state, columns


def believed(
    state: InstanceState[Any],
    columns: Columns,
    expect: Expect | None,
    where: Where | None,
    *,
    version: bool = True,
) -> AttributeBelief:
    """Return what an object's verb believes: the numbers it last saw, and what the caller adds.

    Raises:
        MissingExpectation: the version was never seen.
        ErrRecordVersionConflict: the object lost track of its row's version.
        InvalidExpectation: a column or value that cannot be believed, or a pending change of a number.
    """
    check_where(columns, where)
    explicit = expect is not None and expect.record_version is not UNSET
    remembered = memory.recall(state)
    if remembered is not None and (version or explicit):
        remembered.check_version_known()
    belief: AttributeBelief = Belief()
    last = _number(state, columns.version, "record_version")
    if version and not explicit:
        if last is None:
            raise MissingExpectation(
                f"{columns.label}: the version was never seen, so there is nothing to compare; refresh the "
                "object [cas-no-expectation]"
            )
        belief.version = exact("record_version", last, columns.version_maximum)
    maximum = columns.generation_maximum
    if columns.generation is not None and maximum is not None:
        generation = _number(state, columns.generation, "run_seq")
        if generation is not None and (expect is None or expect.run_seq is UNSET):
            belief.generation = exact("run_seq", generation, maximum)
    return resolve(columns, expect, where, belief)


def changes(
    state: InstanceState[Any], columns: Columns, update_fields: Iterable[str] | None
) -> tuple[dict[str, Any], bool]:
    """Return what a save writes by attribute name, and whether that bumps the version.

    Raises:
        InvalidExpectation: a name that is not writable or not loaded, or a pending many-to-one change.
    """
    for key in columns.many_to_one:
        if key in state.committed_state:
            raise InvalidExpectation(
                f"{columns.label}.{key} was assigned; its foreign key is set by a flush: flush first, or "
                "assign the column [cas-invalid-expectation]"
            )
    if update_fields is None:
        values = {
            key: state.dict[key]
            for key in state.committed_state
            if key in columns.writable
            and key in state.dict
            and key not in columns.unversioned
            and _differs(state, columns.writable[key])
        }
        return values, True
    names = [update_fields] if isinstance(update_fields, str) else list(update_fields)
    values = {}
    for name in names:
        attribute = columns.attribute(name)
        if name not in state.dict:
            raise InvalidExpectation(f"{columns.label}.{name} is not loaded [cas-invalid-expectation]")
        values[attribute.key] = state.dict[name]
    return values, not values or not columns.unversioned.issuperset(values)


def _differs(state: InstanceState[Any], attribute: Attribute) -> bool:
    before, now = state.committed_state[attribute.key], state.dict[attribute.key]
    if before is NO_VALUE or is_expression(now):
        return True
    return not attribute.column.type.compare_values(before, now)


def take_over(session: Session, obj: Any, script: Script, outcome: Outcome) -> None:
    """Bring the object in step with the row that it has just won."""
    state, columns = memory.state_of(obj), script.columns
    last = _number(state, columns.version, "record_version")
    see(state, columns)
    made = memory.mark(session, state) if outcome.provisional else None
    remembered = memory.remember(state)
    written = dict(script.values)
    for key in script.unseen:
        written.pop(key, None)
    for key, value in (written | script.answered).items():
        if key not in (columns.version.key,):
            set_committed_value(obj, key, value)
    lost = [key for key in script.unseen if key not in script.answered]
    lost += [key for key in columns.derived if key in state.dict]
    if lost:
        _expire(session, state, obj, lost)
    if script.token is not None and columns.token is not None:
        set_committed_value(obj, columns.token.key, script.token)
    if columns.generation is not None and script.hands_over:
        set_committed_value(obj, columns.generation.key, outcome.run_seq)
        remembered.generation = outcome.run_seq
    _take_version(obj, remembered, script, outcome, last)
    _make_clean(session, state)
    if made is not None:
        made.keys |= {*script.values, *script.answered, columns.version.key}
        if columns.generation is not None:
            made.keys.add(columns.generation.key)


def gone(session: Session, state: InstanceState[Any], columns: Columns, outcome: Outcome) -> None:
    """Let the session know that the row is deleted, as its own delete would; a rollback undoes it."""
    if outcome.provisional:
        see(state, columns)
        memory.mark(session, state)
    if state.session is None:
        return
    deleted = getattr(session, "_remove_newly_deleted", None)  # private: without it the object is detached
    if outcome.provisional and deleted is not None:
        deleted([state])
    else:
        session.expunge(state.obj())


def _make_clean(session: Session, state: InstanceState[Any]) -> None:
    """Take the object off the list of modified ones, so that no flush looks at it again.

    Inside a savepoint it stays there: that is how the savepoint's rollback knows to expire it.
    """
    if state.session is not None and not state.committed_state and not session.in_nested_transaction():
        commit_all = getattr(state, "_commit_all", None)  # private: without it a flush only loads the key
        if commit_all is not None:
            commit_all(state.dict, session.identity_map)


def _expire(session: Session, state: InstanceState[Any], obj: object, keys: list[str]) -> None:
    if state.session is not None:
        session.expire(obj, keys)
    else:
        for key in keys:
            state.dict.pop(key, None)


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
