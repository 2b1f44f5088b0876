"""What an object remembers across expiry: its last-seen numbers, its refusals.

It is kept in ``InstanceState.info``.

An expired version loads itself at flush time and is compared with itself, so that a write in between would
go unnoticed. So the numbers that the program last saw are kept: at every commit, and whenever a write of
ours wins. A rollback puts back what was seen before the transaction or savepoint.

A commit comes by every loaded object, most of which nobody will write. So it only notes their numbers on
the state, and the first to ask for an object's memory finds them there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sqlalchemy.orm import InstanceState, Session, SessionTransaction
from sqlalchemy.orm.attributes import instance_state

from cas_orm import Outcome
from cas_orm import memory as core

_SLOT: Final = "cas_orm"
_NOTED: Final = "cas_orm_seen"
_MARKS: Final = "cas_orm_marks"


class Memory(core.Memory):
    """What one object remembers.

    Attributes:
        version, generation: the numbers last seen, for when the attributes are expired.
        job: a job's state and action as last seen, likewise.
    """

    __slots__ = ("generation", "job", "version")

    def __init__(self, fence: Outcome | None = None, doubt: Outcome | None = None) -> None:
        self.fence, self.doubt = fence, doubt
        self.version: int | None = None
        self.generation: int | None = None
        self.job: Mapping[str, object] = {}


class Mark:
    """What one object had seen before it won in a transaction, and what that win wrote."""

    __slots__ = ("doubt", "generation", "job", "keys", "version")

    def __init__(self, memory: Memory) -> None:
        self.version, self.generation, self.doubt = memory.version, memory.generation, memory.doubt
        self.job = memory.job
        self.keys: set[str] = set()


Marks = dict[InstanceState[Any], Mark]
#: The attributes that are version and generation of a class, and what else is remembered of a job.
Keys = tuple[str, str | None, tuple[str, ...]]


def state_of(obj: object) -> InstanceState[Any]:
    """Return the ORM's state of an object that is mapped."""
    return instance_state(obj)


def note(states: Iterable[Any], keys: Mapping[type[Any], Keys]) -> None:
    """Note the loaded numbers of these objects as the last-seen ones; classes without keys are passed over.

    It runs at every commit, for every loaded object: a quarter of a microsecond each.
    """
    for state in states:
        of_class = keys.get(state.class_)
        obj = None if of_class is None else state.obj()
        if obj is not None:
            loaded = obj.__dict__
            version = loaded.get(of_class[0])  # type: ignore[index]  # obj is None without it
            if version is not None:
                _, generation, job = of_class  # type: ignore[misc]
                rest = {name: loaded[name] for name in job if name in loaded} if job else None
                state.cas_orm_seen = (version, loaded.get(generation), rest)


def recall(state: InstanceState[Any]) -> Memory | None:
    """Return the object's memory, if it has any."""
    memory: Memory | None = state.info.get(_SLOT)
    noted: tuple[int, int | None, dict[str, object] | None] | None = getattr(state, _NOTED, None)
    if noted is None:
        return memory
    delattr(state, _NOTED)
    if memory is None:
        memory = state.info[_SLOT] = Memory()
    memory.version = noted[0]
    if noted[1] is not None:
        memory.generation = noted[1]
    if noted[2]:
        memory.job = {**memory.job, **noted[2]}
    return memory


def remember(state: InstanceState[Any]) -> Memory:
    """Return the object's memory, made if needed."""
    memory = recall(state)
    if memory is None:
        memory = state.info[_SLOT] = Memory()
    return memory


def mark(session: Session, state: InstanceState[Any]) -> Mark | None:
    """Return the object's mark in the transaction that is open now, made if needed."""
    transaction = session.get_nested_transaction() or session.get_transaction()
    if transaction is None:
        return None
    marks: dict[SessionTransaction, Marks] = session.info.setdefault(_MARKS, {})
    of_transaction = marks.setdefault(transaction, {})
    made = of_transaction.get(state)
    if made is None:
        made = of_transaction[state] = Mark(remember(state))
    return made


def take_marks(session: Session, transaction: SessionTransaction) -> Marks:
    """Take the marks of a transaction that has ended."""
    marks: dict[SessionTransaction, Marks] = session.info.get(_MARKS, {})
    return marks.pop(transaction, {})


def hand_on(session: Session, marks: Marks, parent: SessionTransaction) -> None:
    """Give the marks of a released savepoint to the transaction around it, which may still be undone."""
    all_marks: dict[SessionTransaction, Marks] = session.info.setdefault(_MARKS, {})
    of_parent = all_marks.setdefault(parent, {})
    for state, made in marks.items():
        kept = of_parent.setdefault(state, made)
        kept.keys |= made.keys
