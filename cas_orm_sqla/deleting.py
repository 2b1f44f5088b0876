"""Deleting a row: one DELETE, or the guarded UPDATE and the ORM's own delete after it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import set_committed_value

from cas_orm import Expect, Outcome
from cas_orm.belief import need_belief, resolve
from cas_orm.twins import raising
from cas_orm_sqla import instance, memory, write
from cas_orm_sqla.belief import AttributeBelief, Where, check_where, holds_always
from cas_orm_sqla.capabilities import commits_itself
from cas_orm_sqla.columns import Columns, columns_of
from cas_orm_sqla.keys import identity_of
from cas_orm_sqla.script import Script, delete_script, update_script
from cas_orm_sqla.session import check_others, undo
from cas_orm_sqla.twins import hop_function


def delete(
    obj: Any,
    session: Session,
    *,
    expect: Expect | None,
    where: Where | None,
    on_won: write.OnWon | None,
) -> Outcome:
    """Delete the object's row; see `CasVerbsMixin.try_delete_if_current`."""
    session = instance.unwrap(session)
    state, columns = instance.ready(session, obj)
    belief = instance.believed(state, columns, expect, where)
    identity: tuple[Any, ...] = state.key[1]  # type: ignore[index]  # checked by ready()
    if columns.cascades:
        outcome = _with_cascade(session, columns, identity, belief, on_won, obj)
    else:
        connection, script = write.connect(session, columns), delete_script(columns, identity, belief)
        outcome = write.run(
            session, connection, script, on_won, lambda won: instance.gone(session, state, columns, won)
        )
    if not outcome:
        memory.remember(state).fence = outcome
    return outcome


def try_delete_if_current(
    session: Session,
    model: type[Any],
    key: object,
    *,
    expect: Expect,
    where: Where | None = None,
    on_won: write.OnWon | None = None,
) -> Outcome:
    """Delete the row if it is as believed.

    One DELETE where the ORM has nothing to cascade to; otherwise the guarded UPDATE first and the ORM's own
    delete after it, in one transaction. That one is a flush, which writes what else waits in the session.

    Args:
        session: whose transaction it joins.
        model: the mapped class.
        key: the primary key.
        expect: what is believed; required.
        where: as for `try_update_if_current`.
        on_won: as for `try_update_if_current`.

    Raises:
        ConflictError: the flush would have to write an object that was refused before (``fenced``).
        MissingExpectation: neither ``expect`` nor ``where`` says anything.
        InvalidExpectation: a belief that cannot be compared.
        TransientConflict: the engine refused.
        UnknownOutcome: the connection was lost in flight.
        TypeError: the wrong kind of session.
    """
    session = instance.unwrap(session)
    columns = columns_of(model)
    check_where(columns, where)
    belief = resolve(columns, expect, where)
    need_belief(columns, belief, "delete_if_current", lambda: holds_always(where))
    identity = identity_of(columns, key)
    if columns.cascades:
        return _with_cascade(session, columns, identity, belief, on_won)
    return write.run(
        session, write.connect(session, columns), delete_script(columns, identity, belief), on_won
    )


def _with_cascade(
    session: Session,
    columns: Columns,
    identity: tuple[Any, ...],
    belief: AttributeBelief,
    on_won: write.OnWon | None,
    obj: object = None,
) -> Outcome:
    """Bump the row, and let the ORM delete it with what belongs to it; by key it finds its object then."""
    held = session.identity_map.get(columns.mapper.identity_key_from_primary_key(identity))
    check_others(session, held if obj is None else obj)
    connection = write.connect(session, columns)
    script = update_script(columns, connection.dialect, identity, belief, {}, verb="delete")
    script.after = lambda: _cascade(session, connection, script, obj, held)
    return write.run(session, connection, script, on_won)


def _cascade(session: Session, connection: Connection, script: Script, obj: Any, held: Any) -> None:
    """Delete the object, in step with the row that was bumped; where that fails, the bump is undone, too."""
    known = held if obj is None else obj
    before = None if known is None else _before(session, connection, script, known)
    if obj is None:
        with session.no_autoflush:  # it would be compared with the row that has just been bumped
            obj = session.get(script.columns.mapper.class_, script.key, populate_existing=True)
        if obj is None:
            return
    elif script.belief.version is not None:
        set_committed_value(obj, script.columns.version.key, script.belief.version + 1)
    before = before or _before(session, connection, script, obj)
    done = False
    try:
        session.delete(obj)
        session.flush()
        done = True
    finally:
        if not done and session.is_active:  # refused before the flush has begun: the session goes on
            if obj in session.deleted:
                session.add(obj)
            undo(session, memory.state_of(obj), before)


def _before(session: Session, connection: Connection, script: Script, obj: object) -> memory.Mark:
    """Keep what the object has seen, for the end of a transaction that does not commit."""
    state = memory.state_of(obj)
    instance.see(state, script.columns)
    made = None if commits_itself(connection) else memory.mark(session, state)
    if made is None:
        made = memory.Mark(memory.remember(state))
    made.keys |= {script.columns.version.key, *(a.key for a in script.columns.changed_by_update)}
    return made


delete_if_current = raising(try_delete_if_current)
adelete_if_current = hop_function(delete_if_current)
atry_delete_if_current = hop_function(try_delete_if_current)
