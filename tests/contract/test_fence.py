"""After a refusal the object refuses, without SQL, until it is reloaded with its version."""

from __future__ import annotations

import pytest

from cas_orm import ConflictError, ErrRecordVersionConflict, Expect, RecordMissing, Superseded, Verdict
from tests.contract.adapters.base import Api
from tests.contract.run import contract
from tests.contract.test_refused import ON_OBJECT


async def _refused(api: Api, **columns: object) -> object:
    order = await api.make(api.models.Order, title="a", state="new")
    order.title = "mine"
    await api.rival(order, **(columns or {"record_version": 5}))
    assert not await api.try_save_if_current(order)
    return order


@pytest.mark.parametrize("verb", ON_OBJECT)
@contract
async def test_every_verb_refuses_without_sql(api: Api, verb: str) -> None:
    """The fence raises the same error again, marked ``fenced``, and nothing reaches the database."""
    order = await _refused(api)
    async with api.statements() as sent:
        with pytest.raises(ErrRecordVersionConflict) as caught:
            await api.on_object(verb, order, **ON_OBJECT[verb])
        with pytest.raises(ErrRecordVersionConflict) as tried:
            await api.on_object(f"try_{verb}", order, **ON_OBJECT[verb])
    assert sent == []
    assert caught.value.fenced and tried.value.fenced
    assert caught.value.code == "cas-stale"


@pytest.mark.parametrize("verb", ON_OBJECT)
@contract
async def test_reload_lifts_the_fence(api: Api, verb: str) -> None:
    """After a reload every verb wins again."""
    order = await _refused(api)
    await api.reload(order)
    options = {**ON_OBJECT[verb]}
    if "expect" in options:
        options["expect"] = Expect(record_version=5)
    assert (await api.on_object(verb, order, **options)).verdict is Verdict.WON


@pytest.mark.parametrize(
    ("columns", "error"),
    [({"record_version": 5}, ErrRecordVersionConflict), ({"run_seq": 5}, Superseded), (None, RecordMissing)],
)
@contract
async def test_the_fence_raises_the_same_error(api: Api, columns: dict[str, int] | None, error: type) -> None:
    """What the first refusal was, the fence is."""
    order = await api.make(api.models.Order)
    await (api.remove(order) if columns is None else api.rival(order, **columns))
    first = await api.try_save_if_current(order)
    with pytest.raises(error) as caught:
        await api.save_if_current(order)
    assert caught.value.fenced
    assert caught.value.verdict is first.verdict


@contract
async def test_a_refusal_changes_nothing_in_memory(api: Api) -> None:
    """The fields stay as the user set them, the version as it was."""
    order = await _refused(api)
    assert (order.title, order.record_version, order.run_seq) == ("mine", 1, 0)


@contract
async def test_neither_expect_nor_the_right_number_lifts_the_fence(api: Api) -> None:
    """An explicit belief, even the true one, does not speak for data that was read before."""
    order = await _refused(api)
    for options in ({"expect": Expect(record_version=5)}, {"expect": Expect(run_seq=0)}):
        with pytest.raises(ErrRecordVersionConflict) as caught:
            await api.save_if_current(order, **options)
        assert caught.value.fenced
    assert (await api.row(api.models.Order, api.key(order)))["title"] == "a"


@contract
async def test_a_partial_reload_does_not_lift_the_fence(api: Api) -> None:
    """Only a reload that includes the version does."""
    if "partial_reload" not in api.capabilities:
        pytest.skip("partial_reload")
    order = await _refused(api)
    await api.reload(order, "title")
    with pytest.raises(ErrRecordVersionConflict) as caught:
        await api.save_if_current(order)
    assert caught.value.fenced
    await api.reload(order, "record_version", "title")
    assert await api.save_if_current(order)


@contract
async def test_by_key_is_not_fenced(keyed: Api) -> None:
    """The by-key form knows no object, so no fence."""
    order = await _refused(keyed)
    outcome = await keyed.by_key(
        "update_if_current",
        keyed.models.Order,
        keyed.key(order),
        expect=Expect(record_version=5),
        set={"n": 1},
    )
    assert outcome.verdict is Verdict.WON


@contract
async def test_another_object_of_the_row_is_not_fenced(api: Api) -> None:
    """The fence belongs to the object, not to the row."""
    order = await _refused(api)
    other = await api.load(api.models.Order, api.key(order))
    assert await api.save_if_current(other)


@contract
async def test_a_refused_update_fences_too(api: Api) -> None:
    """Every refused verb fences, whatever it believed."""
    order = await api.make(api.models.Order, state="new")
    await api.rival(order, state="paid")
    assert not await api.try_update_if_current(order, expect=Expect(state="new"), set={"n": 1})
    with pytest.raises(ConflictError) as caught:
        await api.try_save_if_current(order)
    assert caught.value.fenced


@contract
async def test_a_missing_expectation_does_not_fence(api: Api) -> None:
    """A call that was refused before any SQL says nothing about the row."""
    order = await api.make(api.models.Order)
    with pytest.raises(ValueError):
        await api.update_if_current(order, expect=Expect(nonsense=1), set={"n": 1})
    assert await api.save_if_current(order)
