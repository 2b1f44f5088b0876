"""How many statements a verb sends: one to win, two to lose and know why, none to be fenced."""

from __future__ import annotations

import pytest

from cas_orm import ConflictError, Expect
from tests.contract.adapters.base import Api
from tests.contract.run import contract
from tests.contract.test_refused import BY_KEY, ON_OBJECT


@pytest.mark.parametrize("verb", ON_OBJECT)
@contract
async def test_a_win_is_one_statement(api: Api, verb: str) -> None:
    """No SELECT before, no BEGIN around, no read after: a plain model in autocommit."""
    order = await api.make(api.models.Order)
    async with api.statements() as sent:
        await api.on_object(verb, order, **ON_OBJECT[verb])
    assert len(sent) == 1, sent
    assert sent[0].startswith("DELETE" if "delete" in verb else "UPDATE")


@pytest.mark.parametrize("verb", ON_OBJECT)
@contract
async def test_a_refusal_is_two(api: Api, verb: str) -> None:
    """The conditional write, then one fresh read to say why."""
    order = await api.make(api.models.Order)
    await api.rival(order, record_version=7)
    async with api.statements() as sent:
        assert not await api.on_object(f"try_{verb}", order, **ON_OBJECT[verb])
    assert len(sent) == 2, sent
    assert sent[1].startswith("SELECT")


@pytest.mark.parametrize("verb", ON_OBJECT)
@contract
async def test_a_fenced_object_sends_nothing(api: Api, verb: str) -> None:
    """The second try costs nothing."""
    order = await api.make(api.models.Order)
    await api.rival(order, record_version=7)
    await api.on_object(f"try_{verb}", order, **ON_OBJECT[verb])
    async with api.statements() as sent:
        with pytest.raises(ConflictError):
            await api.on_object(f"try_{verb}", order, **ON_OBJECT[verb])
    assert sent == []


@pytest.mark.parametrize("verb", BY_KEY)
@contract
async def test_by_key(keyed: Api, verb: str) -> None:
    """By key: one to win, two to lose; nothing is loaded first."""
    order = await keyed.make(keyed.models.Order, state="new")
    loser = await keyed.make(keyed.models.Order, state="paid")
    async with keyed.statements() as sent:
        await keyed.by_key(verb, keyed.models.Order, keyed.key(order), **BY_KEY[verb])
    assert len(sent) == 1, sent
    async with keyed.statements() as sent:
        await keyed.by_key(f"try_{verb}", keyed.models.Order, keyed.key(loser), **BY_KEY[verb])
    assert len(sent) == 2, sent


@contract
async def test_inside_a_transaction(api: Api) -> None:
    """The caller's transaction adds nothing between its own BEGIN and COMMIT."""
    order, loser = await api.make(api.models.Order), await api.make(api.models.Order)
    await api.rival(loser, record_version=7)
    async with api.transaction():
        async with api.statements() as sent:
            await api.save_if_current(order)
        assert len(sent) == 1, sent
        async with api.statements() as sent:
            await api.try_save_if_current(loser)
        assert len(sent) == 2, sent


@contract
async def test_the_belief_stands_as_plain_columns(api: Api) -> None:
    """One table, no sub-select, no join: the row that waited is judged by its own columns."""
    order = await api.make(api.models.Order, state="new")
    async with api.statements() as sent:
        await api.save_if_current(order, expect=Expect(state="new"), where=api.where(api.models.Order, n=0))
    (sql,) = sent
    head, _, where = sql.partition(" WHERE ")
    assert head.startswith("UPDATE")
    for column in ("record_version", "run_seq", "state", "n"):
        assert f"{column}" in where
    assert "SELECT" not in sql and "JOIN" not in sql
    assert "run_seq" not in head
