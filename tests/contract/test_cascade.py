"""A guarded delete of a parent whose children go with it."""

from __future__ import annotations

import pytest

from cas_orm import Expect, Verdict
from tests.contract.adapters.base import Api, Undo
from tests.contract.run import contract


async def _cart(api: Api) -> tuple[object, object]:
    cart = await api.make(api.models.Cart, name="a")
    line = await api.make(api.models.CartLine, cart_id=api.key(cart), sku="x")
    return cart, line


@contract
async def test_the_winner_takes_the_children(api: Api) -> None:
    """Parent and children are gone."""
    cart, line = await _cart(api)
    key, child = api.key(cart), api.key(line)
    outcome = await api.delete_if_current(cart)
    assert (outcome.verdict, outcome.record_version) == (Verdict.WON, None)
    assert await api.row(api.models.Cart, key) is None
    assert await api.row(api.models.CartLine, child) is None


@contract
async def test_the_loser_takes_nothing(api: Api) -> None:
    """The guarded statement comes first: no child is touched."""
    cart, line = await _cart(api)
    await api.rival(cart, record_version=7)
    assert (await api.try_delete_if_current(cart)).verdict is Verdict.STALE
    assert await api.row(api.models.CartLine, api.key(line)) is not None
    assert (await api.row(api.models.Cart, api.key(cart)))["record_version"] == 7


@pytest.mark.parametrize("version", [1, 7])
@contract
async def test_by_key(keyed: Api, version: int) -> None:
    """By key the same, accepted and refused."""
    cart, line = await _cart(keyed)
    await keyed.rival(cart, record_version=version)
    key, child = keyed.key(cart), keyed.key(line)
    outcome = await keyed.by_key(
        "try_delete_if_current", keyed.models.Cart, key, expect=Expect(record_version=1)
    )
    assert bool(outcome) is (version == 1)
    assert (await keyed.row(keyed.models.CartLine, child) is None) is (version == 1)


@contract
async def test_rolled_back(api: Api) -> None:
    """After a rollback everything is there, and the parent can be saved."""
    cart, line = await _cart(api)
    key = api.key(cart)
    async with api.transaction():
        await api.delete_if_current(cart)
        raise Undo
    assert await api.row(api.models.CartLine, api.key(line)) is not None
    assert (await api.save_if_current(cart)).record_version == 2
    assert api.key(cart) == key
