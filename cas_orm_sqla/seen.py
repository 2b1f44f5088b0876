"""What an object last saw of its row, and so believes: committed values, pending changes aside."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import InstanceState
from sqlalchemy.orm.base import NO_VALUE

from cas_orm import UNSET, Expect, InvalidExpectation, MissingExpectation
from cas_orm.belief import Belief, exact, resolve
from cas_orm_sqla import memory
from cas_orm_sqla.belief import AttributeBelief, Where, believable, check_where
from cas_orm_sqla.columns import Attribute, Columns, columns_of
from cas_orm_sqla.kinds import is_expression


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
        known = _roles(columns).get(name)
        if known is not None:
            role, attribute = known
            value: object = number(state, attribute, role)
            if role == "record_version" and doubtful:
                value = None
        else:
            attribute = believable(columns, name)
            role = attribute.key
            value = committed(state, attribute.key)
        if value is NO_VALUE or (known is not None and value is None):
            raise MissingExpectation(f"{columns.label}.{name} was not loaded [cas-no-expectation]")
        values[role] = value
    return values


def _roles(columns: Columns) -> dict[str, tuple[str, Attribute]]:
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


def differs(attribute: Attribute, before: object, now: object) -> bool:
    """Tell whether an assigned attribute has another value than before, as its type compares them."""
    if before is NO_VALUE or is_expression(now):
        return True
    return not attribute.column.type.compare_values(before, now)


def number(state: InstanceState[Any], attribute: Attribute, role: str) -> Any:
    """Return the version or generation as last seen, the attribute itself or what is remembered of it."""
    key = attribute.key
    if pending(state, key):
        raise InvalidExpectation(
            f"{key} is written by the library alone; name another one in expect= [cas-invalid-expectation]"
        )
    loaded = state.dict
    if key in loaded:
        return loaded[key]
    remembered = memory.recall(state)
    if remembered is None:
        return None
    return remembered.version if role == "record_version" else remembered.generation


def see(state: InstanceState[Any], columns: Columns) -> memory.Memory:
    """Keep the loaded numbers as the last-seen ones; return the memory that they are kept in."""
    remembered = memory.remember(state)
    loaded, key = state.dict, columns.version_name
    version = loaded.get(key)
    if version is not None and not pending(state, key):
        remembered.version = version
        generation = columns.generation_name
        if generation is not None and generation in loaded:
            remembered.generation = loaded[generation]
        if columns.is_job:
            remembered.job = job_of(state)
    return remembered


def job_of(state: InstanceState[Any]) -> dict[str, object]:
    """Return a job's state and action as last seen: committed, or remembered where they are expired."""
    remembered = memory.recall(state)
    known = dict(remembered.job) if remembered is not None else {}
    loaded = {name: committed(state, name) for name in ("state", "action")}
    return known | {name: value for name, value in loaded.items() if value is not NO_VALUE}


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
    last = number(state, columns.version, "record_version")
    if version and not explicit:
        if last is None:
            raise MissingExpectation(
                f"{columns.label}: the version was never seen, so there is nothing to compare; refresh the "
                "object [cas-no-expectation]"
            )
        belief.version = exact("record_version", last, columns.version_maximum)
    maximum = columns.generation_maximum
    if columns.generation is not None and maximum is not None:
        generation = number(state, columns.generation, "run_seq")
        if generation is not None and (expect is None or expect.run_seq is UNSET):
            belief.generation = exact("run_seq", generation, maximum)
    return resolve(columns, expect, where, belief)
