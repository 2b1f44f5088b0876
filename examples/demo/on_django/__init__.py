"""The two sides as a Django team writes them: `sides` is the code to read, the rest makes it run."""

from __future__ import annotations

from examples.demo.on_django.settings import connect
from examples.demo.story import Side


def open_side(name: str, url: str) -> Side:
    """Set Django up in this process, connect, and return the side.

    Raises:
        DemoError: the database cannot be used.
    """
    connect(url)
    from examples.demo.on_django.sides import SIDES  # models exist only once Django is set up

    return SIDES[name]()
