"""What is given to ``merge``: changes are compared with the row that they were made to, or they are refused.

SQLAlchemy compares the version of the given object with the row's, if the given object has one. If it has
none, the newest version wins: whatever was written in between is overwritten. No event tells of a merge, so
only `CasSession` can refuse it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import InstanceState, Session
from sqlalchemy.orm.attributes import set_committed_value

from cas_orm import MissingExpectation, Verdict
from cas_orm.belief import Belief
from cas_orm_sqla import memory
from cas_orm_sqla.columns import Columns, columns_of
from cas_orm_sqla.kinds import is_expression
from cas_orm_sqla.stale import as_stale, key_of


def check_merge(session: Session, instance: object) -> list[object]:
    """Demand a version of everything of ours that a merge of this object would write to an existing row.

    An expired version becomes the last-seen one, so that it is compared.

    Returns:
        The session's own objects of those rows: while they are held, the merge does not load them again.

    Raises:
        ConflictError: an object was refused before, or lost track of its version; ``fenced``. Or its row is
            gone: what was stored once is not inserted again.
        MissingExpectation: an object has no version, and would change its row.
    """
    return [_check(session, given) for given in given_with(session, instance)]


def given_with(session: Session, instance: object) -> list[InstanceState[Any]]:
    """Return what is ours of an object and all that its merge takes along, the session's own aside."""
    state = memory.state_of(instance)
    states = [state, *(found[2] for found in state.mapper.cascade_iterator("merge", state))]
    return [s for s in states if hasattr(s.class_, "__cas_seen__") and s.session is not session]


def _check(session: Session, given: InstanceState[Any]) -> object | None:
    columns, remembered = columns_of(given.class_), memory.recall(given)
    key = key_of(columns, given)
    row = None if None in key else _row(session, columns, key)
    if None in key or (row is not None and not _changes(columns, given, row)):
        return row
    if remembered is not None:
        remembered.check_fence()
        remembered.check_version_known()
    version = given.dict.get(columns.version.key)
    if version is None and remembered is not None:
        version = remembered.version
    if row is None:
        if given.key is None and version is None:
            return None
        raise as_stale(columns, key, Belief(version), Verdict.MISSING, None)
    if version is None:
        raise MissingExpectation(
            f"{columns.label}: the row exists, and what would be merged into it has no version to compare; "
            "load the object and change that [cas-no-expectation]"
        )
    if given.dict.get(columns.version.key) is None:
        set_committed_value(given.obj(), columns.version.key, version)
    return row


def _row(session: Session, columns: Columns, key: tuple[Any, ...]) -> object | None:
    """Return the session's own object of the row; the merge that follows finds it loaded."""
    found: object | None = session.get(columns.mapper.class_, key)
    if found is not None:
        getattr(found, columns.version.key)  # an expired version would not be compared
    return found


def _changes(columns: Columns, given: InstanceState[Any], row: object) -> bool:
    """Tell whether the merge would change the row: every loaded value is merged, old ones, too."""
    if any(key in given.dict for key in columns.many_to_one):
        return True
    for key, attribute in columns.writable.items():
        if key in given.dict:
            value = given.dict[key]
            if is_expression(value) or not attribute.column.type.compare_values(value, getattr(row, key)):
                return True
    return False
