"""A kept statement and Django's own compiler send the same assignments, for every type and value."""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections, models
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cas_orm import Expect
from cas_orm_django import try_update_if_current
from tests.django.bazaar.models import Everything

TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="\x00", exclude_categories=["Cs"]), max_size=20
)
MOMENTS = st.datetimes(
    dt.datetime(1980, 1, 1),
    dt.datetime(2100, 1, 1),
    timezones=st.sampled_from([dt.UTC, dt.timezone(dt.timedelta(hours=5))]),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "char": TEXT,
    "text": TEXT,
    "small": st.integers(-(2**15), 2**15 - 1),
    "integer": st.integers(-(2**31), 2**31 - 1),
    "big": st.integers(-(2**63), 2**63 - 1),
    "floating": st.floats(allow_nan=False, allow_infinity=False, width=32),
    "decimal": st.decimals(-99999, 99999, places=3),
    "date": st.dates(dt.date(1980, 1, 1), dt.date(2100, 1, 1)),
    "moment": MOMENTS,
    "time": st.times(),
    "duration": st.timedeltas(dt.timedelta(days=-300), dt.timedelta(days=300)),
    "uuid": st.uuids(version=4),  # MariaDB takes no others
    "json": JSON,
    "binary": st.binary(max_size=20),
    "address": st.ip_addresses().map(str),
    "slug": st.from_regex(r"[a-z0-9-]{0,20}", fullmatch=True),
    "url": st.just("https://example.org/%s?a=%25"),
    "email": st.just("a'b\"@example.org"),
}
ROWS = st.dictionaries(st.sampled_from(sorted(VALUES)), st.none(), min_size=1, max_size=6).flatmap(
    lambda chosen: st.fixed_dictionaries({name: st.none() | VALUES[name] for name in chosen})
)
quietly = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def assignments(alias: str, write: Callable[[], Any]) -> dict[str, tuple[str, list[str]]]:
    """Return what the first UPDATE assigns: by column the SQL and its parameters.

    Before 6.1 Django writes NULL as a word; a statement that is kept binds it.
    """
    log: list[tuple[str, tuple[Any, ...]]] = []

    def record(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        log.append((sql, tuple(params or ())))
        return execute(sql, params, many, context)

    with connections[alias].execute_wrapper(record):
        write()
    sql, params = next((sql, params) for sql, params in log if sql.startswith("UPDATE"))
    bare = re.sub(r"[`\"]", "", sql).partition(" WHERE ")[0].partition(" SET ")[2]
    bare = bare.replace(f"{Everything._meta.db_table}.", "")
    values = iter(params)
    found = {}
    for part in re.split(r", (?=\w+ = )", bare):
        column, _, text = part.partition(" = ")
        text, values = ("%s", iter([None, *values])) if text == "NULL" else (text, values)
        found[column] = text, [_shown(next(values)) for _ in range(text.count("%s"))]
    return found


def _shown(value: Any) -> str:
    """Return a parameter as text that compares: adapters wrap JSON and bytes."""
    value = getattr(value, "obj", value)
    if isinstance(value, memoryview | bytearray):
        value = bytes(value)
    return f"{type(value).__name__} {value!r}"


@quietly
@given(row=ROWS)
def test_update_by_key(alias: str, row: dict[str, Any]) -> None:
    """``update_if_current(set=…)`` against ``QuerySet.update()``."""
    key = Everything.objects.create().pk
    plain = assignments(alias, lambda: models.QuerySet(Everything, using=alias).filter(pk=key).update(**row))
    ours = assignments(
        alias, lambda: try_update_if_current(Everything, key, expect=Expect(record_version=1), set=row)
    )
    ours.pop("record_version")
    assert ours == plain
    assert list(ours) == [f.column for f in Everything._meta.concrete_fields if f.column in ours]


@quietly
@given(row=ROWS)
def test_save(alias: str, row: dict[str, Any]) -> None:
    """A save, kept statement and all, against the same; twice, so that the second one is the kept one."""
    obj = Everything.objects.create()
    for name, value in row.items():
        setattr(obj, name, value)
    plain = assignments(
        alias, lambda: models.QuerySet(Everything, using=alias).filter(pk=obj.pk).update(**row)
    )
    for _ in range(2):
        ours = assignments(alias, lambda: obj.save(update_fields=list(row)))
        ours.pop("record_version")
        assert ours == plain


@quietly
@given(row=ROWS)
def test_what_was_written_comes_back(alias: str, row: dict[str, Any]) -> None:
    """The row holds what Django itself would have put there."""
    ours, plain = Everything.objects.create(), Everything.objects.create()
    for name, value in row.items():
        setattr(ours, name, value)
    ours.save()
    models.QuerySet(Everything, using=alias).filter(pk=plain.pk).update(**row)
    rows = models.QuerySet(Everything, using=alias)
    found, expected = (rows.filter(pk=o.pk).values(*row).get() for o in (ours, plain))
    assert {k: _shown(v) for k, v in found.items()} == {k: _shown(v) for k, v in expected.items()}


@pytest.mark.parametrize("value", [None, uuid.UUID(int=5), str(uuid.UUID(int=5))])
def test_values_that_django_converts(alias: str, value: Any) -> None:
    """Other spellings of a value are prepared as Django prepares them."""
    obj = Everything.objects.create()
    row = {"uuid": value, "integer": "5", "address": str(ipaddress.ip_address("::ffff:10.0.0.1"))}
    plain = assignments(alias, lambda: models.QuerySet(Everything, using=alias).update(**row))
    obj.uuid, obj.integer, obj.address = row["uuid"], row["integer"], row["address"]
    ours = assignments(alias, lambda: obj.save(update_fields=list(row)))
    ours.pop("record_version")
    assert ours == plain
