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

from cas_orm import Outcome, Verdict
from cas_orm import memory as core
from cas_orm_django.transactions import in_transaction

if TYPE_CHECKING:
    from cas_orm_django.parked import Parked

ABSENT: Final = object()
_SLOT: Final = "_cas_memory"
_ADDING: Final = "_state.adding"


class Fate:
    """How the transaction, or savepoint, around some writes ended. Shared by all its objects.

    Attributes:
        committed: the callback ran.
        sure: whether a callback that is gone means a rollback. With autocommit off Django forgets it at a
            later rollback, too, after a commit by hand; only a savepoint's is certain then.
    """

    __slots__ = ("__weakref__", "_connection", "callback", "committed", "sure")

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._connection = connection
        self.committed = False
        self.sure = connection.in_atomic_block and connection.commit_on_exit
        self.callback: weakref.ref[_Commit] | None = None

    def forgotten(self, _: object) -> None:
        """Note, while Django forgets the callback, whether it is a block's savepoint that rolls back."""
        self.sure = self.sure or self._connection.in_atomic_block

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
        fate.callback = weakref.ref(self, fate.forgotten)

    def __call__(self) -> None:
        self.fate.committed = True


def fate_of(connection: BaseDatabaseWrapper) -> Fate | None:
    """Return the fate of the transaction that is open now; None in autocommit.

    The callback goes first, so that a failing hook of somebody else cannot drop it; in Django's TestCase,
    which counts the captured hooks from the end, it goes last.
    """
    if not in_transaction(connection):
        return None
    savepoints = set(connection.savepoint_ids)
    hooks: list[Any] = connection.run_on_commit
    for known, hook, _ in (*hooks[:1], *hooks[-1:]):
        if isinstance(hook, _Commit) and known == savepoints:
            return hook.fate
    fate = Fate(connection)
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
        links: list[Any] = [link for link in obj._meta.parents.values() if link is not None]
        for link in links:
            if link.is_cached(obj):
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

    def copied(self) -> Mark:
        """Return the mark of a copy of the object."""
        copy = Mark(self.fate, self.before)
        copy.after = dict(self.after)
        return copy


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
        """Return what a copy of the object keeps: everything but the parked belief."""
        copy = Memory(self.fence, self.doubt)
        copy.marks = [mark.copied() for mark in self.marks]
        return copy

    def __deepcopy__(self, memo: object) -> Memory:
        return self.copied()

    def __reduce__(self) -> tuple[object, ...]:
        return (Memory, (self.fence, self.doubt))  # a pickle outlives the transaction: no marks


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
    last = marks[-1].fate
    if not last.committed and not last.rolled_back:
        return memory  # a savepoint takes the newest marks with it: while the last one is open, all are
    dead = next((i for i, mark in enumerate(marks) if mark.fate.rolled_back), None)
    if dead is not None and marks[dead].fate.sure:
        memory.doubt = marks[dead].before.doubt
        _undo(obj, marks[dead:])
        del marks[dead:]
    elif dead is not None:  # autocommit off, no atomic(): committed or rolled back, nobody knows
        for name, value in marks[dead].before.values.items():
            if obj.__dict__.get(name) is None and value not in (None, ABSENT):
                obj.__dict__[name] = value  # a key that a delete took away: the row may be there
        memory.lose_track(Outcome(Verdict.UNDIAGNOSED, obj._meta.label, obj.pk), None)
        del marks[dead:]
    memory.marks = [mark for mark in marks if not mark.fate.committed]
    return memory


def _undo(obj: models.Model, marks: list[Mark]) -> None:
    """Put back what these writes have changed: each may have changed other attributes than the first."""
    before, after = marks[0].before, dict(marks[0].after)
    for mark in marks[1:]:
        before.values = {**mark.before.values, **before.values}
        after |= mark.after
    before.restore(obj, only_if=after)


def has_written(connection: BaseDatabaseWrapper) -> bool:
    """Tell whether the transaction that is open now has written through the library."""
    return any(isinstance(hook[1], _Commit) for hook in connection.run_on_commit)


def mark_won(
    obj: models.Model, connection: BaseDatabaseWrapper, before: Snapshot, position: int | None = None
) -> None:
    """Remember a win that an outer rollback would undo. In autocommit there is nothing to remember.

    Args:
        obj: the object, already in step.
        connection: the one that wrote.
        before: the object as it was.
        position: how many marks there were before the write, when signal handlers may have written since.
    """
    fate = fate_of(connection)
    if fate is None:
        return
    marks = remember(obj).marks
    since = marks[-1:] if position is None else marks[position : position + 1]
    if since and since[0].fate is fate:
        mark = since[0]
        if position is not None:
            mark.before = before
    else:
        mark = Mark(fate, before)
        marks.insert(len(marks) if position is None else position, mark)
    for name, value in before.values.items():
        mark.before.values.setdefault(name, value)
        marks[-1].after[name] = obj.__dict__.get(name, ABSENT)
    marks[-1].after[_ADDING] = obj._state.adding


def start_again(obj: models.Model) -> None:
    """Forget another row's past: the object is about to be inserted as a new one."""
    memory = recall(obj)
    if memory is not None:
        memory.reloaded()


def state_for_copy(state: dict[str, Any]) -> dict[str, Any]:
    """Give a copy or a pickle its own memory. ``state`` is what ``Model.__getstate__`` returned."""
    memory = state["_state"].__dict__.get(_SLOT)
    if memory is not None:
        state["_state"].__dict__[_SLOT] = memory.copied()
    return state
