"""Templates call what they find: no verb may be called from one."""

from __future__ import annotations

from typing import Any

import pytest
from django.template import Context, Engine

from tests.django.bazaar.look import numbers, statements
from tests.django.shop.models import Order

PREFIXES = ("", "try_", "a", "atry_")
ON_OBJECTS = ("save_if_current", "delete_if_current", "update_if_current", "new_generation_if_current")
BY_KEY = ("delete_if_current", "update_if_current", "new_generation_if_current")


def rendered(text: str, **context: Any) -> str:
    """Render a template."""
    return Engine().from_string(text).render(Context(context))


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("verb", ON_OBJECTS)
def test_a_verb_of_an_object(alias: str, verb: str, prefix: str) -> None:
    """Nothing is called, nothing is written."""
    order = Order.objects.create()
    assert getattr(order, prefix + verb).alters_data
    with statements(alias, 0):
        assert rendered("{{ o." + prefix + verb + " }}", o=order) == ""
    assert (Order.objects.count(), numbers(order, alias)) == (1, (1, 0))


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("verb", BY_KEY)
def test_a_verb_of_a_manager(alias: str, verb: str, prefix: str) -> None:
    """The manager's verbs, too."""
    Order.objects.create()
    assert getattr(Order.objects, prefix + verb).alters_data
    with statements(alias, 0):
        assert rendered("{{ m." + prefix + verb + " }}", m=Order.objects) == ""


@pytest.mark.parametrize("name", ["save", "save_base", "delete"])
def test_djangos_own(alias: str, name: str) -> None:
    """What Django marks stays marked behind the guard."""
    order = Order.objects.create()
    with statements(alias, 0):
        assert rendered("{{ o." + name + " }}", o=order) == ""


def test_what_only_reads(alias: str) -> None:
    """The accepted twin: columns and methods that read are shown."""
    order = Order.objects.create(title="a")
    assert (
        rendered("{{ o.title }} {{ o.record_version }} {{ o.get_deferred_fields }}", o=order) == "a 1 set()"
    )
    assert rendered("{{ m.count }}", m=Order.objects) == "1"
