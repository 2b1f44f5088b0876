"""Every Python block of the README and of the documentation runs, and says what it shows."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("sybil")
from tests.docs.run_document import examples_of

ROOT = Path(__file__).parents[2]
RUNNER = Path(__file__).with_name("run_document.py")

ABOUT_ONE_ORM = {
    "autoflush-and-refused-objects",
    "guard-a-session-factory",
    "set-up-the-database",
    "use-sqlmodel",
}
#: Guides that define the Django models which they show.
BRING_THEIR_OWN = {
    "adopt-an-existing-model",
    "run-a-workflow",
    "run-jobs",
    "survive-a-lost-connection",
    "cancel-a-job",
    "choose-what-bumps-the-version",
    "fence-off-zombies",
}


def documents() -> list[Path]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if "_build" not in page.parts and examples_of(page)]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def execute(page: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(RUNNER), str(page)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},  # these packages, whatever is installed
        timeout=120,
    )


@pytest.mark.parametrize("page", documents(), ids=name)
def test_the_examples_of_a_page_run(page: Path) -> None:
    """The page's examples run top to bottom without an error, and print what the page shows."""
    result = execute(page)
    assert result.returncode == 0, f"{name(page)}\n{result.stdout}\n{result.stderr}"


def test_a_wrong_example_is_noticed(tmp_path: Path) -> None:
    """The runner fails on a false claim: the tests above would notice one."""
    page = tmp_path / "wrong.md"
    page.write_text("```python\n>>> 1 + 1\n3\n```\n", encoding="utf-8")
    assert execute(page).returncode != 0


@pytest.mark.parametrize("models", ["shop", "store"])
def test_the_guides_show_both_orms(models: str) -> None:
    """Each guide has an executed half for each ORM, on its own models, unless it is about one alone."""
    guides = {
        page.stem: page.read_text(encoding="utf-8") for page in documents() if page.parent.name == "how-to"
    }
    without = {stem for stem, text in guides.items() if f"from {models}.models import" not in text}
    assert without <= ABOUT_ONE_ORM | BRING_THEIR_OWN


def test_the_readme_has_examples() -> None:
    """The README is among the documents; it could otherwise lose its example unnoticed."""
    assert ROOT / "README.md" in documents()


@pytest.mark.parametrize("package", ["cas_orm", "cas_orm_django", "cas_orm_sqla"])
def test_the_reference_names_everything_public(package: str) -> None:
    """A public name that the reference forgets cannot be looked up. Twins on Django are described once."""
    page = {"cas_orm": "core", "cas_orm_django": "django", "cas_orm_sqla": "sqlalchemy"}[package]
    text = (ROOT / "docs" / "reference" / f"{page}.md").read_text(encoding="utf-8")
    names = set(import_module(package).__all__)
    if package == "cas_orm":  # automodule lists the errors
        names -= {name for name in names if hasattr(import_module("cas_orm.errors"), name)} | {"UNSET"}
    if package == "cas_orm_django":
        names = {name for name in names if not name.startswith(("atry_", "try_"))}
        names -= {f"a{name}" for name in names}
    assert {name for name in names if f"{package}.{name}\n" not in text} == set()
