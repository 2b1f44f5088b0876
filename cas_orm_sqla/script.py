"""A conditional write made ready: which statements, with which parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Dialect

from cas_orm import script as core
from cas_orm_sqla.belief import AttributeBelief
from cas_orm_sqla.columns import Attribute, Columns
from cas_orm_sqla.kinds import is_expression
from cas_orm_sqla.statement import SET, Rises, Statement, belief_params, delete_shape, update_shape

#: Shapes kept per mapper; reached only by code that invents new attribute sets.
MOST_SHAPES: Final = 512


@dataclass(slots=True)
class Script(core.Script[Columns, Attribute]):
    """A conditional write on a mapper's tables.

    Attributes:
        identity: the primary key, as a tuple.
        steps: statements and their parameters, the version's own table first.
    """

    identity: tuple[Any, ...] = ()
    steps: list[tuple[Statement, dict[str, Any]]] = field(default_factory=list)

    @property
    def in_savepoint(self) -> bool:
        """Whether it takes more than one statement, and so a savepoint of its own."""
        return len(self.steps) > 1 or self.after is not None

    @property
    def unseen(self) -> list[str]:
        """Attributes whose new values only the database knows."""
        return [name for statement, _ in self.steps for name in statement.unseen]


def update_script(
    columns: Columns,
    dialect: Dialect,
    identity: tuple[Any, ...],
    belief: AttributeBelief,
    values: Mapping[str, Any],
    *,
    verb: str,
    bumps: bool = True,
    hands_over: bool = False,
    token: bytes | None = None,
) -> Script:
    """Make an update ready.

    Args:
        columns: the mapper's roles.
        dialect: the dialect of the connection.
        identity: the primary key.
        belief: what stands in the WHERE of the version's own table.
        values: what to assign, by attribute name; SQL expressions among them are computed there.
        verb: the verb's short name.
        bumps: whether the version rises by one.
        hands_over: whether the generation rises by one.
        token: the write token to leave in the row.
    """
    computed = {name: value for name, value in values.items() if is_expression(value)}
    names = tuple([name for name in values if name not in computed])
    shape_key = (dialect, bumps, hands_over, token is not None, belief.shape(), names)
    kept = not computed and belief.where is None
    shape = columns.shapes.get(shape_key) if kept else None
    if shape is None:
        rises = Rises(bumps, hands_over, token is not None)
        shape = update_shape(columns, dialect, names, computed, belief, rises)
        if kept:
            if len(columns.shapes) >= MOST_SHAPES:
                columns.shapes.clear()
            columns.shapes[shape_key] = shape
    steps = []
    for statement in shape:
        params = {param: values[name] for param, name in statement.binds}
        params.update(zip(statement.keys, identity, strict=True))
        if statement.part is columns.owner:
            params.update(belief_params(belief))
            if token is not None and columns.token is not None:
                params[SET + columns.token.key] = token
        steps.append((statement, params))
    return Script(
        columns,
        shown(identity),
        belief,
        verb,
        values,
        bumps,
        hands_over,
        token,
        identity=identity,
        steps=steps,
    )


def delete_script(columns: Columns, identity: tuple[Any, ...], belief: AttributeBelief) -> Script:
    """Make a delete of one row ready, for mappers whose ORM has nothing to cascade to."""
    steps = []
    for statement in delete_shape(columns, belief):
        params = dict(zip(statement.keys, identity, strict=True))
        steps.append((statement, params | belief_params(belief)))
    return Script(columns, shown(identity), belief, "delete", {}, identity=identity, steps=steps)


def told(columns: Columns, identity: tuple[Any, ...], belief: AttributeBelief) -> Script:
    """Return a write that somebody else has sent, of which only the row and the belief are known."""
    return Script(columns, shown(identity), belief, "save", {}, identity=identity)


def shown(identity: tuple[Any, ...]) -> Any:
    """Return the primary key as outcomes show it: a scalar, a tuple only when it is composite."""
    return identity[0] if len(identity) == 1 else identity
