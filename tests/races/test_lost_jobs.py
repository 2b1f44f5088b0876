"""A job's worker lost its connection in flight: it finds out what became of its verb."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections
from sqlalchemy.ext.asyncio import async_sessionmaker
from sqlalchemy.orm import sessionmaker

import cas_orm_django
import cas_orm_sqla
from cas_orm import Expect, Outcome, UnknownOutcome, Verdict
from tests.contract.adapters.base import Api
from tests.contract.adapters.django import DjangoApi
from tests.races.actors import Actor, DjangoActor, actors
from tests.races.actors_sqla import SqlaActor, open_door
from tests.races.on import SERVERS, on
from tests.races.proxy import Proxy
from tests.races.stage import SEATS, Stage, seated

#: verb -> its arguments, the state that it starts from, and whether it may be sent again
VERBS: dict[str, tuple[tuple[Any, ...], str, bool]] = {
    "start": ((), "new", True),
    "finish": (("ok", "r"), "busy", True),
    "requeue": ((), "busy", True),
    "save_status": (({"step": 1},), "busy", False),
    "heartbeat": ((), "busy", False),
    "save": ((), "busy", True),
}
BY_GENERATION = ("start", "finish", "requeue")


@pytest.fixture(params=SEATS)
def far(request: pytest.FixtureRequest, door: str, sqla_door: str, between: Proxy) -> Iterator[Stage]:
    """Yield a stage whose late actor reaches the server through the proxy."""
    adapter, colour = request.param.split("-")
    made = None
    if adapter == "django":
        late: Actor = DjangoActor(door, colour)

        def detour() -> None:
            connection = connections[door]
            connection.close()
            connection.settings_dict = {**connection.settings_dict, "PORT": between.port}

        late.do(detour)
    else:
        made = open_door(sqla_door, port=between.port)
        late = SqlaActor(sqla_door, door, colour, made)
    with actors(seated(request.param, sqla_door, door), late, seated(request.param, sqla_door, door)) as cast:
        yield Stage(*cast)
    if made is not None:
        made.sync.dispose()


def loaded(far: Stage, verb: str) -> tuple[Any, Any]:
    """Return the key of a job that is ready for the verb, and the late actor's object of it.

    The late actor does the verb to another job first: some drivers ask the server about a statement that is
    new to them, and that answer is not the one that shall get lost.
    """
    warm, far_api = ready(far, verb), far.late.api
    far.late.do(on_object, far_api, verb, far.late.do(far_api.load, far.models.Chore, warm))
    key = ready(far, verb)
    return key, far.late.do(far_api.load, far.models.Chore, key)


def ready(far: Stage, verb: str, model: Any = None) -> Any:
    """Return the key of a new job in the state that the verb starts from."""
    model = model or far.models.Chore
    key = far.insert(model)
    if VERBS[verb][1] == "busy":
        far.witness.do(called, far.witness.api, "start", model, key, 0)
    return key


async def on_object(api: Api, verb: str, obj: Any) -> Outcome:
    """Call a verb on an object; a save has something to save."""
    if verb == "save":
        obj.name = "mine"
    return await api.on_object(f"{verb}_if_current", obj, *VERBS[verb][0])


async def called(api: Api, verb: str, model: Any, key: Any, run_seq: int, *arguments: Any) -> Outcome:
    """Call a verb by key."""
    return await api.by_key(f"try_{verb}_if_current", model, key, *arguments, expect=Expect(run_seq=run_seq))


def lose(far: Stage, between: Proxy, verb: str, obj: Any, *, applied: bool) -> UnknownOutcome:
    """Call the verb on the object; its answer, or the statement itself, gets lost."""
    late = far.late
    late.do(late.api.row, type(obj), late.do(late.api.key, obj))  # so that it is connected
    if applied:
        between.swallow.set()
    else:
        between.cut()

    error = late.fails(on_object, late.api, verb, obj)
    between.swallow.clear()
    assert isinstance(error, UnknownOutcome), error
    assert not error.in_transaction
    return error


def settled(far: Stage, error: UnknownOutcome) -> Outcome:
    """Settle on another connection than the one that was lost."""
    witness = far.witness
    api: Any = witness.api
    if isinstance(api, DjangoApi):
        settle = cas_orm_django.settle if api.colour == "sync" else cas_orm_django.asettle
        outcome = witness.do(settle, error)
    elif api.colour == "sync":
        outcome = cas_orm_sqla.settle(sessionmaker(api.engines.sync), error)
    else:
        outcome = asyncio.run(cas_orm_sqla.asettle(async_sessionmaker(api.engines.asynchronous), error))
    assert isinstance(outcome, Outcome)
    return outcome


@pytest.mark.parametrize("verb", VERBS)
@on(*SERVERS)
def test_the_answer_was_lost(far: Stage, between: Proxy, verb: str) -> None:
    """The verb was applied: won, with the row's numbers, and nothing was written twice."""
    key, obj = loaded(far, verb)
    error = lose(far, between, verb, obj, applied=True)
    before = far.row(far.models.Chore, key)
    outcome = settled(far, error)
    assert (outcome.verdict, outcome.verb) == (Verdict.WON, verb)
    assert (outcome.record_version, outcome.run_seq) == (before["record_version"], before["run_seq"])
    assert far.row(far.models.Chore, key) == before


@pytest.mark.parametrize("verb", VERBS)
@on(*SERVERS)
def test_the_statement_was_lost(far: Stage, between: Proxy, verb: str) -> None:
    """A hand-over and a finish are sent again, and won now; what could match twice stays unknown."""
    key, obj = loaded(far, verb)
    before = far.row(far.models.Chore, key)
    error = lose(far, between, verb, obj, applied=False)
    if not VERBS[verb][2]:
        with pytest.raises(UnknownOutcome):
            settled(far, error)
        assert far.row(far.models.Chore, key) == before
        return
    outcome = settled(far, error)
    row = far.row(far.models.Chore, key)
    assert outcome.verdict is Verdict.WON
    assert (outcome.record_version, outcome.run_seq) == (row["record_version"], row["run_seq"])
    assert row["record_version"] == before["record_version"] + 1
    assert row["run_seq"] == before["run_seq"] + (verb in ("start", "requeue"))
    assert row["attempts"] == 1


@pytest.mark.parametrize("verb", BY_GENERATION)
@on("postgres")
def test_the_row_was_handed_on_since(far: Stage, between: Proxy, verb: str) -> None:
    """The generation has moved, by our hand or another's: nobody can tell, and nothing is written."""
    key, obj = loaded(far, verb)
    error = lose(far, between, verb, obj, applied=False)
    rival = "start" if verb == "start" else "requeue"
    generation = far.row(far.models.Chore, key)["run_seq"]
    assert far.witness.do(called, far.witness.api, rival, far.models.Chore, key, generation)
    before = far.row(far.models.Chore, key)
    with pytest.raises(UnknownOutcome):
        settled(far, error)
    assert far.row(far.models.Chore, key) == before


@pytest.mark.parametrize(
    ("end", "verdict"), [(("ok", "r"), Verdict.ALREADY_APPLIED), (("bad", "r"), Verdict.WRONG_STATE)]
)
@on("postgres")
def test_somebody_else_has_closed_the_job(
    far: Stage, between: Proxy, end: tuple[str, str], verdict: Verdict
) -> None:
    """In our generation a closed job says how: as we wanted it, or not."""
    key, obj = loaded(far, "finish")
    error = lose(far, between, "finish", obj, applied=False)
    assert far.witness.do(called, far.witness.api, "finish", far.models.Chore, key, 1, *end)
    before = far.row(far.models.Chore, key)
    assert settled(far, error).verdict is verdict
    assert far.row(far.models.Chore, key) == before


@on("postgres")
def test_the_budget_was_spent_since(far: Stage, between: Proxy) -> None:
    """What is sent again minds the budget, and says so."""
    key, obj = loaded(far, "start")
    error = lose(far, between, "start", obj, applied=False)
    far.witness.do(far.witness.api.rival, far.witness.do(far.witness.api.load, type(obj), key), attempts=2)
    assert settled(far, error).verdict is Verdict.EXHAUSTED
    assert far.row(far.models.Chore, key)["run_seq"] == 0


@on("postgres")
def test_a_finish_and_an_edit_since(far: Stage, between: Proxy) -> None:
    """The row's token is another one by now; that the job has ended as we wanted it is still to be seen."""
    key, obj = loaded(far, "finish")
    error = lose(far, between, "finish", obj, applied=True)

    async def edit(api: Api) -> Outcome:
        new = {"name": "x"}
        return await api.by_key("update_if_current", type(obj), key, expect=Expect(run_seq=1), set=new)

    far.witness.do(edit, far.witness.api)
    assert settled(far, error).verdict is Verdict.ALREADY_APPLIED


@pytest.mark.parametrize("applied", [True, False])
@on("postgres")
def test_a_save_and_a_heartbeat_since(far: Stage, between: Proxy, applied: bool) -> None:
    """A heartbeat leaves a token of its own, and no version: one version further may have been our save."""
    key, obj = loaded(far, "save")
    error = lose(far, between, "save", obj, applied=applied)
    assert far.witness.do(called, far.witness.api, "heartbeat", far.models.Chore, key, 1)
    if applied:
        with pytest.raises(UnknownOutcome):
            settled(far, error)
    else:
        assert settled(far, error).verdict is Verdict.WON
    assert far.row(far.models.Chore, key)["name"] == "mine"


@pytest.mark.parametrize("applied", [True, False])
@on(*SERVERS)
def test_without_a_token_the_worker_finishes_again(far: Stage, between: Proxy, applied: bool) -> None:
    """Settling cannot tell; the same finish by key can, and its hook runs at most once."""
    keys = [ready(far, "finish", far.models.Job) for _ in range(2)]

    async def call(api: Api, key: Any) -> Outcome:
        expect = Expect(run_seq=1)
        return await api.by_key("finish_if_current", api.models.Job, key, "done", "r", expect=expect)

    far.late.do(call, far.late.api, keys[0])
    if applied:
        between.swallow.set()
    else:
        between.cut()
    error = far.late.fails(call, far.late.api, keys[1])
    between.swallow.clear()
    assert isinstance(error, UnknownOutcome)
    with pytest.raises(UnknownOutcome):
        settled(far, error)
    again = far.witness.do(call, far.witness.api, keys[1])
    assert again.verdict is (Verdict.ALREADY_APPLIED if applied else Verdict.WON)
    row = far.row(far.models.Job, keys[1])
    assert (row["state"], row["result"], row["record_version"]) == ("done", "r", 3)
