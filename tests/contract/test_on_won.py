"""``on_won`` runs once, after the commit, for a win."""

from __future__ import annotations

import pytest

from cas_orm import ConflictError, Expect, Outcome
from tests.contract.adapters.base import Api, Undo
from tests.contract.run import contract
from tests.contract.test_refused import BY_KEY, ON_OBJECT


@pytest.mark.parametrize("verb", ON_OBJECT)
@contract
async def test_runs_after_a_win(api: Api, verb: str) -> None:
    """In autocommit it has run when the verb returns."""
    order = await api.make(api.models.Order)
    told: list[Outcome] = []
    outcome = await api.on_object(verb, order, on_won=told.append, **ON_OBJECT[verb])
    assert [(o.verdict, o.key, o.record_version, o.provisional) for o in told] == [
        (outcome.verdict, outcome.key, outcome.record_version, False)
    ]


@pytest.mark.parametrize("verb", BY_KEY)
@contract
async def test_runs_after_a_win_by_key(keyed: Api, verb: str) -> None:
    """By key too."""
    order = await keyed.make(keyed.models.Order, state="new")
    told: list[Outcome] = []
    await keyed.by_key(verb, keyed.models.Order, keyed.key(order), on_won=told.append, **BY_KEY[verb])
    assert [bool(o) for o in told] == [True]


@pytest.mark.parametrize("verb", ON_OBJECT)
@contract
async def test_never_runs_after_a_refusal(api: Api, verb: str) -> None:
    """A loser's hook never runs, whether it asked politely or not."""
    told: list[Outcome] = []
    for prefix in ("", "try_"):
        order = await api.make(api.models.Order)
        await api.rival(order, record_version=7)
        try:
            await api.on_object(prefix + verb, order, on_won=told.append, **ON_OBJECT[verb])
        except ConflictError:
            pass
    assert told == []


@contract
async def test_waits_for_the_callers_commit(api: Api) -> None:
    """Inside the caller's transaction a win is provisional; the hook waits and is told a final one."""
    order = await api.make(api.models.Order)
    told: list[Outcome] = []
    async with api.transaction():
        outcome = await api.save_if_current(order, on_won=told.append)
        assert outcome.provisional is True
        assert told == []
    assert [(o.provisional, o.record_version) for o in told] == [(False, 2)]


@contract
async def test_never_runs_after_a_rollback(api: Api) -> None:
    """What was rolled back was not won."""
    order, told = await api.make(api.models.Order), []
    async with api.transaction():
        await api.save_if_current(order, on_won=told.append)
        raise Undo
    assert told == []


@contract
async def test_never_runs_after_a_savepoint_rollback(api: Api) -> None:
    """Nor was what a savepoint rolled back, though the transaction commits."""
    order, told = await api.make(api.models.Order), []
    async with api.transaction():
        async with api.savepoint():
            await api.save_if_current(order, on_won=lambda o: told.append("lost"))
            raise Undo
        await api.save_if_current(order, on_won=lambda o: told.append("kept"))
    assert told == ["kept"]


@contract
async def test_the_hook_may_write(api: Api) -> None:
    """The hook runs outside the write: what it reads is committed."""
    order = await api.make(api.models.Order)
    seen: list[int] = []
    async with api.transaction():
        await api.update_if_current(
            order, expect=Expect(n=0), set={"n": 1}, on_won=lambda o: seen.append(o.record_version)
        )
    assert seen == [2]
    assert (await api.row(api.models.Order, api.key(order)))["n"] == 1
