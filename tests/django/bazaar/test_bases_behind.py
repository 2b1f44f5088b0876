"""The author's base stands behind the guard: its ``save`` and ``delete`` run all the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from cas_orm import ConflictError, ErrRecordVersionConflict, Expect, Verdict
from tests.django import tables
from tests.django.bazaar.look import numbers, statements
from tests.django.bazaar.models import Always, Hidden, Noted, Wrapped


@pytest.fixture
def calls() -> Iterator[list[str]]:
    """Yield what the author's base has noted so far."""
    Noted.calls.clear()
    yield Noted.calls
    Noted.calls.clear()


@pytest.mark.parametrize("verb", ["save", "save_if_current"])
def test_save_runs(alias: str, calls: list[str], verb: str) -> None:
    """Once, for the plain save and for the verb, in one statement."""
    noted = Noted.objects.create(title="a")
    calls.clear()
    with statements(alias, 1):
        getattr(noted, verb)()
    assert (calls, numbers(noted, alias)) == (["save"], (2, 0))


def test_save_refused(alias: str, calls: list[str]) -> None:
    """The belief reaches the statement behind the base; what fits is accepted."""
    noted = Noted.objects.create(title="a")
    stale = Noted.objects.get()
    assert noted.save_if_current(expect=Expect(title="a"))
    assert stale.try_save_if_current(expect=Expect(title="a")).verdict is Verdict.STALE
    assert noted.try_save_if_current(expect=Expect(title="b")).verdict is Verdict.WRONG_STATE


@pytest.mark.parametrize("verb", ["delete", "delete_if_current", "try_delete_if_current"])
def test_delete_runs_and_deletes(alias: str, calls: list[str], verb: str) -> None:
    """The author's code runs once; the row goes."""
    noted = Noted.objects.create(title="a")
    calls.clear()
    getattr(noted, verb)()
    assert (calls, Noted.objects.count()) == (["delete"], 0)


@pytest.mark.parametrize("verb", ["delete", "delete_if_current"])
def test_delete_refused(alias: str, calls: list[str], verb: str) -> None:
    """A stale object is refused, before the author's code hears of it."""
    noted = Noted.objects.create(title="a")
    Noted.objects.update(title="b")
    calls.clear()
    with pytest.raises(ErrRecordVersionConflict):
        getattr(noted, verb)()
    assert (calls, Noted.objects.count()) == ([], 1)


@pytest.mark.parametrize("verb", ["delete", "delete_if_current"])
def test_a_soft_delete_behind_the_guard(alias: str, verb: str) -> None:
    """The row stays, hidden; who held the old version is refused."""
    hidden = Hidden.objects.create(title="a")
    stale = Hidden.objects.get()
    key = hidden.pk
    getattr(hidden, verb)()
    row = tables.row(Hidden, key, alias)
    assert row["retired"]
    assert row["record_version"] >= 2
    with pytest.raises(ErrRecordVersionConflict):
        stale.save()
    found = Hidden.objects.get()
    found.title = "b"
    found.save()


@pytest.mark.parametrize("verb", ["delete", "delete_if_current"])
def test_a_soft_delete_of_a_stale_object(alias: str, verb: str) -> None:
    """Refused, and nothing is hidden."""
    hidden = Hidden.objects.create(title="a")
    Hidden.objects.update(title="b")
    with pytest.raises(ErrRecordVersionConflict):
        getattr(hidden, verb)()
    assert not Hidden.objects.get().retired


@pytest.mark.parametrize("verb", ["delete_if_current", "try_delete_if_current"])
def test_a_fenced_object_is_not_deleted(alias: str, verb: str) -> None:
    """Refused before the author's own ``delete`` runs; after a reload it does."""
    wrapped = Wrapped.objects.create(title="a")
    tables.rival(Wrapped, wrapped.pk, alias, record_version=2)
    assert not wrapped.try_save_if_current()
    Wrapped.goodbyes.clear()
    with statements(alias, 0), pytest.raises(ErrRecordVersionConflict) as caught:
        getattr(wrapped, verb)()
    assert (caught.value.fenced, Wrapped.goodbyes, Wrapped.objects.count()) == (True, [], 1)
    wrapped.refresh_from_db()
    getattr(wrapped, verb)()
    assert (Wrapped.goodbyes, Wrapped.objects.count()) == (["a"], 0)


def made(alias: str, **values: str) -> Always:
    """Return an object whose row was inserted by a stranger."""
    Always.objects.bulk_create([Always(**values)])
    return Always.objects.get()


def test_a_save_that_is_the_verb(alias: str) -> None:
    """``save()`` calls ``save_if_current()``, which must not call ``save()`` again without end."""
    always = made(alias, title="a")
    always.title = "b"
    with statements(alias, 1), suppress(ConflictError):  # what is told of the win: see below
        always.save()
    assert (tables.row(Always, always.pk, alias)["title"], numbers(always, alias)) == ("b", (2, 0))


def test_a_save_that_is_the_verb_refused(alias: str) -> None:
    """A stale object raises what the verb raises, and writes nothing."""
    always = made(alias)
    tables.rival(Always, always.pk, alias, record_version=2)
    with statements(alias, 2), pytest.raises(ErrRecordVersionConflict):
        always.save()
    assert numbers(always, alias) == (2, 0)


@pytest.mark.parametrize("verb", ["save", "save_if_current"])
def test_the_outcome_of_a_save_that_is_the_verb(alias: str, verb: str) -> None:
    """The row is written: a win."""
    always = made(alias)
    getattr(always, verb)()
    assert (always.record_version, numbers(always, alias)) == (2, (2, 0))


def test_the_belief_of_a_save_that_is_the_verb(alias: str) -> None:
    """What the caller believes is not met: refused, nothing written."""
    always = made(alias, title="a")
    assert not always.try_save_if_current(expect=Expect(title="b"))
    assert numbers(always, alias) == (1, 0)


def test_a_new_object_whose_save_is_the_verb(alias: str) -> None:
    """Inserted, as the verb inserts any other new object."""
    Always(title="a").save()
    assert Always.objects.get().record_version == 1


@pytest.mark.parametrize("verb", ["delete", "delete_if_current"])
def test_saving_after_a_soft_delete_behind_the_guard(alias: str, verb: str) -> None:
    """The object keeps its row: a save must not insert a second one."""
    hidden = Hidden.objects.create(title="a")
    getattr(hidden, verb)()
    hidden.title = "b"
    hidden.save()
    assert (Hidden.objects.count(), Hidden.objects.get().title) == (1, "b")
