"""``update_fields``: what is named is written, the version always."""

from __future__ import annotations

import pytest

from cas_orm import Verdict
from tests.contract.adapters.base import Api
from tests.contract.run import contract


@contract
async def test_only_what_is_named(api: Api) -> None:
    """The other changes stay in memory."""
    order = await api.make(api.models.Order, title="a", n=1)
    order.title, order.n = "b", 2
    outcome = await api.save_if_current(order, update_fields=["n"])
    row = await api.row(api.models.Order, api.key(order))
    assert (outcome.verdict, outcome.record_version) == (Verdict.WON, 2)
    assert (row["title"], row["n"], row["record_version"]) == ("a", 2, 2)
    assert (order.title, order.record_version) == ("b", 2)


@contract
async def test_a_partial_save_is_refused_like_a_full_one(api: Api) -> None:
    """It compares the version too."""
    order = await api.make(api.models.Order)
    await api.rival(order, record_version=2, title="theirs")
    order.n = 2
    assert (await api.try_save_if_current(order, update_fields=["n"])).verdict is Verdict.STALE
    assert (await api.row(api.models.Order, api.key(order)))["n"] == 0


@contract
async def test_an_empty_list_verifies_and_bumps(api: Api) -> None:
    """Nothing is written but the version."""
    order = await api.make(api.models.Order, title="a")
    order.title = "b"
    assert (await api.save_if_current(order, update_fields=[])).record_version == 2
    row = await api.row(api.models.Order, api.key(order))
    assert (row["title"], row["record_version"]) == ("a", 2)
    await api.rival(order, record_version=9)
    assert (await api.try_save_if_current(order, update_fields=[])).verdict is Verdict.STALE


@contract
async def test_ac07_a_partial_save_neither_alarms_nor_hides(api: Api) -> None:
    """AC-07: one object saves partially, then in full; another's older copy is refused."""
    order = await api.make(api.models.Order, title="a")
    other = await api.load(api.models.Order, api.key(order))
    order.n = 1
    assert await api.save_if_current(order, update_fields=["n"])
    assert (await api.save_if_current(order)).record_version == 3
    other.title = "old page"
    assert (await api.try_save_if_current(other)).verdict is Verdict.STALE


@contract
async def test_unknown_names(api: Api) -> None:
    """A name that the model does not have is refused before any SQL."""
    order = await api.make(api.models.Order)
    async with api.statements() as sent:
        with pytest.raises((ValueError, LookupError, AttributeError)):
            await api.save_if_current(order, update_fields=["nonsense"])
    assert sent == []
