"""Beliefs and writes that are refused before any SQL."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from cas_orm import Expect, InvalidExpectation, MissingExpectation, one_of
from tests.contract.adapters.base import Api
from tests.contract.run import contract

TOP = 2**63 - 1

INVALID: dict[str, dict[str, Any]] = {
    "unknown column": {"nonsense": 1},
    "relation": {"customer": 1},
    "float column": {"weight": 1.5},
    "float": {"n": 1.5},
    "list": {"title": ["a"]},
    "dict": {"title": {"a": 1}},
    "json column": {"data": "x"},
    "bool as version": {"record_version": True},
    "text as version": {"record_version": "1"},
    "float as version": {"record_version": 1.0},
    "value set as version": {"record_version": one_of(1, 2)},
    "negative version": {"record_version": -1},
    "version at the maximum": {"record_version": TOP},
    "version beyond the column": {"record_version": 2**70},
    "bool as generation": {"run_seq": False},
    "text as generation": {"run_seq": "0"},
    "value set as generation": {"run_seq": one_of(1, 2)},
    "negative generation": {"run_seq": -1},
    "generation at the maximum": {"run_seq": TOP},
    "datetime not from the row": {"due": dt.datetime(2030, 1, 1, tzinfo=dt.UTC)},
}
MISSING: dict[str, dict[str, Any]] = {
    "none as version": {"record_version": None},
    "none as generation": {"run_seq": None},
}


@pytest.mark.parametrize("columns", INVALID.values(), ids=INVALID)
@contract
async def test_invalid_expectation(keyed: Api, columns: dict[str, Any]) -> None:
    """Neither the object nor the by-key verb sends anything for such a belief, and the row stays."""
    order = await keyed.make(keyed.models.Order)
    key = keyed.key(order)
    async with keyed.statements() as sent:
        with pytest.raises(InvalidExpectation):
            await keyed.try_save_if_current(order, expect=Expect(**columns))
        with pytest.raises(InvalidExpectation):
            await keyed.by_key(
                "try_update_if_current", keyed.models.Order, key, expect=Expect(**columns), set={"n": 1}
            )
    assert sent == []
    assert await keyed.save_if_current(order)


@pytest.mark.parametrize("columns", MISSING.values(), ids=MISSING)
@contract
async def test_missing_expectation(keyed: Api, columns: dict[str, Any]) -> None:
    """None for a version or a generation never means "do not check"."""
    order = await keyed.make(keyed.models.Order)
    async with keyed.statements() as sent:
        with pytest.raises(MissingExpectation):
            await keyed.try_save_if_current(order, expect=Expect(**columns))
        with pytest.raises(MissingExpectation):
            await keyed.by_key(
                "try_update_if_current",
                keyed.models.Order,
                keyed.key(order),
                expect=Expect(**columns),
                set={"n": 1},
            )
    assert sent == []


@contract
async def test_an_update_without_a_belief(keyed: Api) -> None:
    """Empty ``expect`` and no ``where``: refused, on the object and by key."""
    order = await keyed.make(keyed.models.Order)
    async with keyed.statements() as sent:
        with pytest.raises(MissingExpectation):
            await keyed.update_if_current(order, expect=Expect(), set={"n": 1})
        with pytest.raises(MissingExpectation):
            await keyed.by_key(
                "update_if_current", keyed.models.Order, keyed.key(order), expect=Expect(), set={"n": 1}
            )
    assert sent == []
    assert await keyed.update_if_current(order, expect=Expect(n=0), set={"n": 1})


@contract
async def test_a_generation_on_a_model_without_one(api: Api) -> None:
    """A belief about a generation that the model does not have is invalid."""
    doc = await api.make(api.models.Doc)
    async with api.statements() as sent:
        with pytest.raises(InvalidExpectation):
            await api.save_if_current(doc, expect=Expect(run_seq=0))
    assert sent == []
    assert await api.save_if_current(doc, expect=Expect(record_version=1))


@pytest.mark.parametrize("column", ["record_version", "run_seq"])
@contract
async def test_set_never_writes_version_or_generation(keyed: Api, column: str) -> None:
    """``set`` and ``update_fields`` may not name them."""
    order = await keyed.make(keyed.models.Order)
    belief = Expect(record_version=1)
    async with keyed.statements() as sent:
        with pytest.raises(ValueError):
            await keyed.update_if_current(order, expect=belief, set={column: 7})
        with pytest.raises(ValueError):
            await keyed.by_key(
                "update_if_current", keyed.models.Order, keyed.key(order), expect=belief, set={column: 7}
            )
        with pytest.raises(ValueError):
            await keyed.new_generation_if_current(order, set={column: 7})
        with pytest.raises(ValueError):
            await keyed.save_if_current(order, update_fields=[column])
    assert sent == []
    assert await keyed.save_if_current(order)


@pytest.mark.parametrize("column", ["nonsense", "id"])
@contract
async def test_set_names_writable_columns_only(api: Api, column: str) -> None:
    """An unknown column and the primary key are refused before any SQL."""
    order = await api.make(api.models.Order)
    async with api.statements() as sent:
        with pytest.raises((ValueError, TypeError, AttributeError, LookupError)):
            await api.update_if_current(order, expect=Expect(record_version=1), set={column: 7})
    assert sent == []


@contract
async def test_the_largest_version_that_can_still_grow(api: Api) -> None:
    """One below the maximum is the last version that may be believed; zero is the first."""
    order = await api.make(api.models.Order)
    await api.rival(order, record_version=TOP - 1)
    await api.reload(order)
    assert (await api.save_if_current(order)).record_version == TOP
    with pytest.raises(InvalidExpectation):
        await api.save_if_current(order)
    await api.rival(order, record_version=0)
    await api.reload(order)
    assert (await api.save_if_current(order)).record_version == 1


@contract
async def test_expect_of_something_deferred(api: Api) -> None:
    """``Expect.of`` names a column that was not loaded: it fails closed instead of querying."""
    order = await api.load(api.models.Order, api.key(await api.make(api.models.Order, state="new")))
    await api.defer(order, "state")
    async with api.statements() as sent:
        with pytest.raises(MissingExpectation):
            Expect.of(order, "state")
    assert sent == []


@contract
async def test_a_version_never_seen(api: Api) -> None:
    """An object whose version was not loaded writes nothing and sends nothing."""
    for verb in ("save_if_current", "delete_if_current"):
        order = await api.make(api.models.Order)
        await api.defer(order, "record_version")
        async with api.statements() as sent:
            for prefix in ("", "try_"):
                with pytest.raises(MissingExpectation) as caught:
                    await api.on_object(prefix + verb, order)
                assert caught.value.code == "cas-no-expectation"
        assert sent == []


@contract
async def test_a_version_never_seen_but_named(api: Api) -> None:
    """``expect`` may name the version that was not loaded."""
    order = await api.make(api.models.Order, title="a")
    await api.defer(order, "record_version")
    assert (await api.save_if_current(order, expect=Expect(record_version=1))).record_version == 2
    other = await api.make(api.models.Order)
    await api.defer(other, "record_version")
    assert await api.update_if_current(other, expect=Expect(state="new"), set={"n": 1})
