"""Users' own ``save()``, filtering managers, ``select_on_save``."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from cas_orm import ErrRecordVersionConflict, Expect, Verdict
from cas_orm_django import update_if_current
from tests.django import tables
from tests.django.shop.models import Journal, Ledger, Page


def test_the_users_save_runs(alias: str) -> None:
    """``save_if_current`` goes through the override, under the same belief, in one statement."""
    journal = Journal.objects.create(title="First Day")
    journal.title = "Second Day"
    with CaptureQueriesContext(connections[alias]) as sent:
        outcome = journal.save_if_current(expect=Expect(slug="first-day"))
    assert len(sent) == 1
    row = tables.row(Journal, journal.pk, alias)
    assert (outcome.verdict, outcome.record_version) == (Verdict.WON, 2)
    assert dict(outcome.expected) == {"record_version": 1, "run_seq": 0, "slug": "first-day"}
    assert (row["slug"], row["record_version"]) == ("second-day", 2)


def test_the_users_save_refused(alias: str) -> None:
    """The belief reaches the statement behind the override; both twins tell."""
    journal = Journal.objects.create(title="a")
    tables.rival(Journal, journal.pk, alias, slug="moved")
    outcome = journal.try_save_if_current(expect=Expect(slug="a"))
    assert outcome.verdict is Verdict.WRONG_STATE
    other = Journal.objects.get(pk=journal.pk)
    tables.rival(Journal, journal.pk, alias, record_version=5)
    with pytest.raises(ErrRecordVersionConflict):
        other.save_if_current()


def test_a_parked_belief_does_not_outlive_its_save(alias: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An override that fails leaves nothing behind for the next save."""
    journal = Journal.objects.create(title="a")

    def fail(self: Journal, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "save", fail)
        with pytest.raises(RuntimeError):
            journal.save_if_current(expect=Expect(slug="something else"))
    journal.save()
    assert journal.record_version == 2


def test_an_override_that_does_not_save(alias: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's ``save`` that returns without writing is never reported as a win."""
    journal = Journal.objects.create(title="a")
    monkeypatch.setattr(Journal, "save", lambda self, *args, **kwargs: None)
    with pytest.raises(Exception):  # noqa: B017  # any error is right, a win is not
        journal.save_if_current()
    assert tables.row(Journal, journal.pk, alias)["record_version"] == 1


def test_the_users_save_on_won(alias: str) -> None:
    """``on_won`` and ``update_fields`` reach the write too."""
    journal = Journal.objects.create(title="a")
    told: list[Any] = []
    journal.title = "b"
    journal.save_if_current(update_fields=["title"], on_won=told.append)
    assert [o.record_version for o in told] == [2]
    assert tables.row(Journal, journal.pk, alias)["slug"] == "a"


def test_a_hidden_row_is_still_a_row(alias: str) -> None:
    """A soft-deleted row is neither missing nor inserted again: the write path uses no manager."""
    page = Page.objects.create(title="a")
    page.hidden = True
    page.save_if_current()
    page.title = "b"
    assert page.save_if_current().record_version == 3
    page.save()
    assert update_if_current(Page, page.pk, expect=Expect(hidden=True), set={"title": "c"})
    tables.rival(Page, page.pk, alias, record_version=9)
    assert page.try_save_if_current().verdict is Verdict.STALE


def test_a_hidden_row_reloads(alias: str) -> None:
    """The fence of a hidden row is lifted by a reload through a manager that sees it."""
    page = Page.objects.create(title="a", hidden=True)
    tables.rival(Page, page.pk, alias, record_version=9)
    assert not page.try_save_if_current()
    page.refresh_from_db(from_queryset=Page.everything.all())
    assert page.save_if_current().record_version == 10


def test_select_on_save(alias: str) -> None:
    """Django's extra SELECT is not sent: one statement decides."""
    ledger = Ledger.objects.create()
    with CaptureQueriesContext(connections[alias]) as sent:
        ledger.save_if_current()
        ledger.save()
    assert [q["sql"].split()[0] for q in sent] == ["UPDATE", "UPDATE"]
