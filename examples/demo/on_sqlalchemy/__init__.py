"""The two sides as a SQLAlchemy team writes them: `sides` is the code to read, the rest makes it run."""

from __future__ import annotations

from examples.demo.on_sqlalchemy.engine import connect
from examples.demo.on_sqlalchemy.sides import SIDES
from examples.demo.story import Side


def open_side(name: str, url: str) -> Side:
    """Connect this process and return the side.

    Raises:
        DemoError: the database cannot be used.
    """
    return SIDES[name](connect(url))
