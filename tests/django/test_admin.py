"""The stock admin keeps working over models of the library."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.django import tables
from tests.django.shop.models import Article, Cart, CartLine, Member

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def staff(alias: str) -> Client:
    """Return a client that is logged in as a superuser."""
    client = Client()
    client.force_login(Member.objects.create_superuser("admin", password="p"))
    return client


def test_add_change_delete(alias: str, staff: Client) -> None:
    """One round through the admin of a simple model."""
    response = staff.post("/admin/shop/article/add/", {"kind": "news", "title": "a"})
    assert response.status_code == 302, response.context["errors"]
    article = Article.objects.get()
    response = staff.post(f"/admin/shop/article/{article.pk}/change/", {"kind": "essay", "title": "b"})
    assert response.status_code == 302
    row = tables.row(Article, article.pk, alias)
    assert (row["title"], row["record_version"]) == ("b", 2)
    assert staff.get("/admin/shop/article/").status_code == 200
    response = staff.post(f"/admin/shop/article/{article.pk}/delete/", {"post": "yes"})
    assert response.status_code == 302
    assert not Article.objects.exists()


def test_inlines(alias: str, staff: Client) -> None:
    """A parent with lines: added, changed, deleted with its children."""
    lines = {"lines-TOTAL_FORMS": 1, "lines-INITIAL_FORMS": 0, "lines-0-sku": "x"}
    assert staff.post("/admin/shop/cart/add/", {"name": "a", **lines}).status_code == 302
    cart, line = Cart.objects.get(), CartLine.objects.get()
    lines |= {"lines-INITIAL_FORMS": 1, "lines-0-id": line.pk, "lines-0-cart": cart.pk, "lines-0-sku": "y"}
    assert staff.post(f"/admin/shop/cart/{cart.pk}/change/", {"name": "b", **lines}).status_code == 302
    assert (Cart.objects.get().name, CartLine.objects.get().sku) == ("b", "y")
    assert staff.post(f"/admin/shop/cart/{cart.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not CartLine.objects.exists()


def test_delete_action(alias: str, staff: Client) -> None:
    """The changelist's own action deletes the selected rows."""
    keys = [Article.objects.create(title=str(n)).pk for n in range(3)]
    data = {"action": "delete_selected", "_selected_action": keys[:2], "post": "yes"}
    assert staff.post("/admin/shop/article/", data).status_code == 302
    assert [a.pk for a in Article.objects.all()] == keys[2:]


def test_login_page(alias: str) -> None:
    """Logging in saves the user model partially."""
    Member.objects.create_superuser("admin", password="p")
    response = Client().post("/admin/login/?next=/admin/", {"username": "admin", "password": "p"})
    assert response.status_code == 302
    assert Member.objects.get().last_login is not None
