"""The public names of the Django adapter that this part of the project promises."""

from __future__ import annotations

import pytest

import cas_orm_django
from tests.django.shop.models import Doc, Job, Order

MIXINS = ("CasVerbsMixin", "RecordVersionMixin", "RunSeqMixin", "CasMixin", "WriteTokenMixin")
MANAGERS = ("CasManager", "CasQuerySet")
KEYED = ("update_if_current", "delete_if_current", "new_generation_if_current")
ON_OBJECT = (*KEYED, "save_if_current")
LIFECYCLE = tuple(f"{verb}_if_current" for verb in ("start", "save_status", "finish", "heartbeat", "requeue"))
SETS = ("claim", "aclaim", "requeue_stale", "arequeue_stale")


def colours(verbs: tuple[str, ...]) -> list[str]:
    """Return every verb with its three twins."""
    return [f"{prefix}{verb}" for verb in verbs for prefix in ("", "try_", "a", "atry_")]


@pytest.mark.parametrize(
    "name", [*MIXINS, "JobMixin", *MANAGERS, *colours(KEYED + LIFECYCLE), *SETS, "settle", "asettle"]
)
def test_module(name: str) -> None:
    """Each is in the package, in ``__all__`` and in ``dir``."""
    assert getattr(cas_orm_django, name) is not None
    assert name in cas_orm_django.__all__
    assert name in dir(cas_orm_django)


def test_closed() -> None:
    """A name that is not in the list is an AttributeError; none is there twice."""
    with pytest.raises(AttributeError, match="nonsense"):
        cas_orm_django.nonsense  # noqa: B018
    assert len(set(cas_orm_django.__all__)) == len(cas_orm_django.__all__)


@pytest.mark.parametrize("name", colours(ON_OBJECT))
def test_objects(name: str) -> None:
    """Every verb is a method of the model; a model without a generation has no generation verb."""
    assert callable(getattr(Order, name))
    assert hasattr(Doc, name) is ("new_generation" not in name)


@pytest.mark.parametrize("name", colours(LIFECYCLE))
def test_jobs(name: str) -> None:
    """The verbs of the lifecycle are methods of jobs alone."""
    assert callable(getattr(Job, name))
    assert not hasattr(Order, name)


@pytest.mark.parametrize("name", [*colours(KEYED + LIFECYCLE), *SETS])
def test_managers(name: str) -> None:
    """Every by-key verb is a method of the manager."""
    assert callable(getattr(Order.objects, name))
