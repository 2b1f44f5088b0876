"""``manage.py cas_requeue_stale``: what it sweeps, what it prints, how it fails."""

from __future__ import annotations

import datetime as dt
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from tests.django.shop.models import Chore, Job

LONG_AGO = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
STALE = {"heartbeat_at": LONG_AGO, "run_seq": 1, "attempts": 2}


def run(*args: str, **options: Any) -> list[str]:
    """Call the command and return the lines that it prints."""
    out = StringIO()
    call_command("cas_requeue_stale", *args, stdout=out, **options)
    return out.getvalue().splitlines()


def test_all_job_models(alias: str) -> None:
    """Each with its counts; a fresh job is left alone."""
    jobs = [Job.objects.create(state="running", **STALE) for _ in range(2)]
    Job.objects.create().start_if_current()
    chore = Chore.objects.create(state="busy", **STALE)
    lines = run("--older-than", "60")
    assert sorted(line for line in lines if line.startswith("shop.")) == [
        "shop.Chore: 0 requeued, 1 gave up",
        "shop.Job: 2 requeued, 0 gave up",
    ]
    assert {Job.objects.get(pk=job.pk).state for job in jobs} == {"pending"}
    assert Job.objects.filter(state="running").count() == 1
    assert Chore.objects.get(pk=chore.pk).result == "gave_up"


def test_named_models(alias: str) -> None:
    """The others are not swept; silent when asked to be."""
    Job.objects.create(state="running", **STALE)
    Chore.objects.create(state="busy", **STALE)
    assert run("shop.Chore", "--older-than", "60.5") == ["shop.Chore: 0 requeued, 1 gave up"]
    assert Job.objects.filter(state="running").count() == 1
    assert run("shop.Job", "shop.Chore", "--older-than", "60", verbosity=0) == []
    assert not Job.objects.filter(state="running").exists()


def test_a_named_database(alias: str) -> None:
    """The one that is named; one that is not there is an error."""
    Job.objects.create(state="running", **STALE)
    assert run("shop.Job", "--older-than", "60", "--database", alias) == ["shop.Job: 1 requeued, 0 gave up"]
    with pytest.raises(CommandError, match="nowhere"):
        run("--older-than", "60", "--database", "nowhere")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "--older-than"),
        (("--older-than", "soon"), "soon"),
        (("--older-than", "-1"), "negative"),
        (("--older-than", "nan"), "nan"),
        (("--older-than", "inf"), "inf"),
        (("shop.Order", "--older-than", "60"), "no JobMixin"),
        (("shop.Nothing", "--older-than", "60"), "Nothing"),
        (("nonsense", "--older-than", "60"), "nonsense"),
    ],
)
def test_arguments_that_do_not_fit(alias: str, args: tuple[str, ...], message: str) -> None:
    """A CommandError that names them; nothing is swept."""
    Job.objects.create(state="running", **STALE)
    with pytest.raises(CommandError, match=message):
        run(*args)
    assert Job.objects.filter(state="running").count() == 1


def test_one_model_that_fails(alias: str) -> None:
    """The others are swept; then it is an error that names the model."""
    Job.objects.create(state="running", **STALE)
    Chore.objects.create(state="busy", **STALE)
    connection = connections[alias]
    chore, away = (connection.ops.quote_name(name) for name in ("shop_chore", "shop_chore_away"))
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {chore} RENAME TO {away}")
    try:
        with pytest.raises(CommandError, match=r"shop\.Chore: .*shop_chore"):
            run("shop.Chore", "shop.Job", "--older-than", "60")
        assert not Job.objects.filter(state="running").exists()
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {away} RENAME TO {chore}")
