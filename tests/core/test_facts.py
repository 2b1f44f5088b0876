"""`Facts`: a mapping that cannot be changed and can travel."""

from __future__ import annotations

import pickle
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cas_orm.facts import Facts

ITEMS = st.dictionaries(st.text(max_size=4), st.none() | st.integers() | st.text(max_size=4), max_size=4)


@given(ITEMS)
def test_is_a_mapping_equal_to_the_dict(items: dict[str, object]) -> None:
    """It reads like the dict that it was made from, and equals it on both sides."""
    facts = Facts(items)
    assert isinstance(facts, Mapping)
    assert facts == items
    assert items == facts
    assert (len(facts), list(facts)) == (len(items), list(items))
    assert repr(facts) == f"Facts({items!r})"


@given(ITEMS)
def test_hashes_and_pickles(items: dict[str, object]) -> None:
    """Equal facts hash alike in any order; every pickle protocol keeps them."""
    facts = Facts(items)
    assert hash(Facts(dict(reversed(items.items())))) == hash(facts)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(facts, protocol)) == facts


def test_cannot_be_changed() -> None:
    """Neither through items, nor attributes, nor the dict it came from."""
    items: dict[str, object] = {"state": "a"}
    facts = Facts(items)
    items["state"] = "b"
    with pytest.raises(TypeError):
        facts["state"] = "b"  # type: ignore[index]
    with pytest.raises(TypeError):
        del facts["state"]  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        facts._items = {}
    with pytest.raises(AttributeError):
        del facts._items
    assert facts == {"state": "a"}


def test_a_name_that_is_not_there_is_a_key_error() -> None:
    """Nothing is made up."""
    assert Facts() == {}
    with pytest.raises(KeyError):
        Facts()["state"]
