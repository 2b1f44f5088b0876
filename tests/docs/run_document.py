"""Execute every Python block of one document, top to bottom, in one namespace, as its reader would.

Run as a program, one process per document: each gets a Django of its own, on SQLite in memory. Models come
from the small application ``shop``; a model that a document defines gets its table at once.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sybil import Document
from sybil.parsers.myst import PythonCodeBlockParser

HERE = Path(__file__).parent


def examples_of(path: Path) -> list[object]:
    """Return the executable examples of a document, in order."""
    return list(parse(path).examples())


def parse(path: Path) -> Document:
    return Document.parse(str(path), PythonCodeBlockParser())


def start_django() -> None:
    import django
    from django.conf import settings

    settings.configure(
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": "file:documents?mode=memory&cache=shared",
                "OPTIONS": {"transaction_mode": "IMMEDIATE"},
            }
        },
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "cas_orm_django", "shop"],
        SECRET_KEY="only for the examples",
        USE_TZ=True,
    )
    django.setup()


def create_new_tables() -> None:
    from django.apps import apps
    from django.db import connection

    there = set(connection.introspection.table_names())
    with connection.schema_editor() as editor:
        for model in apps.get_app_config("shop").get_models():
            if model._meta.db_table not in there:
                editor.create_model(model)


def run(path: Path) -> int:
    document = parse(path)
    # Models belong to the application whose module they were defined in.
    document.namespace["__name__"] = "shop.document"
    executed = 0
    for example in document.examples():
        create_new_tables()
        example.evaluate()
        executed += 1
    return executed


def main() -> None:
    sys.path.insert(0, str(HERE))
    start_django()
    print(f"{run(Path(sys.argv[1]))} examples")


if __name__ == "__main__":
    main()
