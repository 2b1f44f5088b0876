"""A read-only mapping that hashes and pickles: what was believed, what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class Facts(Mapping[str, object]):
    """Hold names and values; equal to any mapping with the same content."""

    __slots__ = ("_items",)
    _items: dict[str, object]

    def __init__(self, items: Mapping[str, object] | None = None) -> None:
        object.__setattr__(self, "_items", dict(items) if items else {})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Facts are read-only")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("Facts are read-only")

    def __getitem__(self, name: str) -> object:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return f"Facts({self._items!r})"

    def __reduce__(self) -> tuple[type[Facts], tuple[dict[str, object]]]:
        return (Facts, (self._items,))
