"""Progress: one line that moves on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType
from typing import Self, TextIO

BAR = 30  # characters
REFRESH = 0.05  # seconds between two drawings of the moving line
PLAIN_LINES = 4


class Progress:
    """Show how many of the rounds of one race have been played."""

    def __init__(self, title: str, rounds: int, stream: TextIO | None = None) -> None:
        self._title, self._rounds = title, rounds
        self._stream = stream or sys.stdout
        self._moves = self._stream.isatty()
        self._begun = monotonic()
        self._drawn = 0.0
        self._played = 0

    def __enter__(self) -> Self:
        if self._moves:
            self._draw(0)
        else:
            self._say(f"{self._title}: starting two processes\n")
        return self

    def at(self, played: int) -> None:
        """Tell that so many rounds have been played."""
        self._played = played
        if not self._moves:
            step = -(-self._rounds // PLAIN_LINES)
            if played % step == 0 and played < self._rounds:
                self._say(f"{self._title}: {played} of {self._rounds} rounds\n")
        elif monotonic() - self._drawn >= REFRESH:
            self._draw(played)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        took = monotonic() - self._begun
        start = "\r\x1b[K" if self._moves else ""
        self._say(f"{start}{self._title}: {self._played} of {self._rounds} rounds, {took:.1f} s\n")

    def _draw(self, played: int) -> None:
        self._drawn = monotonic()
        bar = ("#" * (BAR * played // self._rounds)).ljust(BAR, ".")
        self._say(f"\r{self._title} [{bar}] {played} of {self._rounds}")

    def _say(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
