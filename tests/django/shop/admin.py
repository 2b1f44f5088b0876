"""Stock admin classes: they have to keep working over a model with the library."""

from django.contrib import admin

from tests.django.shop.models import Article, Cart, CartLine, Order


class CartLineInline(admin.TabularInline):  # type: ignore[type-arg]  # generic for the type checker only
    """The lines of a cart."""

    model = CartLine
    extra = 0


@admin.register(Cart)
class CartAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """A parent with an inline."""

    fields = ("name",)
    inlines = (CartLineInline,)


@admin.register(Article, Order)
class PlainAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Add, change, delete as Django ships them."""
