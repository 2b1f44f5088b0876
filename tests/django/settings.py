"""Django settings of the test suite: one small shop, on every database that is there."""

from __future__ import annotations

import os

if "mysqlclient" not in os.environ.get("CAS_TEST_SQLA_DRIVERS", ""):
    import pymysql

    # PyMySQL answers to the name that Django's MySQL backend imports, unless mysqlclient itself is tested.
    pymysql.install_as_MySQLdb()

from tests.django.databases import discover

SECRET_KEY = "only for tests"
DEBUG = False
USE_TZ = True
TIME_ZONE = "UTC"
ALLOWED_HOSTS = ["testserver"]
ROOT_URLCONF = "tests.django.urls"
STATIC_URL = "static/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "shop.Member"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

DATABASES, ABSENT_DATABASES = discover()
DATABASE_ROUTERS = ["tests.django.router.CurrentAlias"]

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.admin",
    "django.contrib.sessions",
    "django.contrib.messages",
    "cas_orm_django",
    "tests.django.shop",
    "tests.django.bazaar",
]
# Tables straight from the models: a test database is made in a blink.
MIGRATION_MODULES = dict.fromkeys(("contenttypes", "auth", "admin", "sessions", "shop", "bazaar"))

MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
