"""Signals as Django sends them; ``post_save`` only after a win, with the version already in step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from django.db.models.signals import post_delete, post_save, pre_delete, pre_save

from cas_orm import ErrRecordVersionConflict
from tests.django import tables
from tests.django.shop.models import Order

SIGNALS = {"pre_save": pre_save, "post_save": post_save, "pre_delete": pre_delete, "post_delete": post_delete}


@pytest.fixture
def sent() -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """Collect what is sent for orders, with the version at that moment."""
    log: list[tuple[str, dict[str, Any]]] = []
    receivers = []
    for name, signal in SIGNALS.items():

        def receive(sender: type, instance: Order, name: str = name, **facts: Any) -> None:
            log.append((name, {**facts, "version": instance.record_version}))

        receivers.append((signal, receive))
        signal.connect(receive, sender=Order, weak=False)
    yield log
    for signal, receive in receivers:
        signal.disconnect(receive, sender=Order)


@pytest.mark.parametrize("verb", ["save", "save_if_current"])
def test_a_win(alias: str, sent: list[tuple[str, dict[str, Any]]], verb: str) -> None:
    """Both signals, ``created`` false, the new version already there in ``post_save``."""
    order = Order.objects.create()
    sent.clear()
    getattr(order, verb)()
    (before, first), (after, second) = sent
    assert (before, after) == ("pre_save", "post_save")
    assert (first["version"], second["version"]) == (1, 2)
    assert (first["raw"], first["using"], first["update_fields"]) == (False, alias, None)
    assert (second["created"], second["raw"], second["using"], second["update_fields"]) == (
        False,
        False,
        alias,
        None,
    )


@pytest.mark.parametrize("verb", ["save", "save_if_current"])
def test_update_fields(alias: str, sent: list[tuple[str, dict[str, Any]]], verb: str) -> None:
    """The caller's names reach the receivers."""
    order = Order.objects.create()
    sent.clear()
    getattr(order, verb)(update_fields=["title"])
    for _, facts in sent:
        assert "title" in facts["update_fields"]
        assert set(facts["update_fields"]) <= {"title", "record_version"}


@pytest.mark.parametrize("verb", ["save", "try_save_if_current"])
def test_a_refusal(alias: str, sent: list[tuple[str, dict[str, Any]]], verb: str) -> None:
    """No ``post_save`` for a loser; nothing at all for a fenced one."""
    order = Order.objects.create()
    tables.rival(Order, order.pk, alias, record_version=2)
    sent.clear()
    with suppress(ErrRecordVersionConflict):
        getattr(order, verb)()
    assert [name for name, _ in sent] == ["pre_save"]


def test_a_receiver_that_saves_again(alias: str, sent: list[tuple[str, dict[str, Any]]]) -> None:
    """A handler of ``post_save`` may save: the version is in step."""
    seen: list[int] = []

    def again(sender: type, instance: Order, created: bool, **_: Any) -> None:
        if not created and len(seen) < 2:
            seen.append(instance.record_version)
            instance.save()

    post_save.connect(again, sender=Order, weak=False)
    try:
        order = Order.objects.create()
        order.save_if_current()
    finally:
        post_save.disconnect(again, sender=Order)
    assert seen == [2, 3]
    assert tables.row(Order, order.pk, alias)["record_version"] == order.record_version == 4


def test_a_receiver_that_changes_a_field(alias: str) -> None:
    """What ``pre_save`` assigns is written."""

    def stamp(sender: type, instance: Order, **_: Any) -> None:
        instance.note = "stamped"

    order = Order.objects.create()
    pre_save.connect(stamp, sender=Order, weak=False)
    try:
        order.save_if_current()
    finally:
        pre_save.disconnect(stamp, sender=Order)
    assert tables.row(Order, order.pk, alias)["note"] == "stamped"


def test_delete(alias: str, sent: list[tuple[str, dict[str, Any]]]) -> None:
    """A winning delete sends both, a losing one no ``post_delete``."""
    order, loser = Order.objects.create(), Order.objects.create()
    tables.rival(Order, loser.pk, alias, record_version=2)
    sent.clear()
    order.delete_if_current()
    assert [name for name, _ in sent] == ["pre_delete", "post_delete"]
    sent.clear()
    loser.try_delete_if_current()
    assert "post_delete" not in [name for name, _ in sent]
