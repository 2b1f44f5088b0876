"""Models of jobs of other shapes than one plain table are claimed and swept as well."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections, models, transaction
from django.test.utils import isolate_apps

from cas_orm import StaleCounts
from cas_orm_django import JobMixin, claim, requeue_stale
from tests.django.shop.models import Job

HOUR = dt.timedelta(hours=1)
STALE = {"state": "running", "run_seq": 1, "heartbeat_at": dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)}


@pytest.fixture
def shapes(alias: str) -> Iterator[dict[str, type[Any]]]:
    """Yield models with tables that exist for one test."""
    with isolate_apps("tests.django.shop"):

        class Task(JobMixin, models.Model):
            class Meta:
                app_label = "shop"

        class Journey(Task):
            goal = models.CharField(max_length=9, default="")

            class Meta:
                app_label = "shop"

        class Errand(Task):
            class Meta:
                app_label = "shop"
                proxy = True

        class Cell(JobMixin, models.Model):
            pk = models.CompositePrimaryKey("row", "column")
            row = models.IntegerField()
            column = models.IntegerField()

            class Meta:
                app_label = "shop"

        made = [Task, Journey, Cell]
        with connections[alias].schema_editor() as editor:
            for model in made:
                editor.create_model(model)
        try:
            yield {model.__name__: model for model in (*made, Errand)}
        finally:
            with connections[alias].schema_editor() as editor:
                for model in reversed(made):
                    editor.delete_model(model)


def test_a_model_with_a_parent(shapes: dict[str, type[Any]]) -> None:
    """The child's rows alone, the version's table first; the parent's claim takes the rest."""
    task, journey = shapes["Task"], shapes["Journey"]
    task.objects.create()
    journey.objects.create(goal="home")
    (claimed,) = claim(journey, 9)
    assert (type(claimed), claimed.goal, claimed.state, claimed.attempts) == (journey, "home", "running", 1)
    assert claimed.finish_if_current("done", "ok")
    assert [type(job) for job in claim(task, 9)] == [task]
    assert sorted(task.objects.values_list("state", flat=True)) == ["done", "running"]


def test_a_sweep_of_a_model_with_a_parent(shapes: dict[str, type[Any]]) -> None:
    """The child's rows alone."""
    shapes["Task"].objects.create(**STALE)
    shapes["Journey"].objects.create(**STALE)
    assert requeue_stale(shapes["Journey"], HOUR) == StaleCounts(1, 0)
    assert requeue_stale(shapes["Task"], HOUR) == StaleCounts(1, 0)


def test_a_proxy(shapes: dict[str, type[Any]]) -> None:
    """It stands for the same rows; the objects are its own."""
    shapes["Task"].objects.create()
    (claimed,) = claim(shapes["Errand"], 1)
    assert type(claimed) is shapes["Errand"]
    assert claim(shapes["Task"], 1) == []


def test_a_key_of_two_columns(shapes: dict[str, type[Any]]) -> None:
    """In the order of the key; every column of the claimed objects is loaded."""
    cell = shapes["Cell"]
    for key in ((2, 1), (1, 2), (1, 1)):
        cell.objects.create(pk=key)
    claimed = claim(cell, 2)
    assert [job.pk for job in claimed] == [(1, 1), (1, 2)]
    assert [job.__dict__["attempts"] for job in claimed] == [1, 1]
    cell.objects.update(heartbeat_at=STALE["heartbeat_at"])
    assert requeue_stale(cell, HOUR) == StaleCounts(2, 0)


def test_autocommit_off(alias: str) -> None:
    """The caller's own transaction, which has no hooks: provisional, and undone by a rollback."""
    Job.objects.create()
    transaction.set_autocommit(False, using=alias)
    try:
        (job,) = claim(Job, 1)
        assert job.state == "running"
        with pytest.raises(transaction.TransactionManagementError):
            claim(Job, 1, on_won=lambda _: None)
    finally:
        transaction.rollback(using=alias)
        transaction.set_autocommit(True, using=alias)
    assert Job.objects.get().state == "pending"
