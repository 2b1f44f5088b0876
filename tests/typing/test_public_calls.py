"""The public calls in this folder type-check under mypy and pyright, and the marked mistakes do not."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FILES = sorted(HERE.glob("*_calls.py")) + sorted(HERE.glob("*_mistakes.py"))

CHECKERS = {
    "mypy": ["--strict", "--warn-unused-ignores", "--no-error-summary"],
    "pyright": ["--warnings", "--pythonpath", sys.executable],
}


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_public_calls_type_check(checker: str) -> None:
    """A checker accepts every call in this folder, and finds every marked mistake."""
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    result = subprocess.run(
        [sys.executable, "-m", checker, *CHECKERS[checker], *map(str, FILES)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=300,
    )
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
