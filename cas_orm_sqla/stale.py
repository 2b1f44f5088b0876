"""The stale errors of a flush, judged: which object lost, what was expected, what was found.

A flush that finds its row moved ends the session's transaction and says nothing more. So the objects that
it was about to write are compared with their rows on a second connection, if one is free.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import InstanceState, Session
from sqlalchemy.orm.exc import StaleDataError
from sqlalchemy.pool import QueuePool

from cas_orm import ConflictError, ErrRecordVersionConflict, Outcome, RecordMissing, Superseded, Verdict
from cas_orm.belief import Belief
from cas_orm.facts import Facts
from cas_orm_sqla import memory
from cas_orm_sqla.belief import AttributeBelief
from cas_orm_sqla.columns import Columns, columns_of
from cas_orm_sqla.diagnose import diagnose
from cas_orm_sqla.script import told


class StaleFlush(ConflictError, StaleDataError):  # type: ignore[misc]  # both bases have a code
    """A flush was refused, and nobody knows by which row. Also SQLAlchemy's own ``StaleDataError``."""

    __str__ = Exception.__str__  # SQLAlchemy's would add a link to its own pages


class StaleVersion(ErrRecordVersionConflict, StaleFlush):  # type: ignore[misc]  # both bases have a code
    """A flush found a newer version."""


class StaleGeneration(Superseded, StaleFlush):  # type: ignore[misc]  # both bases have a code
    """A flush found a newer generation."""


class StaleRow(RecordMissing, StaleFlush):  # type: ignore[misc]  # both bases have a code
    """A flush found no row."""


_CLASSES: Final[dict[Verdict, type[StaleFlush]]] = {
    Verdict.STALE: StaleVersion,
    Verdict.SUPERSEDED: StaleGeneration,
    Verdict.WRONG_STATE: StaleGeneration,
    Verdict.MISSING: StaleRow,
}
#: SQLAlchemy has no public name for it; without it a pool counts as full once its own size is in use.
_MAX_OVERFLOW: Final = "_max_overflow"
Written = list[tuple[InstanceState[Any], Columns]]


def about_to_write(session: Session) -> Written:
    """Return the objects of ours that a flush may update or delete."""
    objects: Iterable[Any] = [*session.dirty, *session.deleted]
    return [(memory.state_of(o), columns_of(type(o))) for o in objects if hasattr(type(o), "__cas_seen__")]


def judged(session: Session, written: Written) -> StaleFlush:
    """Return the error of the first object whose row is not as the flush believed."""
    for state, columns in written:
        remembered = memory.recall(state)
        if remembered is None or state.key is None or type(remembered.version) is not int:
            continue
        belief: AttributeBelief = Belief(remembered.version, remembered.generation)
        verdict, found = compare(session, columns, state.key[1], belief)
        if verdict is not Verdict.UNDIAGNOSED:
            return as_stale(columns, state.key[1], belief, verdict, found)
    state, columns = written[0]
    identity = () if state.key is None or len(written) > 1 else state.key[1]
    return as_stale(columns, identity, Belief(), Verdict.UNDIAGNOSED, None)


def unmerged(session: Session, given: list[InstanceState[Any]]) -> StaleFlush:
    """Return the error of the first object of ours that was to be merged into a newer row."""
    for state in given:
        columns = columns_of(state.class_)
        identity = key_of(columns, state)
        belief: AttributeBelief = Belief(state.dict.get(columns.version.key))
        connection = session.connection(bind_arguments={"mapper": columns.mapper})
        verdict, found = diagnose(connection, told(columns, identity, belief))
        if verdict is not Verdict.UNDIAGNOSED:
            return as_stale(columns, identity, belief, verdict, found)
    return as_stale(columns_of(given[0].class_), (), Belief(), Verdict.UNDIAGNOSED, None)


def key_of(columns: Columns, state: InstanceState[Any]) -> tuple[Any, ...]:
    """Return an object's key; what is expired and in no session could not load it."""
    if state.key is not None:
        return state.key[1]
    return tuple(columns.mapper.primary_key_from_instance(state.obj()))


def as_stale(
    columns: Columns,
    identity: tuple[Any, ...],
    belief: AttributeBelief,
    verdict: Verdict,
    found: dict[str, object] | None,
) -> StaleFlush:
    """Return the error of a verdict, as a flush raises it."""
    key = identity[0] if len(identity) == 1 else identity or None
    outcome = Outcome(verdict, columns.label, key, Facts(belief.facts()), found, verb="save")
    error = outcome.as_error()
    return _CLASSES.get(verdict, StaleFlush)(
        str(error),
        model=error.model,
        key=error.key,
        expected=error.expected,
        actual=error.actual,
        verdict=error.verdict,
        code=error.code,
    )


def compare(
    session: Session, columns: Columns, identity: tuple[Any, ...], belief: AttributeBelief
) -> tuple[Verdict, dict[str, object] | None]:
    """Compare a row with a belief on a second connection; UNDIAGNOSED when none is free."""
    bind = session.get_bind(columns.mapper)
    if isinstance(bind, Connection) or not _has_free_connection(bind):
        return Verdict.UNDIAGNOSED, None
    try:
        with bind.connect() as connection:
            return diagnose(connection, told(columns, identity, belief), fresh=True)
    except DBAPIError:
        return Verdict.UNDIAGNOSED, None  # the stale error is the one to hear of


def _has_free_connection(engine: Engine) -> bool:
    """Tell whether the pool can hand out a connection without waiting for one."""
    pool = engine.pool
    if not isinstance(pool, QueuePool) or pool.checkedin() > 0:
        return True
    most: int = getattr(pool, _MAX_OVERFLOW, 0)
    return most == -1 or pool.overflow() < most
