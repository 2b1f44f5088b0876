"""The fixtures of the Django tests."""

from tests.django.fixtures import _open, alias, database

__all__ = ["_open", "alias", "database"]
