"""Lay text out in narrow columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from textwrap import wrap

#: A comma between two columns or assignments; those stay in one piece where they fit. No value has one.
COMMAS = re.compile(r",\s+")
HANGING = " " * 4
GLUE = "\N{NO-BREAK SPACE}"

#: A clause starts a line. The values of the story hold none of these words in capitals.
CLAUSES = re.compile(r"\s+(?=(?:SET|FROM|WHERE|AND|ORDER BY|LIMIT|RETURNING)\b)")


def statement(sql: str, width: int) -> list[str]:
    """Break a statement before its clauses; conditions are indented under WHERE."""
    lines: list[str] = []
    for number, clause in enumerate(CLAUSES.split(sql)):
        indent = "" if number == 0 else "   " if clause.startswith("AND") else " "
        room = width - len(indent) - len(HANGING)
        parts = COMMAS.split(clause)
        glued = [part.replace(" ", GLUE) if len(part) < room else part for part in parts[1:]]
        lines += wrap(
            ", ".join([parts[0], *glued]),
            width,
            initial_indent=indent,
            subsequent_indent=indent + HANGING,
            break_on_hyphens=False,
        )
    return [line.replace(GLUE, " ") for line in lines]


def side_by_side(cells: Sequence[Sequence[str]], width: int, gap: str = "  ") -> list[str]:
    """Put blocks of lines next to each other; without empty lines at the end."""
    rows = [gap.join(line.ljust(width) for line in row).rstrip() for row in zip_longest(*cells, fillvalue="")]
    while rows and not rows[-1]:
        rows.pop()
    return rows


def columns(label: str, cells: Sequence[str], labels: int, widths: Sequence[int]) -> str:
    """Put a label before right-aligned cells."""
    aligned = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return (label.ljust(labels) + "".join(aligned)).rstrip()
