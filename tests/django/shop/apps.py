"""The test application."""

from django.apps import AppConfig


class ShopConfig(AppConfig):
    """The shop: models of every shape that the library has to get right."""

    name = "tests.django.shop"
    label = "shop"
    default_auto_field = "django.db.models.BigAutoField"
