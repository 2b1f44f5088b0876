"""Ten verbs in any order, on objects and by key, of the generation of now and of old ones, against a model.

Two actors, each with a connection of its own, hold objects that were loaded at different times. After every
call the verdict, the whole row, and what every object shows of it are as the model says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from cas_orm import ConflictError, ErrRecordVersionConflict, Expect, IllegalTransition, Outcome, Verdict
from tests.contract.adapters.base import Api
from tests.core import job_model as model
from tests.core.job_model import Asked, Effect, Seen
from tests.races.actors import Actor
from tests.races.on import on
from tests.races.stage import Stage

#: The times that each verb writes; what they are is not the model's business.
TIMES = {
    "start": {"started_at", "heartbeat_at", "finished_at"},
    "finish": {"finished_at"},
    "heartbeat": {"heartbeat_at"},
    "requeue": {"heartbeat_at", "finished_at"},
}
ALL_TIMES = {"started_at", "heartbeat_at", "finished_at"}
ASKED = (*model.LIFECYCLE_CALLS, *model.OTHER_CALLS)
#: What whoever has the job would do next.
NEXT = {
    "new": [Asked("start", {"owner": "w0"})],
    "busy": [
        Asked("finish", {"state": "ok", "result": "r"}),
        Asked("requeue", {"new_budget": False}),
        Asked("save_status", {"status": {"step": 1}}),
        Asked("heartbeat"),
    ],
    **{
        state: [Asked("requeue", {"new_budget": True}), Asked("finish", {"state": "ok", "result": "r"})]
        for state in model.TERMINAL
    },
}


@dataclass(frozen=True)
class Call:
    """What is called, and on what.

    Attributes:
        asked: the verb and what it is given; None: what comes next in the job's life, as of now.
        keyed: by key, or on an object.
        old: how many generations ago the one is that a call by key, or an update, believes.
        stop: whether a call by key believes that the job has been asked to stop; None when it does not say.
        back: which object, the newest first.
        fenced: whether it may be one that was refused.
    """

    asked: Asked | None
    keyed: bool
    old: int
    stop: bool | None
    back: int
    fenced: bool


CALLS = st.builds(
    Call,
    asked=st.one_of(st.none(), st.sampled_from(ASKED), st.sampled_from(ASKED)),
    keyed=st.booleans(),
    old=st.sampled_from([0, 0, 0, 1, 2]),
    stop=st.sampled_from([None, None, False, True]),
    back=st.integers(0, 5),
    fenced=st.booleans(),
)
#: examples, steps
EFFORT = {"sqlite": (25, 12), "postgres": (8, 12), "mariadb": (8, 12)}


@dataclass(eq=False)
class Held:
    """An object in the hands of an actor, and what the model knows of it."""

    actor: Actor
    obj: Any
    seen: Seen


def arguments(asked: Asked) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call, without what it expects."""
    given = dict(asked.given)
    match asked.verb:
        case "finish":
            return (given.pop("state"), given.pop("result")), given
        case "save_status":
            return (given.pop("status"),), given
        case "update" | "new_generation":
            return (), {"set": given}
        case "save":
            return (), {}
    return (), given


class Machine(RuleBasedStateMachine):
    """One job; the rules are in the model's words."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self.stage = stage
        self.chore = stage.models.Chore
        self.key = stage.insert(self.chore)
        self.row: model.Row | None = model.new_row()
        self.stored = self._stored()
        self.held: list[Held] = []
        self.calls = 0
        for actor in stage.pair:
            self._load(actor)

    def _stored(self) -> dict[str, Any] | None:
        found = self.stage.row(self.chore, self.key)
        return None if found is None else dict(found)

    def _load(self, actor: Actor) -> None:
        assert self.row is not None
        obj = actor.do(actor.api.load, self.chore, self.key)
        self.held.append(Held(actor, obj, Seen.of(self.row)))

    # -- rules ---------------------------------------------------------------------------------------------

    @rule(calls=st.lists(CALLS, min_size=4, max_size=8))
    def call(self, calls: list[Call]) -> None:
        """Call some verbs, by key and on objects."""
        for call in calls:
            if call.asked is None:
                self._next(call)
            elif call.keyed or not self.held:
                self._by_key(call.asked, call)
            else:
                self._on_object(call.asked, call, self._pick(call.back, call.fenced))

    @precondition(lambda self: self.row is not None)
    @rule(back=st.integers(0, 5), again=st.booleans())
    def look(self, back: int, again: bool) -> None:
        """Load one object more, or read one again, which lifts its fence."""
        if not again or not self.held:
            self._load(self.stage.pair[back % 2])
            return
        held = self._pick(back, fenced=True)
        held.actor.do(held.actor.api.reload, held.obj)
        assert self.row is not None
        held.seen = Seen.of(self.row)

    @precondition(lambda self: self.calls > 15)
    @rule(call=st.builds(replace, CALLS, asked=st.just(Asked("delete"))))
    def delete(self, call: Call) -> None:
        """Delete, by key or on an object; late, because little happens afterwards."""
        self.call([call])

    def teardown(self) -> None:
        """Let every object go."""
        self.held.clear()

    # -- calls ---------------------------------------------------------------------------------------------

    def _pick(self, back: int, fenced: bool) -> Held:
        """Return one of the objects, the newest first; only one that was not refused, if there is one."""
        usable = self.held if fenced else [held for held in self.held if held.seen.fence is None] or self.held
        return usable[max(-1 - back, -len(usable))]

    def _generation(self, old: int) -> int:
        return max(0, (0 if self.row is None else self.row["run_seq"]) - old)

    def _next(self, call: Call) -> None:
        """Go on with the job's life: by key, or on an object of this generation, perhaps of this version."""
        if self.row is None:
            return
        choice = NEXT[self.row["state"]]
        asked, call = choice[call.back % len(choice)], replace(call, old=0, stop=None)
        if call.keyed:
            self._by_key(asked, call)
            return
        generation = self.row["run_seq"]
        near = [h for h in self.held if h.seen.run_seq == generation and h.seen.fence is None]
        fresh = near if call.fenced else [h for h in near if h.seen == Seen.of(self.row)]
        if not fresh:
            self._load(self.stage.pair[call.back % 2])
        self._on_object(asked, call, fresh[-1] if fresh else self.held[-1])

    def _by_key(self, asked: Asked, call: Call) -> None:
        actor = self.stage.pair[call.back % 2]
        numbers = {"run_seq": self._generation(call.old)}
        believed = {} if call.stop is None else {"action": "stop" if call.stop else "start"}
        if asked.verb == "save":  # there is none by key
            asked = Asked("update", asked.given)
        positional, options = arguments(asked)

        async def send(api: Api) -> Outcome:
            expect = Expect(**numbers, **believed)
            verb = f"try_{asked.verb}_if_current"
            return await api.by_key(verb, self.chore, self.key, *positional, expect=expect, **options)

        also = {name: (value,) for name, value in believed.items()}
        self._check(asked, lambda: actor.do(send, actor.api), None, numbers, also)

    def _on_object(self, asked: Asked, call: Call, held: Held) -> None:
        numbers = held.seen.numbers(asked.verb)
        positional, options = arguments(asked)
        if asked.verb == "update":
            numbers = {"run_seq": self._generation(call.old)}
            options["expect"] = Expect(**numbers)

        async def send(api: Api) -> Outcome:
            if asked.verb == "save":
                for name, value in asked.given.items():
                    setattr(held.obj, name, value)
            return await api.on_object(f"try_{asked.verb}_if_current", held.obj, *positional, **options)

        self._check(asked, lambda: held.actor.do(send, held.actor.api), held, numbers, {})

    def _check(
        self,
        asked: Asked,
        call: Callable[[], Outcome],
        held: Held | None,
        numbers: dict[str, int],
        also: dict[str, tuple[object, ...]],
    ) -> None:
        """Make the call, and compare how it ended, the row, and the objects with the model."""
        self.calls += 1
        foretold, does = self._foretell(asked, held, numbers, also)
        told, outcome = self._told(call)
        assert told == foretold, (told, foretold)
        won = told is Verdict.WON
        before = self.row
        if won:
            assert before is not None
            self.row = model.applied(before, does)
        self._check_row(asked, won)
        if outcome is not None and outcome and self.row is not None:
            assert (outcome.record_version, outcome.run_seq) == (
                self.row["record_version"],
                self.row["run_seq"],
            )
        if held is not None and isinstance(foretold, Verdict):
            held.seen.told(foretold, does, self.row)
            if does.removes and won:
                self.held.remove(held)
        for each in self.held:
            self._check_object(each)

    def _told(self, call: Callable[[], Outcome]) -> tuple[object, Outcome | None]:
        """Make the call; return how it ended, in the model's words, and the outcome if there is one."""
        try:
            outcome = call()
        except IllegalTransition:
            return "illegal", None
        except ErrRecordVersionConflict as error:
            return f"{'fenced' if error.fenced else 'not fenced'} {Verdict.STALE}", None
        except ConflictError as error:
            return f"{'fenced' if error.fenced else 'not fenced'} {error.verdict}", None
        return outcome.verdict, outcome

    def _foretell(
        self, asked: Asked, held: Held | None, numbers: dict[str, int], also: dict[str, tuple[object, ...]]
    ) -> tuple[object, Effect]:
        nothing = Effect({}, {})
        if held is not None and held.seen.fence is not None:
            return f"fenced {held.seen.fence}", nothing
        try:
            does = model.effect(asked, None if held is None else vars(held.seen))
        except model.Illegal:
            return "illegal", nothing
        if held is not None and held.seen.doubt and asked.verb in model.COMPARE_VERSION:
            return f"fenced {Verdict.STALE}", nothing
        does = Effect(**{**vars(does), "believes": {**does.believes, **also}})
        return model.verdict(self.row, does, numbers), does

    def _check_row(self, asked: Asked, won: bool) -> None:
        """Compare the row with the model's; what a call is not about stays as it was, to the last column."""
        before, self.stored = self.stored, self._stored()
        if not won:
            assert self.stored == before
            return
        if self.row is None:
            assert self.stored is None
            return
        assert before is not None
        assert self.stored is not None
        assert {name: self.stored[name] for name in self.row} == self.row
        assert self.stored["write_token"] != before["write_token"]
        for name in ALL_TIMES - TIMES.get(asked.verb, set()):
            assert self.stored[name] == before[name], name

    def _check_object(self, held: Held) -> None:
        """See that an object shows its numbers, and, when it is in step, nothing that the row has not."""
        shown, seen = held.obj.__dict__, held.seen
        assert shown.get("run_seq", seen.run_seq) == seen.run_seq
        if seen.fence is None and not seen.doubt:
            assert shown.get("record_version", seen.record_version) == seen.record_version
        else:
            return
        if self.stored is None or seen.record_version != self.stored["record_version"]:
            return
        for name, value in self.stored.items():
            if name in shown and name not in ("heartbeat_at", "write_token"):
                assert shown[name] == value, name


@on("sqlite", "postgres", "mariadb")
def test_ten_verbs_in_any_order(stage: Stage, sqla_door: str) -> None:
    """Every verb of an old generation is superseded and changes no column; the others are the model's."""
    examples, steps = EFFORT[sqla_door]
    run_state_machine_as_test(  # type: ignore[no-untyped-call]  # hypothesis does not say
        lambda: Machine(stage),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )
