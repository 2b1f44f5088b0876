"""The exceptions are one tree, each with a code that leads to a page."""

from __future__ import annotations

from pathlib import Path

import pytest

import cas_orm
from cas_orm import errors
from tests.core.test_outcome import REFUSALS

#: class -> its direct bases, exactly.
TREE: dict[str, tuple[str, ...]] = {
    "CasError": ("Exception",),
    "ConflictError": ("CasError",),
    "ErrRecordVersionConflict": ("ConflictError",),
    "Superseded": ("ConflictError",),
    "AttemptsExhausted": ("ConflictError",),
    "RecordMissing": ("ConflictError",),
    "TransientConflict": ("ConflictError",),
    "MissingExpectation": ("CasError",),
    "InvalidExpectation": ("CasError", "ValueError"),
    "IllegalTransition": ("CasError", "ValueError"),
    "UnknownOutcome": ("CasError",),
    "CannotRetryHere": ("CasError",),
    "RetriesExhausted": ("CasError",),
    "Livelocked": ("CasError",),
    "ChecksumMismatch": ("CasError",),
    "UnsupportedBackend": ("CasError",),
}
#: class -> its code. `Superseded` has a second one, for a column instead of the generation.
CODES: dict[str, str] = {
    "ConflictError": "cas-undiagnosed",
    "ErrRecordVersionConflict": "cas-stale",
    "Superseded": "cas-superseded",
    "AttemptsExhausted": "cas-exhausted",
    "RecordMissing": "cas-missing",
    "TransientConflict": "cas-transient",
    "MissingExpectation": "cas-no-expectation",
    "InvalidExpectation": "cas-invalid-expectation",
    "IllegalTransition": "cas-illegal-transition",
    "UnknownOutcome": "cas-unknown-outcome",
    "CannotRetryHere": "cas-cannot-retry",
    "RetriesExhausted": "cas-retries-exhausted",
    "Livelocked": "cas-livelocked",
    "ChecksumMismatch": "cas-checksum",
    "UnsupportedBackend": "cas-unsupported",
}
ALL_CODES = sorted({*CODES.values(), "cas-wrong-state"})
PAGES = Path(__file__).parents[2] / "docs" / "errors"


@pytest.mark.parametrize("name", TREE)
def test_the_bases_are_exactly_these(name: str) -> None:
    """The tree that the module draws is the tree that Python sees."""
    assert tuple(base.__name__ for base in getattr(errors, name).__bases__) == TREE[name]


def test_there_is_no_other_error() -> None:
    """Every exception of the module is in the tree, and public."""
    found = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    }
    assert found == set(TREE) == set(errors.__all__)
    assert found <= set(cas_orm.__all__)


@pytest.mark.parametrize("name", CODES)
def test_every_error_has_its_code(name: str) -> None:
    """The code is there on the class and on every instance."""
    kind = getattr(errors, name)
    assert kind.code == CODES[name]
    assert kind("something").code == CODES[name]


def test_no_two_errors_share_a_code() -> None:
    """A code leads to one class."""
    assert len(set(CODES.values())) == len(CODES) == len(TREE) - 1


def test_outcomes_raise_codes_of_the_list_only() -> None:
    """What a verdict raises is in the list, too."""
    assert {code for _, code in REFUSALS.values()} <= set(ALL_CODES)


@pytest.mark.parametrize("code", ALL_CODES)
def test_every_code_has_its_page(code: str) -> None:
    """The reader of a message finds docs/errors/<code>.md, and the code in it."""
    page = PAGES / f"{code}.md"
    assert page.is_file(), f"docs/errors/{code}.md is missing"
    assert code in page.read_text(encoding="utf-8")


def test_every_page_has_its_code() -> None:
    """No page is left over from a code that is gone."""
    assert {page.stem for page in PAGES.glob("cas-*.md")} <= set(ALL_CODES)


def test_the_contracts_sixteen_codes() -> None:
    """The list is closed; a new code is a change of the contract."""
    assert len(ALL_CODES) == 16
    assert all(code.startswith("cas-") for code in ALL_CODES)
