"""What is measured, and what happens before and after each of its rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from benchmarks.measure import Side
from benchmarks.sqla.databases import without_library
from benchmarks.sqla.models import TEXTS


@dataclass(frozen=True)
class Case:
    """One side: what is called, what ends a round, and whether it is the library's side or a rival's."""

    call: Side
    end: Callable[[], object]
    ours: bool = False

    @contextmanager
    def round(self) -> Iterator[None]:
        """Leave the library's listeners out of a rival's round; end the round's transaction."""
        with nullcontext() if self.ours else without_library():
            yield
        self.end()


def stored(session: Session, model: type[Any]) -> Any:
    """Store one object and return it, loaded."""
    obj = model()
    session.add(obj)
    session.commit()
    session.refresh(obj)
    return obj


def change(obj: Any) -> None:
    """Change the text and a number, as every side does before it writes."""
    obj.count += 1
    obj.text = TEXTS[obj.count & 1]
