"""Parents and their children: deletes and reloads that race with another writer."""

from __future__ import annotations

from cas_orm import Outcome, RecordMissing, Verdict
from tests.django import tables
from tests.django.shop.models import Cart, CartLine, Order
from tests.races.actors import Actor
from tests.races.on import EVERYWHERE, on


def hold(door: str, pair: list[Actor]) -> tuple[int, list[Cart]]:
    """Return a cart with a line, held by both."""
    cart = Cart.objects.using(door).create(name="a")
    CartLine.objects.using(door).create(cart=cart)
    return cart.pk, [actor.do(Cart.objects.using(door).get, pk=cart.pk) for actor in pair]


@on(*EVERYWHERE, "mariadb_rr")
def test_a_cascade_waits_for_a_save(door: str, pair: list[Actor]) -> None:
    """The delete that comes second takes no child with it."""
    early, late = pair
    key, (winner, loser) = hold(door, pair)
    early.begin()
    early.do(winner.save_if_current)
    waiting = late.blocks(loser.try_delete_if_current)
    early.commit()
    assert waiting.result(30).verdict is Verdict.STALE
    assert tables.row(Cart, key, door)["record_version"] == 2
    assert CartLine.objects.using(door).count() == 1


@on(*EVERYWHERE, "mariadb_rr")
def test_a_save_waits_for_a_cascade(door: str, pair: list[Actor]) -> None:
    """The save that comes second finds nothing and inserts nothing; it wins after a rollback."""
    early, late = pair
    for end in (Actor.rollback, Actor.commit):
        key, (winner, loser) = hold(door, pair)
        early.begin()
        early.do(winner.delete_if_current)
        waiting = late.blocks(loser.try_save_if_current)
        end(early)
        outcome: Outcome = waiting.result(30)
        if end is Actor.rollback:
            assert outcome.verdict is Verdict.WON
        else:
            assert outcome.verdict is Verdict.MISSING
            assert isinstance(late.fails(loser.save), RecordMissing)
            assert tables.row(Cart, key, door) is None


@on(*EVERYWHERE)
def test_a_partial_reload_never_hides_a_rival(door: str, pair: list[Actor]) -> None:
    """One column was read again, the others were not: the full save is refused."""
    early, late = pair
    key = Order.objects.using(door).create(title="a", n=1).pk
    winner, held = (actor.do(Order.objects.using(door).get, pk=key) for actor in pair)
    winner.title = "theirs"
    early.do(winner.save_if_current)
    late.do(held.refresh_from_db, fields=["n"])
    assert late.do(held.try_save_if_current).verdict is Verdict.STALE
    assert tables.row(Order, key, door)["title"] == "theirs"
