"""Find the databases that this run can test on, and say by name what is absent.

``CAS_TEST_DATABASES`` (comma-separated URLs) and ``DATABASE_URL`` name them; without the first, the default
ports of PostgreSQL and MariaDB are probed on the loopback. SQLite is always there. Every process gets test
databases with names of its own, so that several runs never meet; ``CAS_TEST_SUFFIX`` fixes the name.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path
from typing import Any

import environ

env = environ.Env()

SUFFIX = env.str("CAS_TEST_SUFFIX", default="") or f"{os.getpid()}_{secrets.token_hex(3)}"
PROBED = {
    "postgres": "postgres://postgres@127.0.0.1:5432/cas_orm",
    "mariadb": "mysql://root@127.0.0.1:3306/cas_orm",
}
VENDORS = {
    "django.db.backends.sqlite3": "sqlite",
    "django.db.backends.postgresql": "postgres",
    "django.db.backends.mysql": "mariadb",
}
#: The alias on which each database of the contract suite is tested.
ALIASES = {"sqlite": "default", "postgres": "postgres", "mariadb": "mariadb"}


def _why_unreachable(vendor: str, config: dict[str, Any]) -> str:
    """Return why this server cannot be used, "" when it can."""
    host, port, user, password = (config[k] for k in ("HOST", "PORT", "USER", "PASSWORD"))
    try:
        if vendor == "postgres":
            import psycopg

            psycopg.connect(
                host=host,
                port=port or 5432,
                user=user,
                password=password,
                dbname="postgres",
                connect_timeout=2,
            ).close()
        else:
            import pymysql

            pymysql.connect(
                host=host, port=int(port or 3306), user=user, password=password, connect_timeout=2
            ).close()
    except Exception as error:  # noqa: BLE001  # any driver's error, and a driver that is not installed
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


def _sqlite(name: str, **options: Any) -> dict[str, Any]:
    """Return a SQLite file database: a file, because threads race on it."""
    folder = Path(tempfile.gettempdir())
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(folder / f"cas_orm_{name}.sqlite3"),
        "OPTIONS": {"timeout": 20, "init_command": "PRAGMA synchronous=OFF", **options},
        "TEST": {"NAME": str(folder / f"cas_orm_test_{name}_{SUFFIX}.sqlite3")},
    }


def _mirror(of: str, base: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Return a second door to the same test database, with other session options."""
    return {**base, "OPTIONS": {**base.get("OPTIONS", {}), **options}, "TEST": {"MIRROR": of}}


def _postgres(config: dict[str, Any]) -> dict[str, dict[str, Any]]:
    from django.db.backends.postgresql.psycopg_any import IsolationLevel

    return {
        "postgres": config,
        "postgres_rr": _mirror("postgres", config, isolation_level=IsolationLevel.REPEATABLE_READ),
        "postgres_serializable": _mirror("postgres", config, isolation_level=IsolationLevel.SERIALIZABLE),
    }


def _mariadb(config: dict[str, Any]) -> dict[str, dict[str, Any]]:
    snapshot = "SET SESSION innodb_snapshot_isolation=ON"
    return {
        "mariadb": config,
        "mariadb_rr": _mirror("mariadb", config, isolation_level="repeatable read"),
        "mariadb_serializable": _mirror("mariadb", config, isolation_level="serializable"),
        "mariadb_snapshot": _mirror(
            "mariadb", config, isolation_level="repeatable read", init_command=snapshot
        ),
    }


def discover() -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Return ``DATABASES`` and, by name, why each absent database is absent."""
    main = _sqlite("default", transaction_mode="IMMEDIATE")
    databases = {
        "default": main,
        "sqlite_deferred": _mirror("default", main, transaction_mode="DEFERRED"),
        "sqlite_wal": _sqlite("wal", init_command="PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF"),
    }
    asked = os.environ.get("CAS_TEST_DATABASES")  # set but empty: SQLite only
    named = (
        list(PROBED.values()) if asked is None else [url.strip() for url in asked.split(",") if url.strip()]
    )
    urls = [*env.list("DATABASE_URL", default=[]), *named]
    absent = dict.fromkeys(PROBED, "not named in CAS_TEST_DATABASES")
    for url in urls:
        config: dict[str, Any] = {**environ.Env.db_url_config(url)}
        vendor = VENDORS.get(config["ENGINE"], "")
        if vendor not in absent:
            continue  # SQLite is there already; the first URL of a kind is the one
        if why := _why_unreachable(vendor, config):
            absent[vendor] = why
            continue
        del absent[vendor]
        config["TEST"] = {"NAME": f"test_{config['NAME']}_{SUFFIX}"}
        databases |= _postgres(config) if vendor == "postgres" else _mariadb(config)
    return databases, absent
