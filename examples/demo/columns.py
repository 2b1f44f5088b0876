"""The columns of the table. Another ORM is one more pair here, and one package with an `open_side`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from examples.demo.story import Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: light enough to be sent to another process, which opens the side there.

    Attributes:
        title: its heading.
        call: the call that it shows, the second line of the heading.
        guarded: whether it promises one winner per round.
        package: the package whose ``open_side(name, url)`` connects and returns the `Side`.
        name: the side's name there.
    """

    title: str
    call: str
    guarded: bool
    package: str
    name: str

    def open(self, url: str) -> Side:
        """Connect this process.

        Raises:
            DemoError: the database cannot be used.
        """
        side: Side = import_module(self.package).open_side(self.name, url)
        return side


Pair = tuple[Column, Column]

ON_DJANGO: Pair = (
    Column(
        title="last writer wins",
        call="save()",
        guarded=False,
        package="examples.demo.on_django",
        name="plain",
    ),
    Column(
        title="compare-and-swap",
        call="save_if_current()",
        guarded=True,
        package="examples.demo.on_django",
        name="cas",
    ),
)

PAIRS: tuple[Pair, ...] = (ON_DJANGO,)
