"""Tests of SQLAlchemy's own that this library's contract makes fail, and how each has to fail."""

from __future__ import annotations

from typing import Final, NamedTuple

from cas_orm import InvalidExpectation, MissingExpectation, UnsupportedBackend


class Refusal(NamedTuple):
    """Why a test of SQLAlchemy's cannot pass, and the error that has to stop it."""

    why: str
    raises: type[Exception]


_ASSIGNS: Final = Refusal(
    "It assigns the version, which the library alone writes: a payload must not choose the number.",
    InvalidExpectation,
)
_SELECT: Final = Refusal(
    "Its class is mapped to a SELECT, so its key is no column of the table that has the version: no "
    "statement of ours could name the row.",
    UnsupportedBackend,
)
#: class and test -> why it fails and how
REFUSED: Final[dict[str, Refusal]] = {
    "ManualInheritanceVersionTest.test_no_increment": _ASSIGNS,
    "ManualVersionTest.test_update": _ASSIGNS,
    "ManualVersionTest.test_update_concurrent_check": _ASSIGNS,
    "ManualVersionTest.test_update_version_conditional": _ASSIGNS,
    "NullVersionIdTest.test_null_version_id_update": _ASSIGNS,
    "VersioningMappedSelectTest.test_explicit": _SELECT,
    "VersioningMappedSelectTest.test_explicit_assign_from_expired": _SELECT,
    "VersioningMappedSelectTest.test_implicit": _SELECT,
    "VersioningMappedSelectTest.test_implicit_no_readonly": _SELECT,
    "VersioningTest.test_bump_version": _ASSIGNS,
}
#: the same, for what only `CasSession` refuses
ONLY_IN_A_CAS_SESSION: Final[dict[str, Refusal]] = {
    "VersioningTest.test_merge_no_version": Refusal(
        "It merges changes without a version, so that the newest wins: a version never seen is refused.",
        MissingExpectation,
    ),
}
