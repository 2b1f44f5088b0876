"""The exit codes tell the truth: one side is spoilt, and the demo notices."""

from __future__ import annotations

import pytest

from tests.examples.conftest import demo, ended

DRIVER = "tests.examples.saboteur"


ORMS = ("Django", "SQLAlchemy")


@pytest.mark.parametrize("orm", ORMS)
@pytest.mark.parametrize(
    ("column", "how", "code", "message"),
    [
        ("cas", "two_winners", 1, "had 2 winners"),
        ("cas", "sore_loser", 1, ": the row is not"),
        ("cas", "no_winner", 1, "had 0 winners"),
        ("plain", "no_rival", 2, "lost nothing: no race"),
        ("cas", "crash", 3, "the canceller"),
    ],
)
def test_a_spoilt_side_is_noticed(orm: str, column: str, how: str, code: int, message: str) -> None:
    """Every exit code is reached, and says why."""
    process = demo(DRIVER, orm, column, how)
    output = ended(process)
    assert process.returncode == code, output
    assert message in " ".join(output.split())
    assert (f"FAILED: {orm}" in output) is (code in (1, 2))
    assert "What it means" not in output
    if how != "crash":
        assert max(map(len, output.splitlines())) <= 80


@pytest.mark.parametrize("orm", ORMS)
def test_the_driver_alone_spoils_nothing(orm: str) -> None:
    """Its twin without sabotage passes, so the codes above come from the sabotage."""
    process = demo(DRIVER, orm, "neither", "crash")
    output = ended(process)
    assert process.returncode == 0, output
