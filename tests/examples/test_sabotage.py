"""The exit codes tell the truth: one side is spoilt, and the demo notices."""

from __future__ import annotations

import pytest

from tests.examples.conftest import demo, ended

DRIVER = "tests.examples.saboteur"


@pytest.mark.parametrize(
    ("column", "how", "code", "message"),
    [
        ("cas", "two_winners", 1, "had 2 winners"),
        ("cas", "sore_loser", 1, "is not what the"),
        ("cas", "no_winner", 1, "had 0 winners"),
        ("plain", "no_rival", 2, "lost nothing: no race"),
        ("cas", "crash", 3, "the canceller"),
    ],
)
def test_a_spoilt_side_is_noticed(column: str, how: str, code: int, message: str) -> None:
    """Every exit code is reached, and says why."""
    process = demo(DRIVER, column, how)
    output = ended(process)
    assert process.returncode == code, output
    assert message in " ".join(output.split())
    assert ("FAILED" in output) is (code in (1, 2))
    assert "What it means" not in output
    if how != "crash":
        assert max(map(len, output.splitlines())) <= 80


def test_the_driver_alone_spoils_nothing() -> None:
    """Its twin without sabotage passes, so the codes above come from the sabotage."""
    process = demo(DRIVER, "neither", "crash")
    output = ended(process)
    assert process.returncode == 0, output
