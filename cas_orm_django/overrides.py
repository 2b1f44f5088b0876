"""Whose method runs: the user's, the guard's, or Django's."""

from __future__ import annotations

from django.db import models


def stands_before_guard(model: type[models.Model], name: str) -> bool:
    """Tell whether the class, or a base before the mixin, has the method."""
    return _definers(model, name)[0] is not _guard()


def is_djangos_behind_guard(model: type[models.Model], name: str) -> bool:
    """Tell whether the guard's ``super()`` call reaches Django's own method at once."""
    definers = _definers(model, name)
    return definers[definers.index(_guard()) + 1] is models.Model


def is_guards_own(model: type[models.Model], *names: str) -> bool:
    """Tell whether nobody but the guard and Django has these methods."""
    return all(
        not stands_before_guard(model, name) and is_djangos_behind_guard(model, name) for name in names
    )


def _definers(model: type[models.Model], name: str) -> list[type]:
    """Return the classes that define a method, in the order in which they run."""
    return [c for c in model.__mro__ if name in vars(c)]


def _guard() -> type:
    from cas_orm_django.mixins import CasVerbsMixin

    return CasVerbsMixin
