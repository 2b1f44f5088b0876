"""Models whose author wrapped ``save``, ``save_base`` or ``delete``: their code runs, the guard stays."""

from __future__ import annotations

import pytest

from cas_orm import ConflictError, ErrRecordVersionConflict, Expect, Verdict
from tests.django import tables
from tests.django.bazaar.look import numbers, statements
from tests.django.bazaar.models import Based, Closing, Early, Retired, Swallowing, Wrapped


@pytest.mark.parametrize("verb", ["save", "save_if_current"])
def test_save_base_runs(alias: str, verb: str) -> None:
    """Once, for the plain save and for the verb, in one statement."""
    based = Based.objects.create(title="A")
    based.title = "B"
    with statements(alias, 1):
        getattr(based, verb)()
    assert (tables.row(Based, based.pk, alias)["slug"], numbers(based, alias)) == ("b", (2, 0))


def test_save_base_refused(alias: str) -> None:
    """The belief reaches the statement behind the override."""
    based = Based.objects.create(title="A")
    assert based.try_save_if_current(expect=Expect(slug="other")).verdict is Verdict.WRONG_STATE
    fresh = Based.objects.get()
    assert fresh.save_if_current(expect=Expect(slug="a"))


def test_a_save_that_swallows_conflicts(alias: str) -> None:
    """The plain save stays silent, as its author wants; the verb tells the truth."""
    thing = Swallowing.objects.create(title="a")
    tables.rival(Swallowing, thing.pk, alias, record_version=2)
    thing.save()
    assert numbers(thing, alias) == (2, 0)
    loser = Swallowing.objects.get()
    tables.rival(Swallowing, thing.pk, alias, record_version=3)
    assert loser.try_save_if_current().verdict is Verdict.STALE
    again = Swallowing.objects.get()
    tables.rival(Swallowing, thing.pk, alias, record_version=4)
    with pytest.raises(ErrRecordVersionConflict):
        again.save_if_current()
    assert Swallowing.objects.get().save_if_current().record_version == 5


def test_a_swallowed_refusal_of_a_fenced_object(alias: str) -> None:
    """Refused before: the verb is refused again, even though ``save`` would hide it."""
    thing = Swallowing.objects.create()
    tables.rival(Swallowing, thing.pk, alias, record_version=2)
    assert not thing.try_save_if_current()
    with statements(alias, 0), pytest.raises(ErrRecordVersionConflict) as caught:
        thing.save_if_current()
    assert caught.value.fenced


def test_a_save_that_returns_early(alias: str) -> None:
    """Nothing was written: never a win. Unlocked, it is one."""
    early = Early.objects.create()
    early.locked = True
    with statements(alias, 0):
        assert not early.try_save_if_current()
        with pytest.raises(ConflictError):
            early.save_if_current()
    assert numbers(early, alias) == (1, 0)
    early.locked = False
    assert early.save_if_current().record_version == 2


def test_a_belief_parked_for_a_save_that_returned_early(alias: str) -> None:
    """It is not left lying about for the next save."""
    early = Early.objects.create(title="a")
    early.locked = True
    early.try_save_if_current(expect=Expect(title="nonsense"), on_won=pytest.fail)
    early.locked = False
    early.save()
    assert numbers(early, alias) == (2, 0)


def test_a_save_that_writes_twice(alias: str) -> None:
    """Both writes are guarded, the belief is the first one's, the object is in step after both."""
    closing = Closing.objects.create()
    assert (closing.record_version, closing.saves) == (2, 1)
    closing.save_if_current(expect=Expect(saves=1))
    assert (closing.record_version, numbers(closing, alias)) == (4, (4, 0))
    assert closing.try_save_if_current(expect=Expect(saves=1)).verdict is Verdict.WRONG_STATE


@pytest.mark.parametrize("verb", ["delete", "delete_if_current"])
def test_delete_runs_and_deletes(alias: str, verb: str) -> None:
    """The author's code runs for both; the row goes."""
    Wrapped.goodbyes.clear()
    getattr(Wrapped.objects.create(title="a"), verb)()
    assert (Wrapped.goodbyes, Wrapped.objects.count()) == (["a"], 0)


def test_delete_behind_an_override_refused(alias: str) -> None:
    """Belief and refusal pass through the override, and back out as an outcome."""
    wrapped = Wrapped.objects.create(title="a")
    assert wrapped.try_delete_if_current(expect=Expect(title="b")).verdict is Verdict.WRONG_STATE
    stale = Wrapped.objects.get()
    Wrapped.objects.update(title="c")
    with pytest.raises(ErrRecordVersionConflict):
        stale.delete()
    assert Wrapped.objects.get().delete_if_current(expect=Expect(title="c"))


def test_a_soft_delete(alias: str) -> None:
    """A delete that is an update: guarded by the save inside it, with the verb's belief."""
    thing = Retired.objects.create(title="a")
    stale = Retired.objects.get()
    assert thing.delete_if_current(expect=Expect(title="a"))
    assert (Retired.objects.count(), Retired.everything.get().retired) == (0, True)
    assert numbers(thing, alias) == (2, 0)
    assert stale.try_delete_if_current().verdict is Verdict.STALE


def test_a_soft_deleted_row_can_be_saved_and_reloaded(alias: str) -> None:
    """The manager that hides it is not part of the write path."""
    thing = Retired.objects.create(title="a")
    thing.delete()
    thing.title = "b"
    thing.save()
    assert Retired.everything.get().title == "b"
    tables.rival(Retired, thing.pk, alias, record_version=9)
    assert thing.try_save_if_current().verdict is Verdict.STALE
    thing.refresh_from_db(from_queryset=Retired.everything.all())
    thing.save()
    assert numbers(thing, alias) == (10, 0)
