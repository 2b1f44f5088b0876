"""A verb's request on its way to the write, through the user's own ``save()`` or ``delete()``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db import models
from django.db.models import Q

from cas_orm import ConflictError, Expect, MissingExpectation, Outcome, Verdict
from cas_orm.belief import names_version
from cas_orm_django import memory, write
from cas_orm_django.belief import Where
from cas_orm_django.columns import columns_of


@dataclass(slots=True)
class Parked:
    """What the caller of a verb asked for, on its way to the write through the user's own methods."""

    expect: Expect | None = None
    where: Where | None = None
    on_won: write.OnWon | None = None
    outcome: Outcome | None = None
    error: ConflictError | None = None

    def join(self, other: Parked) -> None:
        """Ask for both: what the verb's caller asked, and what the user's own method adds."""
        if self.expect is None or other.expect is None:
            self.expect = self.expect or other.expect
        else:
            self.expect &= other.expect
        if isinstance(self.where, Q) and isinstance(other.where, Q):
            self.where &= other.where
        else:
            self.where = other.where if self.where is None else self.where
        self.on_won = self.on_won or other.on_won

    def names_version(self) -> bool:
        """Tell whether the caller vouches for a version."""
        return names_version(self.expect)


def through_own_method(
    obj: models.Model, request: Parked, method: Callable[[], object], verb: str
) -> Outcome:
    """Run the user's own method with the request parked, and bring its outcome back."""
    memory.remember(obj).parked = request
    try:
        method()
    except ConflictError as error:
        if request.outcome is None or (error.verdict, error.key) != (request.outcome.verdict, obj.pk):
            raise
    finally:
        memory.remember(obj).parked = None
    if request.outcome is not None:
        return request.outcome
    label = columns_of(type(obj)).label
    return Outcome(Verdict.UNDIAGNOSED, label, obj.pk, verb=verb)  # the user's method wrote nothing


def unpark(obj: models.Model) -> Parked | None:
    """Take the parked request; a plain save() has none. The first write of the object consumes it."""
    remembered = memory.recall(obj)
    if remembered is None or remembered.parked is None:
        return None
    request, remembered.parked = remembered.parked, None
    return request


def check_fence(obj: models.Model) -> None:
    """Repeat an earlier refusal, unless the object is about to become another row."""
    remembered = memory.settle_marks(obj)
    if remembered is not None and not is_new(obj):
        remembered.check_fence()


def need_row(obj: models.Model, *, vouched: bool) -> None:
    """Refuse an object that has no key, or no version that was seen or is vouched for.

    Raises:
        MissingExpectation: there is nothing to compare with.
    """
    key = obj.pk
    keyless = key is None or (isinstance(key, tuple) and None in key)
    if keyless or (obj._state.adding and not vouched):
        raise MissingExpectation(
            f"{obj._meta.label}: an object that is being added has no row, and no version to compare "
            "[cas-no-expectation]"
        )


def is_new(obj: models.Model) -> bool:
    """Tell whether a save would be an INSERT: as Django sees it, or for want of a key."""
    pk = obj.pk
    return obj._state.adding or pk is None or (isinstance(pk, tuple) and None in pk)
