"""What became of a write whose answer was lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlalchemy import inspect, null, select
from sqlalchemy.orm import Session

from cas_orm import Outcome, UnknownOutcome, Verdict
from cas_orm.settling import by_token, may_send_again, never_sent, travelled, unknown_in
from cas_orm_sqla import write
from cas_orm_sqla.columns import Columns, columns_of
from cas_orm_sqla.diagnose import diagnose
from cas_orm_sqla.mixins import CasVerbsMixin
from cas_orm_sqla.script import Script, told
from cas_orm_sqla.transactions import own_transaction

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

__all__ = ["asettle", "settle"]


def settle(session_factory: Callable[[], Session], error: BaseException) -> Outcome:
    """Return how an unknown write ended, once and for all.

    A write that believed a version, handed the row over or closed a job, and was sent in AUTOCOMMIT, is sent
    again with the same token, in a transaction of its own. Everything else (inside the session's transaction,
    a write that could match twice, an error that was pickled) is settled by a locking read of the token.

    Args:
        session_factory: makes the session to settle in; it must reach the primary.
        error: the `UnknownOutcome`, or the CancelledError that carries one as ``cas_unknown``.

    Returns:
        WON when the write is applied; otherwise the verdict of a write that never will be.

    Raises:
        UnknownOutcome: the class has no write token, the row has moved too far to tell, or a deleted row
            may have been deleted by anybody.
        TransientConflict: the engine refused while settling; try again.
        TypeError: another error, or a factory of another kind of session.
    """
    with session_factory() as session:
        if not isinstance(session, Session):
            raise TypeError("settle() takes a factory of Session; asettle() one of AsyncSession")
        return _settle(session, error)


async def asettle(session_factory: Callable[[], AsyncSession], error: BaseException) -> Outcome:
    """Return how an unknown write ended; see `settle`.

    Raises:
        UnknownOutcome: undecidable, as in `settle`.
        TransientConflict: the engine refused while settling; try again.
        TypeError: another error, or a factory of another kind of session.
    """
    from sqlalchemy.ext.asyncio import AsyncSession  # needs greenlet

    async with session_factory() as session:
        if not isinstance(session, AsyncSession):
            raise TypeError("asettle() takes a factory of AsyncSession; settle() one of Session")
        return await session.run_sync(_settle, error)


def _settle(session: Session, error: BaseException) -> Outcome:
    unknown, script = unknown_in(error)
    if never_sent(unknown):
        return Outcome(Verdict.UNDIAGNOSED)
    if isinstance(script, Script):
        return _settle_sent(session, unknown, script)
    columns = _columns_named(unknown)
    identity = unknown.key if isinstance(unknown.key, tuple) else (unknown.key,)
    return _judge(session, unknown, told(columns, identity, travelled(columns, unknown)), pickled=True)


def _settle_sent(session: Session, unknown: UnknownOutcome, script: Script) -> Outcome:
    """Send the statement again where that is harmless, and judge by the token."""
    if may_send_again(unknown, script):
        script.answered.clear()
        connection = write.connect(session, script.columns)
        with write.translating(session, connection, script):
            if write.send(connection, script):
                session.commit()
                return script.won(provisional=False)
    return _judge(session, unknown, script, pickled=False)


def _judge(session: Session, unknown: UnknownOutcome, script: Script, *, pickled: bool) -> Outcome:
    columns = script.columns
    roles = [null() if a is None else a.column for a in (columns.version, columns.token, columns.generation)]
    query = select(*roles).select_from(columns.owner.table).with_for_update()
    for attribute, part in zip(columns.owner.keys, script.identity, strict=True):
        query = query.where(attribute.column == part)
    connection = write.connect(session, columns)
    with write.translating(session, connection, script), own_transaction(connection):
        row = connection.execute(query).one_or_none()
        beats = bool(columns.unversioned)
        settled = by_token(unknown, script, row, pickled=pickled, beats=beats)
        if settled is None:
            settled = script.refused(*diagnose(connection, script))
    return settled


def _columns_named(unknown: UnknownOutcome) -> Columns:
    """Find the class of a pickled error by its name; one that cannot be told from another settles nothing."""
    found: set[type[Any]] = set()
    waiting: list[type[Any]] = [CasVerbsMixin]
    while waiting:
        below = waiting.pop().__subclasses__()
        waiting += below
        found |= {c for c in below if c.__name__ == unknown.model and inspect(c, raiseerr=False) is not None}
    if len(found) != 1:
        raise unknown
    columns = columns_of(found.pop())
    if columns.token is None:
        raise unknown
    return columns
