"""The second test application."""

from django.apps import AppConfig


class BazaarConfig(AppConfig):
    """The bazaar: shapes that the shop does not have."""

    name = "tests.django.bazaar"
    label = "bazaar"
    default_auto_field = "django.db.models.BigAutoField"
