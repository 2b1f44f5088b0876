"""Every error code has a page, every page has a code, and the index lists them all."""

from __future__ import annotations

from pathlib import Path

import pytest

import cas_orm
from cas_orm import CasError, ConflictError, Outcome, Verdict

ERRORS = Path(__file__).parents[2] / "docs" / "errors"
SECTIONS = ("## What happened", "## Why", "## What to do", "## Example")


def codes() -> set[str]:
    """Collect the codes from the exception classes and from every verdict that raises."""
    classes = (getattr(cas_orm, name) for name in cas_orm.__all__)
    found = {c.code for c in classes if isinstance(c, type) and issubclass(c, CasError) and c is not CasError}
    for verdict in Verdict:
        try:
            Outcome(verdict).or_raise()
        except ConflictError as error:
            found.add(error.code)
    return found


def pages() -> set[str]:
    return {page.stem for page in ERRORS.glob("cas-*.md")}


def test_every_code_has_a_page() -> None:
    """An error message ends in a code, and the code leads to a page."""
    assert pages() == codes()


@pytest.mark.parametrize("code", sorted(pages()))
def test_a_page_says_what_why_and_what_to_do(code: str) -> None:
    """A page has the same four sections as every other, under its code as the title."""
    text = (ERRORS / f"{code}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {code}\n")
    positions = [text.find(section) for section in SECTIONS]
    assert -1 not in positions
    assert positions == sorted(positions)


def test_the_index_lists_every_page() -> None:
    """The index of errors names each code."""
    index = (ERRORS / "index.md").read_text(encoding="utf-8")
    assert all(f"\n{code}\n" in index for code in pages())
