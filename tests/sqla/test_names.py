"""The public names of the SQLAlchemy adapter, and the verbs of its classes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import cas_orm_sqla
from tests.sqla.shapes import Point
from tests.sqla.shop import Doc, Order

BARE = ("CasVerbsMixin", "CasSession", "AsyncCasSession", "guard", "settle", "asettle")
MIXINS = ("RecordVersion", "RunSeq", "Cas", "WriteToken", "Job")
KEYED = ("update_if_current", "delete_if_current", "new_generation_if_current")
LIFECYCLE = ("start", "save_status", "finish", "heartbeat", "requeue")
ON_OBJECT = (*KEYED, "save_if_current")
RETRY = ("retry_on_conflict", "aretry_on_conflict")


def colours(verbs: tuple[str, ...]) -> list[str]:
    """Return every verb with its three twins."""
    return [f"{prefix}{verb}" for verb in verbs for prefix in ("", "try_", "a", "atry_")]


PROMISED = [
    *BARE,
    *(f"{mixin}{form}Mixin" for mixin in MIXINS for form in ("", "Dataclass")),
    *colours(KEYED),
    *colours(tuple(f"{verb}_if_current" for verb in LIFECYCLE)),
    *RETRY,
]


@pytest.mark.parametrize("name", PROMISED)
def test_module(name: str) -> None:
    """Each is in the package, in ``__all__`` and in ``dir``."""
    assert getattr(cas_orm_sqla, name) is not None
    assert name in cas_orm_sqla.__all__
    assert name in dir(cas_orm_sqla)


def test_closed() -> None:
    """Nothing is there twice, and everything that the package imports is public: there is no other list."""
    names = cas_orm_sqla.__all__
    assert len(set(names)) == len(names)
    assert names == sorted(names, key=lambda name: (not name[0].isupper(), name))
    tree = ast.parse(Path(cas_orm_sqla.__file__).read_text(encoding="utf-8"))
    shown = next(node for node in tree.body if isinstance(node, ast.If))  # to the type checkers
    imported = {a.name for node in shown.body if isinstance(node, ast.ImportFrom) for a in node.names}
    assert imported == set(names)
    with pytest.raises(AttributeError, match="nonsense"):
        cas_orm_sqla.nonsense  # noqa: B018


@pytest.mark.parametrize("name", colours(ON_OBJECT))
def test_objects(name: str) -> None:
    """Every verb is a method of the class; a class without a generation has no generation verb."""
    assert callable(getattr(Order, name))
    assert callable(getattr(Point, name))
    assert hasattr(Doc, name) is ("new_generation" not in name)


@pytest.mark.parametrize("name", [name for name in PROMISED if name.endswith("_if_current")])
def test_a_verb_knows_its_name(name: str) -> None:
    """In tracebacks and in ``help()``: the name under which it is called, and a docstring."""
    verb = getattr(cas_orm_sqla, name)
    assert verb.__name__ == name
    assert verb.__doc__
