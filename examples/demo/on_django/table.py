"""A table of our own: nobody else's meanwhile, gone afterwards, and no trouble after a killed run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from zlib import crc32

from django.db import connection, models

#: Ask for a lock that ends with the connection, so that a killed run leaves none behind: try, or wait.
LOCKS = {
    "postgresql": ("SELECT pg_try_advisory_lock(%s)", "SELECT pg_advisory_lock(%s) IS NOT NULL"),
    "mysql": ("SELECT GET_LOCK(%s, 0)", "SELECT GET_LOCK(%s, 86400)"),
}
UNLOCK = {"postgresql": "SELECT pg_advisory_unlock(%s)", "mysql": "SELECT RELEASE_LOCK(%s)"}


@contextmanager
def own_table(model: type[models.Model]) -> Iterator[None]:
    """Create the model's table anew, and drop it at the end."""
    if not locked(model, wait=False):
        print("\nAnother demo runs on this database; waiting for its end.", flush=True)
        locked(model, wait=True)
    try:
        drop(model)
        with connection.schema_editor() as editor:
            editor.create_model(model)
        yield
    except BaseException:
        connection.close()  # it may have been interrupted in mid-sentence; its lock goes with it
        if locked(model, wait=False):  # else the next demo has it, and has dropped the table already
            drop(model)
        raise
    drop(model)
    unlock(model)


def locked(model: type[models.Model], *, wait: bool) -> bool:
    """Take the lock on the table's name. SQLite has none: there the file is the user's own."""
    if connection.vendor not in LOCKS:
        return True
    with connection.cursor() as cursor:
        cursor.execute(LOCKS[connection.vendor][wait], [_lock_name(model)])
        return bool(cursor.fetchone()[0])


def unlock(model: type[models.Model]) -> None:
    """Give the lock back."""
    if connection.vendor in UNLOCK:
        with connection.cursor() as cursor:
            cursor.execute(UNLOCK[connection.vendor], [_lock_name(model)])


def _lock_name(model: type[models.Model]) -> str | int:
    name = f"{connection.settings_dict['NAME']}.{model._meta.db_table}"
    return crc32(name.encode()) if connection.vendor == "postgresql" else name[-64:]


def drop(model: type[models.Model]) -> None:
    """Drop the table if it is there."""
    if model._meta.db_table in connection.introspection.table_names():
        with connection.schema_editor() as editor:
            editor.delete_model(model)
