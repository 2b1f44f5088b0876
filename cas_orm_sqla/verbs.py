"""The verbs: on an object, and as functions by key. The session comes first.

By-key forms name the row by its class and primary key and believe exactly what they are told. They load
nothing, remember nothing and are not fenced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy.orm import Session

from cas_orm import Expect, InvalidExpectation, Outcome
from cas_orm.belief import need_belief, need_generation, need_run_seq, resolve
from cas_orm.twins import raising
from cas_orm_sqla import instance, memory, write
from cas_orm_sqla.belief import AttributeBelief, Where, check_where, holds_always
from cas_orm_sqla.columns import Columns, columns_of, new_token
from cas_orm_sqla.keys import identity_of
from cas_orm_sqla.script import Script, update_script
from cas_orm_sqla.twins import hop_function

# -- on an object ------------------------------------------------------------------------------------------


def save(
    obj: Any,
    session: Session,
    *,
    expect: Expect | None,
    update_fields: Iterable[str] | None,
    where: Where | None,
    on_won: write.OnWon | None,
) -> Outcome:
    """Write the object's changes; see `CasVerbsMixin.try_save_if_current`."""
    session = instance.unwrap(session)
    state, columns = instance.ready(session, obj)
    values, bumps = instance.changes(state, columns, update_fields)
    belief = instance.believed(state, columns, expect, where, version=bumps)
    connection = write.connect(session, columns)
    script = update_script(
        columns,
        connection.dialect,
        state.key[1],  # type: ignore[index]  # checked by ready()
        belief,
        values,
        verb="save",
        bumps=bumps,
        token=_token(columns),
    )
    return _write(session, connection, obj, script, on_won)


def update(
    obj: Any,
    session: Session,
    *,
    expect: Expect,
    set: Mapping[str, object],
    where: Where | None,
    on_won: write.OnWon | None,
) -> Outcome:
    """Write these values to the object's row; see `CasVerbsMixin.try_update_if_current`."""
    session = instance.unwrap(session)
    state, columns = instance.ready(session, obj)
    check_where(columns, where)
    belief = resolve(columns, expect, where)
    need_belief(columns, belief, "update_if_current", lambda: holds_always(where))
    remembered = memory.recall(state)
    if remembered is not None and belief.version is not None:
        remembered.check_version_known()
    return _write_values(session, obj, state.key[1], columns, belief, set, "update", on_won)  # type: ignore[index]


def new_generation(
    obj: Any,
    session: Session,
    *,
    expect: Expect | None,
    set: Mapping[str, object] | None,
    where: Where | None,
    on_won: write.OnWon | None,
) -> Outcome:
    """Hand the object's row over; see `CasVerbsMixin.try_new_generation_if_current`."""
    session = instance.unwrap(session)
    state, columns = instance.ready(session, obj)
    need_generation(columns)
    belief = instance.believed(state, columns, expect, where)
    need_run_seq(columns, belief, "new_generation_if_current")
    identity = state.key[1]  # type: ignore[index]
    return _write_values(session, obj, identity, columns, belief, set or {}, "new_generation", on_won)


def _write_values(
    session: Session,
    obj: Any,
    identity: tuple[Any, ...],
    columns: Columns,
    belief: AttributeBelief,
    assigned: Mapping[str, object],
    verb: str,
    on_won: write.OnWon | None,
) -> Outcome:
    connection = write.connect(session, columns)
    script = _script(columns, connection, identity, belief, assigned, verb)
    return _write(session, connection, obj, script, on_won)


def _write(
    session: Session, connection: Any, obj: Any, script: Script, on_won: write.OnWon | None
) -> Outcome:
    outcome = write.run(
        session, connection, script, on_won, lambda won: instance.take_over(session, obj, script, won)
    )
    if not outcome:
        memory.remember(memory.state_of(obj)).fence = outcome
    return outcome


# -- by key ------------------------------------------------------------------------------------------------


def try_update_if_current(
    session: Session,
    model: type[Any],
    key: object,
    *,
    expect: Expect,
    set: Mapping[str, object],
    where: Where | None = None,
    on_won: write.OnWon | None = None,
) -> Outcome:
    """Write these values if the row is as believed: one UPDATE, nothing loaded.

    Args:
        session: whose transaction it joins.
        model: the mapped class.
        key: the primary key; a tuple when composite.
        expect: all that is believed, besides the key.
        set: values or expressions by attribute name; ``onupdate`` columns are written with them.
        where: a further condition over plain columns of the version's table.
        on_won: called with the outcome after the commit, when the write won.

    Raises:
        MissingExpectation: neither ``expect`` nor ``where`` says anything.
        InvalidExpectation: a belief or a column that cannot be compared or written.
        TransientConflict: the engine refused.
        UnknownOutcome: the connection was lost in flight.
        TypeError: the wrong kind of session.
    """
    columns = columns_of(model)
    check_where(columns, where)
    belief = resolve(columns, expect, where)
    need_belief(columns, belief, "update_if_current", lambda: holds_always(where))
    return _by_key(session, columns, key, belief, set, "update", on_won)


def try_new_generation_if_current(
    session: Session,
    model: type[Any],
    key: object,
    *,
    expect: Expect,
    set: Mapping[str, object] | None = None,
    where: Where | None = None,
    on_won: write.OnWon | None = None,
) -> Outcome:
    """Hand the row over to a new generation: ``run_seq + 1``, and these values with it.

    Args:
        session: whose transaction it joins.
        model: the mapped class; it must have a generation.
        key: the primary key.
        expect: what is believed; ``run_seq`` is required.
        set: values or expressions by attribute name.
        where: as for `try_update_if_current`.
        on_won: as for `try_update_if_current`.

    Raises:
        MissingExpectation: ``expect`` names no ``run_seq``.
        InvalidExpectation: the class has no generation, or a belief or column does not fit.
        TransientConflict: the engine refused.
        UnknownOutcome: the connection was lost in flight.
        TypeError: the wrong kind of session.
    """
    columns = columns_of(model)
    need_generation(columns)
    check_where(columns, where)
    belief = resolve(columns, expect, where)
    need_run_seq(columns, belief, "new_generation_if_current")
    return _by_key(session, columns, key, belief, set or {}, "new_generation", on_won)


def _by_key(
    session: Session,
    columns: Columns,
    key: object,
    belief: AttributeBelief,
    assigned: Mapping[str, object],
    verb: str,
    on_won: write.OnWon | None,
) -> Outcome:
    session = instance.unwrap(session)
    identity = identity_of(columns, key)
    connection = write.connect(session, columns)
    script = _script(columns, connection, identity, belief, assigned, verb)
    return write.run(session, connection, script, on_won)


def _script(
    columns: Columns,
    connection: Any,
    identity: tuple[Any, ...],
    belief: AttributeBelief,
    assigned: Mapping[str, object],
    verb: str,
) -> Script:
    values = {columns.attribute(name).key: value for name, value in assigned.items()}
    if len(values) < len(assigned):
        raise InvalidExpectation(
            f"{columns.label}: set= names a column twice, by its synonym, too [cas-invalid-expectation]"
        )
    hands_over = verb == "new_generation"
    bumps = hands_over or not values or not columns.unversioned.issuperset(values)
    return update_script(
        columns,
        connection.dialect,
        identity,
        belief,
        values,
        verb=verb,
        bumps=bumps,
        hands_over=hands_over,
        token=_token(columns),
    )


def _token(columns: Columns) -> bytes | None:
    return None if columns.token is None else new_token()


update_if_current = raising(try_update_if_current)
aupdate_if_current = hop_function(update_if_current)
atry_update_if_current = hop_function(try_update_if_current)

new_generation_if_current = raising(try_new_generation_if_current)
anew_generation_if_current = hop_function(new_generation_if_current)
atry_new_generation_if_current = hop_function(try_new_generation_if_current)
