"""The bumping queryset, and the manager with the verbs by key."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from django.db import connections, models
from django.db.models import F
from django.db.models.constants import LOOKUP_SEP

from cas_orm import InvalidExpectation, Outcome, Verdict
from cas_orm_django import claiming, guard, lifecycle, memory, verbs
from cas_orm_django.columns import Columns, columns_of
from cas_orm_django.transactions import own_transaction

if TYPE_CHECKING:
    from cas_orm_django.belief import Where
    from cas_orm_django.write import OnWon

__all__ = ["CasManager", "CasQuerySet"]

M = TypeVar("M", bound=models.Model, covariant=True)


class CasQuerySet(models.QuerySet[M]):
    """A queryset whose writes bump the version of every row they touch. It does not compare versions.

    ``only()`` and ``defer()`` always keep version and generation, so that what is loaded can be saved.
    """

    def update(self, **kwargs: Any) -> int:
        """Update as ``QuerySet.update`` does, and add 1 to each row's version.

        Raises:
            InvalidExpectation: version, generation or token among the names.
        """
        columns = _columns(self.model)
        if columns is None:
            return super().update(**kwargs)
        _refuse_roles(columns, kwargs)
        if not kwargs:
            return super().update()
        if not _only_unversioned(columns, kwargs):
            kwargs[columns.version.name] = F(columns.version.name) + 1
        if columns.token is not None:
            kwargs[columns.token.name] = os.urandom(16)
        self._for_write = True
        connection = connections[self.db]
        if len(columns.tables) > 1:  # Django sends one UPDATE a table, the version's last
            with own_transaction(self.db):
                rows = super().update(**kwargs)
        else:
            rows = super().update(**kwargs)
        memory.fate_of(connection)
        return rows

    update.alters_data = True  # type: ignore[attr-defined]  # as Django marks its own

    def bulk_update(self, objs: Iterable[M], fields: Iterable[str], batch_size: int | None = None) -> int:
        """Update as ``QuerySet.bulk_update`` does; each row and each object's version rise by 1.

        Nothing is compared. An object that was not current guesses its new version wrong, and its next
        guarded write is refused.

        Raises:
            InvalidExpectation: version, generation or token among the fields.
        """
        columns = _columns(self.model)
        objects, names = list(objs), list(fields)
        if columns is None:
            return super().bulk_update(objects, names, batch_size)
        _refuse_roles(columns, names)
        rows = super().bulk_update(objects, names, batch_size)
        if not _only_unversioned(columns, names):
            distinct = {id(obj): obj for obj in objects}.values()
            for obj in distinct:
                _add_one(obj, columns, self.db)
                if rows != len(distinct):  # nobody says whose row was not reached
                    memory.remember(obj).lose_track(Outcome(Verdict.UNDIAGNOSED, columns.label, obj.pk), None)
        return rows

    bulk_update.alters_data = True  # type: ignore[attr-defined]

    def bulk_create(
        self,
        objs: Iterable[M],
        batch_size: int | None = None,
        ignore_conflicts: bool = False,
        update_conflicts: bool = False,
        update_fields: Collection[str] | None = None,
        unique_fields: Collection[str] | None = None,
    ) -> list[M]:
        """Insert as ``QuerySet.bulk_create`` does, every row with version 1.

        Raises:
            InvalidExpectation: ``update_conflicts``: an upsert would reset or skip the version.
        """
        if update_conflicts:
            raise InvalidExpectation(
                f"{self.model._meta.label}: bulk_create(update_conflicts=True) overwrites rows unguarded; "
                "use update_if_current [cas-invalid-expectation]"
            )
        columns = _columns(self.model)
        objects = list(objs)
        if columns is None:
            return super().bulk_create(objects, batch_size, ignore_conflicts)
        befores = []
        for obj in objects:
            memory.settle_marks(obj)
            befores.append(memory.Snapshot(obj, columns.identity))
            guard.start_afresh(obj, columns)
        created = None
        try:
            created = super().bulk_create(objects, batch_size, ignore_conflicts)
        finally:
            for obj, before in zip(objects, befores, strict=True):
                if created is None:
                    before.restore(obj)
                else:
                    memory.start_again(obj)
                    memory.mark_won(obj, connections[self.db], before)
                    if ignore_conflicts:  # nobody says whether the row is this object's
                        memory.remember(obj).lose_track(
                            Outcome(Verdict.UNDIAGNOSED, columns.label, obj.pk), None
                        )
        return created

    bulk_create.alters_data = True  # type: ignore[attr-defined]

    def only(self, *fields: str) -> CasQuerySet[M]:
        """Load only these fields, and version and generation."""
        if not fields or _columns(self.model) is None:
            return super().only(*fields)
        related = (name for field in fields for name in _kept_behind(self.model, field))
        return super().only(*dict.fromkeys([*fields, *_kept(columns_of(self.model)), *related]))

    def defer(self, *fields: str | None) -> CasQuerySet[M]:
        """Defer these fields, but never version or generation."""
        if _columns(self.model) is None:
            return super().defer(*cast("tuple[str, ...]", fields))
        kept = _kept(columns_of(self.model))
        behind = {name for field in fields if field for name in _kept_behind(self.model, field)}
        deferred = [cast(str, name) for name in fields if name not in kept and name not in behind]
        return super().defer(*deferred) if deferred or not fields else self.all()


def _columns(model: type[models.Model]) -> Columns | None:
    """Return the model's roles; a migration's historical model has none, and its querysets are plain."""
    from cas_orm_django.mixins import CasVerbsMixin

    return columns_of(model) if issubclass(model, CasVerbsMixin) else None


def _kept(columns: Columns) -> list[str]:
    return [f.name for f in (columns.version, columns.generation) if f is not None]


def _kept_behind(model: type[models.Model], name: str) -> list[str]:
    """Name version and generation of the CAS model that a name with ``__`` reaches."""
    from cas_orm_django.mixins import CasVerbsMixin

    *path, _ = name.split(LOOKUP_SEP)
    for step in path:
        model = cast("type[models.Model]", model._meta.get_field(step).related_model)
    if not path or not issubclass(model, CasVerbsMixin):
        return []
    return [LOOKUP_SEP.join([*path, kept]) for kept in _kept(columns_of(model))]


def _only_unversioned(columns: Columns, names: Iterable[str]) -> bool:
    return all(columns.by_name.get(name) in columns.unversioned for name in names)


def _refuse_roles(columns: Columns, names: Iterable[str]) -> None:
    for name in names:
        if name in columns.roles:
            raise InvalidExpectation(
                f"{columns.label}.{name} is written by the library alone [cas-invalid-expectation]"
            )


def _add_one(obj: models.Model, columns: Columns, alias: str) -> None:
    name = columns.version.attname
    memory.settle_marks(obj)
    before = memory.Snapshot(obj, columns.identity)
    if isinstance(obj.__dict__.get(name), int):
        obj.__dict__[name] += 1
    memory.mark_won(obj, connections[alias], before)


if TYPE_CHECKING:

    class _Manager(models.Manager[M]):
        def get_queryset(self) -> CasQuerySet[M]: ...

else:
    _Manager = models.Manager.from_queryset(CasQuerySet)


P = ParamSpec("P")
R = TypeVar("R")


def _of_model(verb: Callable[Concatenate[type[models.Model], P], R]) -> Callable[Concatenate[Any, P], R]:
    """Return a verb by key as a method of the model's manager, in the manager's database."""

    @wraps(verb)
    def method(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs.get("using") is None:
            kwargs["using"] = self._db
        return verb(self.model, *args, **kwargs)

    method.alters_data = True  # type: ignore[attr-defined]  # as Django marks save() and delete()
    method.__doc__ = f"Call `cas_orm_django.{verb.__name__}` for this model."
    return cast(Callable[Concatenate[Any, P], R], method)


class CasManager(_Manager[M]):
    """The manager of CAS models: querysets that bump, and the verbs by key.

    A manager's own filters do not narrow the verbs: they write the row that the key names.
    """

    try_update_if_current = _of_model(verbs.try_update_if_current)
    update_if_current = _of_model(verbs.update_if_current)
    aupdate_if_current = _of_model(verbs.aupdate_if_current)
    atry_update_if_current = _of_model(verbs.atry_update_if_current)

    try_new_generation_if_current = _of_model(verbs.try_new_generation_if_current)
    new_generation_if_current = _of_model(verbs.new_generation_if_current)
    anew_generation_if_current = _of_model(verbs.anew_generation_if_current)
    atry_new_generation_if_current = _of_model(verbs.atry_new_generation_if_current)

    try_delete_if_current = _of_model(verbs.try_delete_if_current)
    delete_if_current = _of_model(verbs.delete_if_current)
    adelete_if_current = _of_model(verbs.adelete_if_current)
    atry_delete_if_current = _of_model(verbs.atry_delete_if_current)

    try_start_if_current = _of_model(lifecycle.try_start_if_current)
    start_if_current = _of_model(lifecycle.start_if_current)
    astart_if_current = _of_model(lifecycle.astart_if_current)
    atry_start_if_current = _of_model(lifecycle.atry_start_if_current)

    try_save_status_if_current = _of_model(lifecycle.try_save_status_if_current)
    save_status_if_current = _of_model(lifecycle.save_status_if_current)
    asave_status_if_current = _of_model(lifecycle.asave_status_if_current)
    atry_save_status_if_current = _of_model(lifecycle.atry_save_status_if_current)

    try_finish_if_current = _of_model(lifecycle.try_finish_if_current)
    finish_if_current = _of_model(lifecycle.finish_if_current)
    afinish_if_current = _of_model(lifecycle.afinish_if_current)
    atry_finish_if_current = _of_model(lifecycle.atry_finish_if_current)

    try_heartbeat_if_current = _of_model(lifecycle.try_heartbeat_if_current)
    heartbeat_if_current = _of_model(lifecycle.heartbeat_if_current)
    aheartbeat_if_current = _of_model(lifecycle.aheartbeat_if_current)
    atry_heartbeat_if_current = _of_model(lifecycle.atry_heartbeat_if_current)

    try_requeue_if_current = _of_model(lifecycle.try_requeue_if_current)
    requeue_if_current = _of_model(lifecycle.requeue_if_current)
    arequeue_if_current = _of_model(lifecycle.arequeue_if_current)
    atry_requeue_if_current = _of_model(lifecycle.atry_requeue_if_current)

    def claim(
        self,
        n: int,
        *,
        owner: str = "",
        where: Where | None = None,
        on_won: OnWon | None = None,
        using: str | None = None,
    ) -> list[M]:
        """Call `cas_orm_django.claim` for this model."""
        return claiming.claim(self.model, n, owner=owner, where=where, on_won=on_won, using=using or self._db)

    claim.alters_data = True  # type: ignore[attr-defined]

    async def aclaim(
        self,
        n: int,
        *,
        owner: str = "",
        where: Where | None = None,
        on_won: OnWon | None = None,
        using: str | None = None,
    ) -> list[M]:
        """Call `cas_orm_django.aclaim` for this model."""
        return await claiming.aclaim(
            self.model, n, owner=owner, where=where, on_won=on_won, using=using or self._db
        )

    aclaim.alters_data = True  # type: ignore[attr-defined]

    requeue_stale = _of_model(claiming.requeue_stale)
    arequeue_stale = _of_model(claiming.arequeue_stale)
