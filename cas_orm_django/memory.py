"""What an object knows about its row: refused before, version unknown, or won in a transaction still open.

Kept in ``obj._state`` and only when there is something to keep: a freshly loaded object carries nothing.

An outer rollback undoes a write that had won, and Django has no hook for it. So a win inside a transaction
leaves a `Mark`, tied to a callback in ``connection.run_on_commit``: the callback ran = committed; it is
gone = rolled back (Django drops the callbacks of a rolled-back savepoint or transaction); it is still
waiting = open. Whoever uses the object next looks at its marks first (ADR 0015).
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Final

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from cas_orm import Outcome
from cas_orm import memory as core

if TYPE_CHECKING:
    from cas_orm_django.parked import Parked

ABSENT: Final = object()
_SLOT: Final = "_cas_memory"
_ADDING: Final = "_state.adding"


class Fate:
    """How the transaction, or savepoint, around some writes ended. Shared by all its objects."""

    __slots__ = ("__weakref__", "callback", "committed")

    def __init__(self) -> None:
        self.committed = False
        self.callback: weakref.ref[_Commit] | None = None

    def __deepcopy__(self, memo: object) -> Fate:
        return self

    @property
    def rolled_back(self) -> bool:
        """Whether the callback is gone without having run."""
        return not self.committed and (self.callback is None or self.callback() is None)


class _Commit:
    """The callback that Django runs after the commit, and forgets at a rollback."""

    __slots__ = ("__weakref__", "fate")

    def __init__(self, fate: Fate) -> None:
        self.fate = fate
        fate.callback = weakref.ref(self)

    def __call__(self) -> None:
        self.fate.committed = True


def fate_of(connection: BaseDatabaseWrapper) -> Fate | None:
    """Return the fate of the transaction that is open now; None in autocommit.

    The callback goes first, so that a failing hook of somebody else cannot drop it; in Django's TestCase,
    which counts the captured hooks from the end, it goes last.
    """
    if not connection.in_atomic_block:
        return None
    savepoints = set(connection.savepoint_ids)
    hooks: list[Any] = connection.run_on_commit
    for known, hook, _ in (*hooks[:1], *hooks[-1:]):
        if isinstance(hook, _Commit) and known == savepoints:
            return hook.fate
    fate = Fate()
    first = len(hooks) if _in_test_case(connection) else 0
    hooks.insert(first, (savepoints, _Commit(fate), True))
    return fate


def _in_test_case(connection: BaseDatabaseWrapper) -> bool:
    """Tell whether Django's TestCase holds the outermost block, and will roll it back."""
    return any(getattr(block, "_from_testcase", False) for block in connection.atomic_blocks)


class Snapshot:
    """The attributes that a write is about to change, as they were."""

    __slots__ = ("adding", "db", "doubt", "values")

    def __init__(self, obj: models.Model, attnames: tuple[str, ...]) -> None:
        memory = recall(obj)
        self.values = {name: obj.__dict__.get(name, ABSENT) for name in attnames}
        self.adding = obj._state.adding
        self.db = obj._state.db
        self.doubt = memory.doubt if memory is not None else None

    def restore(self, obj: models.Model, only_if: dict[str, object] | None = None) -> None:
        """Put the values back; with `only_if`, those that still are what the write left."""
        for name, value in self.values.items():
            if only_if is not None and obj.__dict__.get(name, ABSENT) != only_if.get(name, ABSENT):
                continue
            if value is ABSENT:
                obj.__dict__.pop(name, None)
            else:
                obj.__dict__[name] = value
        for link in obj._meta.parents.values():
            if link is not None and link.is_cached(obj):
                link.delete_cached_value(obj)  # its key went with the row
        if only_if is None or obj._state.adding == only_if.get(_ADDING):
            obj._state.adding = self.adding
            obj._state.db = self.db


class Mark:
    """One object's writes in one transaction: what it was before them, what it was after."""

    __slots__ = ("after", "before", "fate")

    def __init__(self, fate: Fate, before: Snapshot) -> None:
        self.fate = fate
        self.before = before
        self.after: dict[str, object] = {}


class Memory(core.Memory):
    """What one object remembers: its refusals, and what the ORM may still undo.

    Attributes:
        marks: open transactions in which the object has won, oldest first.
        parked: the belief on its way through the user's own save() or delete().
    """

    __slots__ = ("marks", "parked")

    def __init__(self, fence: Outcome | None = None, doubt: Outcome | None = None) -> None:
        super().__init__(fence, doubt)
        self.marks: list[Mark] = []
        self.parked: Parked | None = None

    def copied(self) -> Memory:
        """Return what a copy or a pickle of the object keeps: no marks, no parked belief."""
        return Memory(self.fence, self.doubt)


def recall(obj: models.Model) -> Memory | None:
    """Return the object's memory, if it has any."""
    return obj._state.__dict__.get(_SLOT)


def remember(obj: models.Model) -> Memory:
    """Return the object's memory, made if needed."""
    memory = recall(obj)
    if memory is None:
        memory = obj._state.__dict__[_SLOT] = Memory()
    return memory


def settle_marks(obj: models.Model) -> Memory | None:
    """Undo in memory what an outer rollback has undone in the database; forget what is committed."""
    memory = recall(obj)
    if memory is None or not memory.marks:
        return memory
    marks = memory.marks
    dead = next((i for i, mark in enumerate(marks) if mark.fate.rolled_back), None)
    if dead is not None:
        marks[dead].before.restore(obj, only_if=marks[-1].after)
        memory.doubt = marks[dead].before.doubt
        del marks[dead:]
    memory.marks = [mark for mark in marks if not mark.fate.committed]
    return memory


def mark_won(obj: models.Model, connection: BaseDatabaseWrapper, before: Snapshot) -> None:
    """Remember a win that an outer rollback would undo. In autocommit there is nothing to remember."""
    fate = fate_of(connection)
    if fate is None:
        return
    marks = remember(obj).marks
    if not marks or marks[-1].fate is not fate:
        marks.append(Mark(fate, before))
    mark = marks[-1]
    for name, value in before.values.items():
        mark.before.values.setdefault(name, value)
        mark.after[name] = obj.__dict__.get(name, ABSENT)
    mark.after[_ADDING] = obj._state.adding


def start_again(obj: models.Model) -> None:
    """Forget another row's past: the object is about to be inserted as a new one."""
    obj._state.__dict__.pop(_SLOT, None)


def state_for_copy(state: dict[str, Any]) -> dict[str, Any]:
    """Give a copy or a pickle its own memory. ``state`` is what ``Model.__getstate__`` returned."""
    memory = state["_state"].__dict__.get(_SLOT)
    if memory is not None:
        state["_state"].__dict__[_SLOT] = memory.copied()
    return state
