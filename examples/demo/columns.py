"""The columns of the table. Another ORM is two more columns here, and one package with an `open_side`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from examples.demo.story import Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: light enough to be sent to another process, which opens the side there.

    Attributes:
        orm: whose column it is; columns of one ORM stand next to each other.
        title: its heading.
        guarded: whether it promises one winner per round.
        package: the package whose ``open_side(name, url)`` connects and returns the `Side`.
        name: the side's name there.
    """

    orm: str
    title: str
    guarded: bool
    package: str
    name: str

    def __str__(self) -> str:
        return f"{self.orm}, {self.title}"

    def open(self, url: str) -> Side:
        """Connect this process.

        Raises:
            DemoError: the database cannot be used.
        """
        side: Side = import_module(self.package).open_side(self.name, url)
        return side


def _pair(orm: str, package: str) -> tuple[Column, Column]:
    return (
        Column(orm=orm, title="last writer wins", guarded=False, package=package, name="plain"),
        Column(orm=orm, title="compare-and-swap", guarded=True, package=package, name="cas"),
    )


ON_DJANGO = _pair("Django", "examples.demo.on_django")
ON_SQLALCHEMY = _pair("SQLAlchemy", "examples.demo.on_sqlalchemy")

COLUMNS = (*ON_DJANGO, *ON_SQLALCHEMY)
