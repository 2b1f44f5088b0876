"""What a refusal looks like, verdict by verdict; each beside the same call that is accepted."""

from __future__ import annotations

import pytest

from cas_orm import (
    ConflictError,
    ErrRecordVersionConflict,
    Expect,
    RecordMissing,
    Superseded,
    Verdict,
)
from tests.contract.adapters.base import Api
from tests.contract.run import contract

ON_OBJECT = {
    "save_if_current": {},
    "delete_if_current": {},
    "update_if_current": {"expect": Expect(record_version=1, run_seq=0), "set": {"n": 9}},
    "new_generation_if_current": {"set": {"n": 9}},
}
BY_KEY = {
    "delete_if_current": {"expect": Expect(record_version=1, run_seq=0, state="new")},
    "update_if_current": {"expect": Expect(record_version=1, run_seq=0, state="new"), "set": {"n": 9}},
    "new_generation_if_current": {
        "expect": Expect(record_version=1, run_seq=0, state="new"),
        "set": {"n": 9},
    },
}
#: what the rival did -> the verdict, the error, its code
MOVES = {
    "stale": ({"record_version": 5}, Verdict.STALE, ErrRecordVersionConflict, "cas-stale"),
    "superseded": ({"record_version": 5, "run_seq": 1}, Verdict.SUPERSEDED, Superseded, "cas-superseded"),
    "missing": (None, Verdict.MISSING, RecordMissing, "cas-missing"),
}
WRONG_STATE = ({"state": "paid"}, Verdict.WRONG_STATE, Superseded, "cas-wrong-state")


async def _move(api: Api, obj: object, columns: dict[str, object] | None) -> None:
    await (api.remove(obj) if columns is None else api.rival(obj, **columns))


@pytest.mark.parametrize("verb", ON_OBJECT)
@contract
async def test_verb_on_object_accepted(api: Api, verb: str) -> None:
    """Nothing moved: every verb wins."""
    order = await api.make(api.models.Order)
    assert (await api.on_object(verb, order, **ON_OBJECT[verb])).verdict is Verdict.WON


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("verb", ON_OBJECT)
@contract
async def test_verb_on_object_refused(api: Api, verb: str, move: str) -> None:
    """The bare verb raises what fits, with the facts, and the row is as the rival left it."""
    columns, verdict, error, code = MOVES[move]
    order = await api.make(api.models.Order)
    key = api.key(order)
    await _move(api, order, columns)
    before = await api.row(api.models.Order, key)
    with pytest.raises(error) as caught:
        await api.on_object(verb, order, **ON_OBJECT[verb])
    refused = caught.value
    assert isinstance(refused, ConflictError)
    assert (refused.verdict, refused.code, refused.fenced) == (verdict, code, False)
    assert (refused.model, refused.key) == (api.label(api.models.Order), key)
    assert dict(refused.expected) == {"record_version": 1, "run_seq": 0}
    assert await api.row(api.models.Order, key) == before


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("verb", ON_OBJECT)
@contract
async def test_try_verb_on_object_refused(api: Api, verb: str, move: str) -> None:
    """The twin returns the losing outcome, and ``or_raise`` raises what the bare verb would have."""
    columns, verdict, error, code = MOVES[move]
    order = await api.make(api.models.Order)
    await _move(api, order, columns)
    outcome = await api.on_object(f"try_{verb}", order, **ON_OBJECT[verb])
    assert (outcome.verdict, bool(outcome)) == (verdict, False)
    assert (outcome.record_version, outcome.run_seq, outcome.provisional) == (None, None, False)
    if columns is None:
        assert not outcome.actual
    else:
        assert {name: outcome.actual[name] for name in columns} == columns
    with pytest.raises(error) as caught:
        outcome.or_raise()
    assert caught.value.code == code


@pytest.mark.parametrize("verb", BY_KEY)
@contract
async def test_verb_by_key_accepted(keyed: Api, verb: str) -> None:
    """Nothing moved: every by-key verb wins, and its twin too."""
    for prefix in ("", "try_"):
        order = await keyed.make(keyed.models.Order, state="new")
        outcome = await keyed.by_key(prefix + verb, keyed.models.Order, keyed.key(order), **BY_KEY[verb])
        assert outcome.verdict is Verdict.WON


@pytest.mark.parametrize("move", [*MOVES, "wrong_state"])
@pytest.mark.parametrize("verb", BY_KEY)
@contract
async def test_verb_by_key_refused(keyed: Api, verb: str, move: str) -> None:
    """By key: the twin returns the verdict, the bare verb raises it, the row stays."""
    columns, verdict, error, code = {**MOVES, "wrong_state": WRONG_STATE}[move]
    order = await keyed.make(keyed.models.Order, state="new")
    key = keyed.key(order)
    await _move(keyed, order, columns)
    before = await keyed.row(keyed.models.Order, key)
    outcome = await keyed.by_key(f"try_{verb}", keyed.models.Order, key, **BY_KEY[verb])
    assert (outcome.verdict, bool(outcome), outcome.key) == (verdict, False, key)
    with pytest.raises(error) as caught:
        await keyed.by_key(verb, keyed.models.Order, key, **BY_KEY[verb])
    assert (caught.value.code, caught.value.fenced) == (code, False)
    assert await keyed.row(keyed.models.Order, key) == before


@pytest.mark.parametrize("verb", ON_OBJECT)
@contract
async def test_wrong_state_on_object(api: Api, verb: str) -> None:
    """A believed column that moved is WRONG_STATE: another actor decided."""
    options = {**ON_OBJECT[verb], "expect": Expect(state="new")}
    order = await api.make(api.models.Order, state="new")
    assert (await api.on_object(f"try_{verb}", order, **options)).verdict is Verdict.WON
    order = await api.make(api.models.Order, state="new")
    await api.rival(order, state="paid")
    outcome = await api.on_object(f"try_{verb}", order, **options)
    assert outcome.verdict is Verdict.WRONG_STATE
    assert outcome.expected["state"] == "new"
    assert outcome.actual["state"] == "paid"
    with pytest.raises(Superseded) as caught:
        outcome.or_raise()
    assert caught.value.code == "cas-wrong-state"


@pytest.mark.parametrize("verb", ON_OBJECT)
@contract
async def test_where_that_does_not_hold(api: Api, verb: str) -> None:
    """The free condition is part of the belief: accepted where it holds, WRONG_STATE where it does not."""
    for n, verdict in ((3, Verdict.WON), (4, Verdict.WRONG_STATE)):
        order = await api.make(api.models.Order, n=n)
        options = {**ON_OBJECT[verb], "where": api.where(api.models.Order, n=3)}
        assert (await api.on_object(f"try_{verb}", order, **options)).verdict is verdict


@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        ({"record_version": 2}, Verdict.STALE),
        ({"state": "paid"}, Verdict.WRONG_STATE),
        ({"run_seq": 1}, Verdict.SUPERSEDED),
        ({"record_version": 2, "state": "paid"}, Verdict.WRONG_STATE),
        ({"record_version": 2, "run_seq": 1}, Verdict.SUPERSEDED),
        ({"state": "paid", "run_seq": 1}, Verdict.SUPERSEDED),
        ({"record_version": 2, "state": "paid", "run_seq": 1}, Verdict.SUPERSEDED),
        (None, Verdict.MISSING),
    ],
)
@contract
async def test_precedence(api: Api, columns: dict[str, object] | None, verdict: Verdict) -> None:
    """Gone before superseded, superseded before wrong state, wrong state before stale."""
    order = await api.make(api.models.Order, state="new")
    await _move(api, order, columns)
    assert (await api.try_save_if_current(order, expect=Expect(state="new"))).verdict is verdict


@contract
async def test_messages_name_columns_never_values(api: Api) -> None:
    """The message says which row, which numbers, which columns and which code; never a column's value."""
    order = await api.make(api.models.Order, state="secret-a", title="secret-b")
    key = api.key(order)
    await api.rival(order, state="secret-c", record_version=9)
    with pytest.raises(Superseded) as caught:
        await api.save_if_current(order, expect=Expect(state="secret-a"))
    message = str(caught.value)
    for part in (api.label(api.models.Order), str(key), "1", "9", "state", "cas-wrong-state"):
        assert part in message
    assert "secret" not in message
