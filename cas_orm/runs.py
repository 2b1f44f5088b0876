"""What a coordinator works with: a run as a tick sees it, what a tick decides, and where both live."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Final, NoReturn, Protocol, TypeAlias

from cas_orm.checksum import state_checksum
from cas_orm.expect import Expect
from cas_orm.outcome import Outcome
from cas_orm.values import not_one_of
from cas_orm.wakeup import WakeUp

TERMINAL_STATES: Final = ("completed", "failed", "canceled")


def _refuse(self: object, *_: Any, **__: Any) -> NoReturn:
    raise TypeError("a snapshot is frozen: build the next state from a copy, and return it in a Transition")


class FrozenDict(dict[str, Any]):
    """A dict of a snapshot: it compares and serializes as any dict, and cannot be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return (freeze, (dict(self),))

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        return {key: thaw(value) for key, value in self.items()}


class FrozenList(list[Any]):
    """A list of a snapshot: it compares and serializes as any list, and cannot be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return (freeze, (list(self),))

    def __deepcopy__(self, memo: object) -> list[Any]:
        return [thaw(value) for value in self]


def freeze(value: Any) -> Any:
    """Return JSON that cannot be changed, all the way down."""
    if isinstance(value, Mapping):
        return FrozenDict({key: freeze(member) for key, member in value.items()})
    if isinstance(value, list | tuple):
        return FrozenList([freeze(member) for member in value])
    return value


def thaw(value: Any) -> Any:
    """Return a copy of JSON that can be changed."""
    if isinstance(value, Mapping):
        return {key: thaw(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(member) for member in value]
    return value


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """A run as it was loaded: all that a tick may look at. Frozen all the way down; ``copy.deepcopy`` thaws.

    Attributes:
        run_id: which run.
        record_version: what the commit will expect.
        run_seq: the generation.
        status: other actors speak to the run through it; the checksum does not cover it.
        node_states: the state of the workflow's nodes, JSON.
        last_transition_seq: how many ticks have been committed.
        state_checksum: of node states and transition number; empty when never written.
    """

    run_id: str
    record_version: int
    run_seq: int
    status: str
    node_states: Mapping[str, Any]
    last_transition_seq: int
    state_checksum: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "node_states", freeze(self.node_states))

    def checks_out(self) -> bool:
        """Tell whether the state is what was committed; one that was never written cannot tell."""
        return not self.state_checksum or self.state_checksum == checksum_of(
            self.node_states, self.last_transition_seq
        )


def checksum_of(node_states: Mapping[str, Any], last_transition_seq: int) -> str:
    """Return the checksum that a row with this state carries."""
    return state_checksum({"node_states": node_states, "last_transition_seq": last_transition_seq})


@dataclass(frozen=True, slots=True, init=False)
class Transition:
    """What a tick decides: the next status and node states, and whom to wake once it is committed.

    Args:
        status: the next status.
        node_states: the next node states; JSON.
        wakeups: a `WakeUp`, or a pair of one and the seconds after which it is due. Its missing numbers are
            filled with the committed ones where it is for the run itself.

    Raises:
        TypeError: the status is not a text, or the node states are not a JSON object.
        ValueError: an empty status, or a number that JSON does not have.
    """

    status: str
    node_states: Mapping[str, Any]
    wakeups: tuple[tuple[WakeUp, float], ...]

    def __init__(
        self,
        status: str,
        node_states: Mapping[str, Any],
        *,
        wakeups: Iterable[WakeUp | tuple[WakeUp, float]] = (),
    ) -> None:
        if not isinstance(status, str):
            raise TypeError(f"status is a text, not {type(status).__name__}")
        if not status:
            raise ValueError("status is not empty")
        if not isinstance(node_states, Mapping):
            raise TypeError(f"node_states is a JSON object, not {type(node_states).__name__}")
        state_checksum(node_states)  # raises here, in the tick, for what could not be committed
        object.__setattr__(self, "status", status)
        object.__setattr__(self, "node_states", freeze(node_states))
        pairs = tuple((w, 0.0) if isinstance(w, WakeUp) else (w[0], float(w[1])) for w in wakeups)
        object.__setattr__(self, "wakeups", pairs)


#: Pure: a snapshot in, the next state out, or None when there is nothing to do.
Tick: TypeAlias = Callable[[RunSnapshot], Transition | None]


def step_of(snapshot: RunSnapshot, transition: Transition) -> tuple[Expect, dict[str, Any]]:
    """Return what a commit believes, exactly this snapshot, and what it writes besides the clock."""
    seq = snapshot.last_transition_seq + 1
    values = {
        "status": transition.status,
        "node_states": thaw(transition.node_states),
        "last_transition_seq": seq,
        "state_checksum": checksum_of(transition.node_states, seq),
    }
    return Expect(record_version=snapshot.record_version, run_seq=snapshot.run_seq), values


def unmoved(snapshot: RunSnapshot, terminal_states: Iterable[str]) -> Expect:
    """Return what a force-fail believes: not terminal, not moved; the contended version is not compared."""
    return Expect(
        run_seq=snapshot.run_seq,
        last_transition_seq=snapshot.last_transition_seq,
        status=not_one_of(*terminal_states),
    )


class WorkflowOptions:
    """The class options of a workflow run, with what they are when a class says nothing.

    Class options:
        cas_initial_state: the status of a new run.
        cas_terminal_states: the statuses that nothing leaves.
        cas_failed_state: the status of a run that is failed by force.
    """

    cas_initial_state: ClassVar[str] = "pending"
    cas_terminal_states: ClassVar[tuple[str, ...]] = TERMINAL_STATES
    cas_failed_state: ClassVar[str] = "failed"


class Store(Protocol):
    """Where runs live. Written once, in sync; `hop` is the way to it from asyncio."""

    @property
    def terminal_states(self) -> tuple[str, ...]:
        """The statuses that nothing leaves."""
        ...

    @property
    def label(self) -> str:
        """What the runs are called, for messages and metrics."""
        ...

    def load(self, run_id: str) -> RunSnapshot | None:
        """Return the run as it is on the primary, or None."""
        ...

    def commit(self, snapshot: RunSnapshot, transition: Transition) -> Outcome:
        """Write the transition over exactly this snapshot, in a transaction of its own."""
        ...

    def fail(self, snapshot: RunSnapshot, *, reason: str, older_than: timedelta | None = None) -> Outcome:
        """Fail the run, unless it is terminal or has moved; with ``older_than`` only after so long."""
        ...

    def stuck(self, older_than: timedelta) -> list[RunSnapshot]:
        """Return the runs that are not terminal and made no progress for so long, or never noted any."""
        ...

    def hop(self, fn: Callable[..., Any], *args: Any) -> Awaitable[Any]:
        """Call one of the above from asyncio: one hop per transaction."""
        ...


class Queue(Protocol):
    """Where wakeups wait."""

    def send(self, wakeup: WakeUp, *, delay: float = 0.0) -> object:
        """Deliver the wakeup once or more, not before so many seconds; an asynchronous queue awaits."""
        ...
