"""What became of a write whose answer was lost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from sqlalchemy import inspect, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from cas_orm import UNSET, Expect, Outcome, UnknownOutcome, Verdict
from cas_orm.belief import resolve
from cas_orm.facts import Facts
from cas_orm.values import Number
from cas_orm_sqla import write
from cas_orm_sqla.belief import AttributeBelief
from cas_orm_sqla.capabilities import commits_itself
from cas_orm_sqla.columns import Columns, columns_of
from cas_orm_sqla.diagnose import diagnose
from cas_orm_sqla.mixins import CasVerbsMixin
from cas_orm_sqla.script import Script
from cas_orm_sqla.statement import Rises
from cas_orm_sqla.transactions import own_transaction

__all__ = ["asettle", "settle"]


def settle(session_factory: Callable[[], Session], error: BaseException) -> Outcome:
    """Return how an unknown write ended, once and for all.

    A write that believed a version and was sent in AUTOCOMMIT is sent again with the same token, in a
    transaction of its own. Everything else (inside the session's transaction, without a version, an error
    that was pickled) is settled by a locking read of the token.

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
    unknown = _unknown(error)
    with session_factory() as session:
        if not isinstance(session, Session):
            raise TypeError("settle() takes a factory of Session; asettle() one of AsyncSession")
        return _settle(session, unknown)


async def asettle(session_factory: Callable[[], AsyncSession], error: BaseException) -> Outcome:
    """Return how an unknown write ended; see `settle`.

    Raises:
        UnknownOutcome: undecidable, as in `settle`.
        TransientConflict: the engine refused while settling; try again.
        TypeError: another error, or a factory of another kind of session.
    """
    unknown = _unknown(error)
    async with session_factory() as session:
        if not isinstance(session, AsyncSession):
            raise TypeError("asettle() takes a factory of AsyncSession; settle() one of Session")
        return await session.run_sync(_settle, unknown)


def _unknown(error: BaseException) -> UnknownOutcome:
    unknown = getattr(error, "cas_unknown", error)
    if not isinstance(unknown, UnknownOutcome):
        raise TypeError(f"settle() takes an UnknownOutcome, not {type(error).__name__}")
    if unknown.token is None:
        raise unknown
    return unknown


def _settle(session: Session, unknown: UnknownOutcome) -> Outcome:
    script = unknown.inflight if isinstance(unknown.inflight, Script) else None
    columns = script.columns if script is not None else _columns_named(unknown)
    connection = write.connect(session, columns)
    resend = script is not None and script.belief.version is not None and not unknown.in_transaction
    try:
        if resend and script is not None:
            script.answered.clear()
            if write.send(connection, script):
                session.commit()
                return write.won(script, provisional=False)
        return _judge(session, columns, unknown, script)
    except DBAPIError as error:
        failed = script or _read_only(columns, unknown)
        write.raise_translated(session, connection, failed, error, not commits_itself(connection))


def _judge(session: Session, columns: Columns, unknown: UnknownOutcome, script: Script | None) -> Outcome:
    """Decide by the token in the row, read under a lock, behind whatever is still waiting."""
    belief = script.belief if script is not None else _belief(columns, unknown)
    settled = partial(Outcome, model=columns.label, key=unknown.key, expected=Facts(belief.facts()))
    identity = _identity(unknown)
    roles = [a.column for a in (columns.version, columns.token, columns.generation) if a is not None]
    query = select(*roles).with_for_update()
    for attribute, part in zip(columns.owner.keys, identity, strict=True):
        query = query.where(attribute.column == part)
    connection = write.connect(session, columns)
    with own_transaction(connection):
        row = connection.execute(query).one_or_none()
        if row is None:
            raise unknown  # applied and deleted since, or deleted before: the row cannot tell
        version, token = row[0], row[1]
        if token is not None and bytes(token) == unknown.token:
            generation = row[2] if len(row) > 2 else None
            return settled(Verdict.WON, record_version=version, run_seq=generation)
        if belief.version is None or version > belief.version + 1:
            raise unknown  # too far: ours may have been one of the writes in between
        verdict, found = diagnose(connection, columns, identity, belief)
    return settled(verdict, actual=None if found is None else Facts(found))


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


def _identity(unknown: UnknownOutcome) -> tuple[Any, ...]:
    return unknown.key if isinstance(unknown.key, tuple) else (unknown.key,)


def _belief(columns: Columns, unknown: UnknownOutcome) -> AttributeBelief:
    """Return the belief that travelled with a pickled error."""
    values = dict(unknown.expected or {})
    version, generation = (values.pop(role, UNSET) for role in ("record_version", "run_seq"))
    return resolve(columns, Expect.read(cast(Number, version), cast(Number, generation), values), None)


def _read_only(columns: Columns, unknown: UnknownOutcome) -> Script:
    """Return what an error while settling a pickled one is about."""
    return Script(
        columns,
        _identity(unknown),
        _belief(columns, unknown),
        "settle",
        {},
        [],
        Rises(False, False, False),
        unknown.token,
    )
