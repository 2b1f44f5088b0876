"""A verb that did not compare the version advances it only when the row took exactly one step."""

from __future__ import annotations

import pytest

from cas_orm import ErrRecordVersionConflict, Expect, Verdict
from tests.contract.adapters.base import Api
from tests.contract.run import contract


async def _updated_blindly(api: Api, *, rivals: int) -> object:
    order = await api.make(api.models.Order, state="new", title="a")
    for _ in range(rivals):
        await api.bumped_by_rival(order, title="theirs")
    outcome = await api.update_if_current(order, expect=Expect(state="new"), set={"n": 1})
    assert outcome.verdict is Verdict.WON
    assert outcome.record_version == 2 + rivals
    return order


@contract
async def test_one_step_is_known(api: Api) -> None:
    """Nobody came between: the version advances and the next save wins."""
    order = await _updated_blindly(api, rivals=0)
    assert order.record_version == 2
    assert await api.save_if_current(order)


@pytest.mark.parametrize("verb", ["save_if_current", "delete_if_current"])
@contract
async def test_two_steps_are_unknown(api: Api, verb: str) -> None:
    """Somebody did: version-believing verbs refuse without SQL, so that their change survives."""
    order = await _updated_blindly(api, rivals=1)
    async with api.statements() as sent:
        for prefix in ("", "try_"):
            with pytest.raises(ErrRecordVersionConflict) as caught:
                await api.on_object(prefix + verb, order)
            assert caught.value.fenced
    assert sent == []
    assert (await api.row(api.models.Order, api.key(order)))["title"] == "theirs"


@contract
async def test_verbs_that_do_not_believe_the_version_go_on(api: Api) -> None:
    """An unknown version is no fence for a verb that does not believe it."""
    order = await _updated_blindly(api, rivals=1)
    outcome = await api.update_if_current(order, expect=Expect(state="new"), set={"n": 2})
    assert (outcome.verdict, outcome.record_version) == (Verdict.WON, 4)
    with pytest.raises(ErrRecordVersionConflict):
        await api.save_if_current(order)


@contract
async def test_reload_heals(api: Api) -> None:
    """A reload makes the version known again."""
    order = await _updated_blindly(api, rivals=1)
    await api.reload(order)
    order.title = "mine"
    assert (await api.save_if_current(order)).record_version == 4


@contract
async def test_a_generation_alone_does_not_compare_the_version(api: Api) -> None:
    """``Expect(run_seq=…)`` on an update believes the generation and nothing else."""
    order = await api.make(api.models.Order)
    await api.bumped_by_rival(order)
    assert await api.update_if_current(order, expect=Expect(run_seq=0), set={"n": 1})
    with pytest.raises(ErrRecordVersionConflict) as caught:
        await api.save_if_current(order)
    assert caught.value.fenced
