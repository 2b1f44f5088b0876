"""A checksum over a run's state: what was read is what was committed, or the row is corrupt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


def state_checksum(value: Any) -> str:
    """Return the SHA-256, in hex, of the value as canonical JSON.

    Sorted keys, no spaces, UTF-8; keys are texts and integral floats are ints, because a database that keeps
    JSON gives them back so.

    Args:
        value: for a run, ``{"node_states": …, "last_transition_seq": …}``.

    Raises:
        ValueError: a number that is not finite.
        TypeError: something that JSON does not have.
    """
    text = json.dumps(
        _canonical(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_key(key): _canonical(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(member) for member in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _key(key: Any) -> str:
    """Return a key as JSON writes it."""
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool | int | float):
        return json.dumps(_canonical(key), allow_nan=False)
    raise TypeError(f"JSON has no key of type {type(key).__name__}")


@dataclass(frozen=True, slots=True)
class ChecksumPolicy:
    """Which runs have their checksum verified when they are loaded.

    Args:
        sample: the share of loads, from 0 to 1.
        since: runs with a lower ``last_transition_seq`` are not verified; None verifies from the start.

    Raises:
        ValueError: a share below 0 or above 1.
    """

    sample: float = 1.0
    since: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.sample <= 1:
            raise ValueError("sample is a share from 0 to 1")
