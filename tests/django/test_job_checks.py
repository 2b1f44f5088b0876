"""The options of a class of jobs, checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from django.db import models
from django.test.utils import isolate_apps

from cas_orm_django import JobMixin

NUMBERS = count()


@pytest.fixture(autouse=True)
def isolated(_open: None) -> Iterator[None]:
    """Keep the models of these tests out of the registry."""
    with isolate_apps("tests.django.shop"):
        yield


def found(**options: Any) -> dict[str, str]:
    """Return what the checks of ours say of a class of jobs with these options, by id."""
    body = {**options, "__module__": __name__, "Meta": type("Meta", (), {"app_label": "shop"})}
    made = type(JobMixin)(f"Made{next(NUMBERS)}", (JobMixin, models.Model), body)
    return {m.id: m.msg for m in made.check() if "cas" in (m.id or "")}


def test_the_defaults_are_fine() -> None:
    """Nothing is found, with a budget or without one."""
    assert found() == found(cas_max_attempts=3) == {}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"cas_gave_up": ("dead", "gave_up")}, "cas_gave_up"),
        ({"cas_gave_up": ("pending", "gave_up")}, "cas_gave_up"),
        ({"cas_terminal_states": ("done", "running")}, "terminal"),
        ({"cas_initial_state": "new"}, "no edge from 'new'"),
        ({"cas_max_attempts": 0}, "cas_max_attempts"),
    ],
)
def test_options_that_contradict_each_other(options: dict[str, Any], named: str) -> None:
    """Each is an error that says what is wrong."""
    messages = found(**options)
    assert set(messages) == {"cas_orm.E007"}
    assert named in messages["cas_orm.E007"]


def test_a_heartbeat_that_a_save_would_write() -> None:
    """A class with unversioned columns of its own has to name the heartbeat, too."""
    assert set(found(cas_unversioned_fields=("logs",))) == {"cas_orm.W003"}
    assert found(cas_unversioned_fields=("logs", "heartbeat_at")) == {}


def test_a_budget_that_cannot_be_given_up() -> None:
    """Without the edge to the state of ``cas_gave_up`` a spent budget has no end; no budget needs none."""
    edges = {"cas_transitions": {"pending": ("running",), "running": ("pending",)}}
    assert set(found(cas_max_attempts=1, **edges)) == {"cas_orm.W004"}
    assert found(**edges) == {}
