"""``manage.py cas_requeue_stale``: take jobs back from workers that have died. For a cron job or a timer."""

from __future__ import annotations

import datetime
from argparse import ArgumentParser
from typing import Any

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from django.db.utils import Error

from cas_orm import CasError
from cas_orm_django import JobMixin, requeue_stale


class Command(BaseCommand):
    """Sweep the named job models, or all of them."""

    help = (
        "Requeues running jobs whose last heartbeat is too old by the database's clock, and closes those "
        "whose attempts are spent. Safe to run at any time, and more than once at a time."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take models, the age of a heartbeat, and a database."""
        parser.add_argument(
            "models",
            nargs="*",
            metavar="app_label.Model",
            help="models with JobMixin; all of them by default",
        )
        parser.add_argument(
            "--older-than",
            required=True,
            type=float,
            metavar="SECONDS",
            help="the age of a heartbeat, in seconds, from which on a worker counts as dead",
        )
        parser.add_argument(
            "--database", metavar="ALIAS", help="the database; by default the router's choice for each model"
        )

    def handle(self, *labels: str, **options: Any) -> None:
        """Sweep model by model. One that fails does not keep the others from being swept.

        Raises:
            CommandError: an argument does not fit, or a model could not be swept.
        """
        age, alias = _age(options["older_than"]), options["database"]
        if alias is not None and alias not in connections:
            raise CommandError(f"There is no database {alias!r} in DATABASES.")
        failed = []
        for model in _models(options["models"]):
            try:
                counts = requeue_stale(model, age, using=alias)
            except (CasError, Error, ImproperlyConfigured) as error:
                failed.append(f"{model._meta.label}: {error}")
                continue
            if options["verbosity"]:
                self.stdout.write(
                    f"{model._meta.label}: {counts.requeued} requeued, {counts.gave_up} gave up"
                )
        if failed:
            raise CommandError("\n".join(failed))


def _age(seconds: float) -> datetime.timedelta:
    try:
        age = datetime.timedelta(seconds=seconds)
    except (ValueError, OverflowError) as error:
        raise CommandError(f"--older-than {seconds}: {error}") from error
    if age < datetime.timedelta(0):
        raise CommandError("--older-than must not be negative.")
    return age


def _models(labels: list[str]) -> list[type[JobMixin]]:
    if not labels:
        return [m for m in apps.get_models() if issubclass(m, JobMixin) and not m._meta.proxy]
    named = []
    for label in labels:
        try:
            model = apps.get_model(label)
        except (LookupError, ValueError) as error:
            raise CommandError(f"{label}: {error}") from error
        if not issubclass(model, JobMixin):
            raise CommandError(f"{label} is not a job: it has no JobMixin.")
        named.append(model)
    return named
