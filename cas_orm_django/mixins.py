"""The model mixins: columns, and verbs as one-line calls. No logic lives here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar, cast

from django.db import models, router
from django.db.models.signals import pre_save

from cas_orm import Expect, Outcome
from cas_orm.twins import GenerationVerb, raising, writes
from cas_orm_django import deleting, fixtures, guard, memory, seen, verbs
from cas_orm_django.listeners import dispatch_uid
from cas_orm_django.query import CasManager
from cas_orm_django.twins import hop

if TYPE_CHECKING:
    from django.core.checks import CheckMessage

    from cas_orm_django.belief import Where
    from cas_orm_django.write import OnWon

__all__ = ["CasMixin", "CasVerbsMixin", "RecordVersionMixin", "RunSeqMixin", "WriteTokenMixin"]

P = ParamSpec("P")
R = TypeVar("R")


def _generation(verb: Callable[P, R]) -> Callable[P, R]:
    return cast(Callable[P, R], GenerationVerb(verb, seen.has_generation))


class CasVerbsMixin(models.Model):
    """Give a model the verbs and the guard, for version and generation columns that it already has.

    Name them in ``cas_version_field`` and ``cas_generation_field``. Plain ``save()`` and ``delete()`` are
    guarded from then on: they write only if the row still has the version that the object last saw.

    Class options:
        cas_version_field: the version's field, an integer NOT NULL; default ``"record_version"``.
        cas_generation_field: the generation's field; default ``"run_seq"``, if there is one.
        cas_unversioned_fields: fields that a full save leaves out and that never bump the version.
    """

    cas_version_field: ClassVar[str] = "record_version"
    cas_generation_field: ClassVar[str] = "run_seq"
    cas_token_field: ClassVar[str | None] = None
    cas_unversioned_fields: ClassVar[tuple[str, ...]] = ()

    objects = CasManager()

    class Meta:
        abstract = True
        base_manager_name = "objects"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        pre_save.connect(fixtures.never_lower, sender=cls, dispatch_uid=dispatch_uid(cls))

    # -- verbs -------------------------------------------------------------------------------------------

    @writes
    def try_save_if_current(
        self,
        *,
        expect: Expect | None = None,
        update_fields: Iterable[str] | None = None,
        where: Where | None = None,
        on_won: OnWon | None = None,
        using: str | None = None,
    ) -> Outcome:
        """Save the object if its row is still as last seen: one UPDATE, always, even with no changes.

        Believes the key, the version and, when loaded, the generation that the object last saw. After a
        win the object is in step with its row; after a refusal its attributes are as you set them, and
        every verb repeats the refusal until the object is reloaded. An object that is being added is
        inserted.

        Args:
            expect: what else is believed; a version or generation in it replaces the last-seen one.
            update_fields: the attributes to write; by default all loaded ones.
            where: a further condition over plain columns of the version's table.
            on_won: called with the outcome after the commit, when the save won.
            using: the database; only the router's own choice is accepted.

        Returns:
            The outcome; ``record_version`` is the new version.

        Raises:
            ConflictError: the object was refused before and has not been reloaded (``fenced``).
            MissingExpectation: the version was never loaded.
            InvalidExpectation: a belief or a name in ``update_fields`` does not fit.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
        """
        return guard.try_save(
            self, expect=expect, update_fields=update_fields, where=where, on_won=on_won, using=using
        )

    save_if_current = raising(try_save_if_current)
    asave_if_current = hop(save_if_current)
    atry_save_if_current = hop(try_save_if_current)

    @writes
    def try_delete_if_current(
        self,
        *,
        expect: Expect | None = None,
        where: Where | None = None,
        on_won: OnWon | None = None,
        using: str | None = None,
    ) -> Outcome:
        """Delete the object if its row is still as last seen, with the ORM's own cascade.

        Args:
            expect: as for `try_save_if_current`.
            where: as for `try_save_if_current`.
            on_won: as for `try_save_if_current`.
            using: as for `try_save_if_current`.

        Raises:
            ConflictError: the object was refused before and has not been reloaded (``fenced``).
            MissingExpectation: the version was never loaded.
            InvalidExpectation: a belief does not fit.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
        """
        return deleting.try_delete(
            self, super().delete, expect=expect, where=where, on_won=on_won, using=using
        )

    delete_if_current = raising(try_delete_if_current)
    adelete_if_current = hop(delete_if_current)
    atry_delete_if_current = hop(try_delete_if_current)

    @writes
    def try_update_if_current(
        self,
        *,
        expect: Expect,
        set: Mapping[str, object],
        where: Where | None = None,
        on_won: OnWon | None = None,
        using: str | None = None,
    ) -> Outcome:
        """Write these values if the row is as ``expect`` says; the last-seen version is not compared.

        After a win the attributes are assigned, and the version advances if the row's new version is the
        last-seen one + 1. Otherwise others have written meanwhile: the version counts as unknown, and
        verbs that believe it are refused until a reload.

        Args:
            expect: all that is believed, besides the key.
            set: values or expressions by attribute name.
            where: as for `try_save_if_current`.
            on_won: as for `try_save_if_current`.
            using: as for `try_save_if_current`.

        Raises:
            ConflictError: the object was refused before and has not been reloaded (``fenced``).
            MissingExpectation: neither ``expect`` nor ``where`` says anything.
            InvalidExpectation: a belief or a column does not fit.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
        """
        return verbs.update_object(self, expect=expect, set=set, where=where, on_won=on_won, using=using)

    update_if_current = raising(try_update_if_current)
    aupdate_if_current = hop(update_if_current)
    atry_update_if_current = hop(try_update_if_current)

    @writes
    def _try_new_generation_if_current(
        self,
        *,
        expect: Expect | None = None,
        set: Mapping[str, object] | None = None,
        where: Where | None = None,
        on_won: OnWon | None = None,
        using: str | None = None,
    ) -> Outcome:
        """Hand the row over to a new generation if it is still as last seen: ``run_seq + 1``.

        Whoever holds the old generation is superseded from then on.

        Args:
            expect: what else is believed.
            set: values or expressions to write with it, by attribute name.
            where: as for `try_save_if_current`.
            on_won: as for `try_save_if_current`.
            using: as for `try_save_if_current`.

        Returns:
            The outcome; ``run_seq`` is the new generation.

        Raises:
            ConflictError: the object was refused before and has not been reloaded (``fenced``).
            MissingExpectation: version or generation was never loaded.
            InvalidExpectation: a belief or a column does not fit.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
        """
        return verbs.new_generation_of_object(
            self, expect=expect, set=set, where=where, on_won=on_won, using=using
        )

    _try_new_generation_if_current.__name__ = "try_new_generation_if_current"
    _new_generation_if_current = raising(_try_new_generation_if_current)
    try_new_generation_if_current = _generation(_try_new_generation_if_current)
    new_generation_if_current = _generation(_new_generation_if_current)
    anew_generation_if_current = _generation(hop(_new_generation_if_current))
    atry_new_generation_if_current = _generation(hop(_try_new_generation_if_current))

    # -- the guard ---------------------------------------------------------------------------------------

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save as ``Model.save`` does; an outer rollback that undid an earlier save is noticed first."""
        memory.settle_marks(self)
        super().save(*args, **kwargs)

    save.alters_data = True  # type: ignore[attr-defined]  # as Django marks its own

    def save_base(
        self,
        raw: bool = False,
        force_insert: Any = False,
        force_update: bool = False,
        using: str | None = None,
        update_fields: Any = None,
    ) -> None:
        """Save as ``Model.save_base`` does, but only over the version that the object last saw."""
        if raw:
            super().save_base(True, force_insert, force_update, using, update_fields)
            return
        guard.save_base(
            self,
            super().save_base,
            force_insert=force_insert,
            force_update=force_update,
            using=using,
            update_fields=update_fields,
        )

    save_base.alters_data = True  # type: ignore[attr-defined]  # as Django marks its own

    def delete(self, using: str | None = None, keep_parents: bool = False) -> tuple[int, dict[str, int]]:
        """Delete as ``Model.delete`` does, but only the version that the object last saw."""
        return deleting.delete(self, super().delete, using, keep_parents)

    delete.alters_data = True  # type: ignore[attr-defined]

    def refresh_from_db(
        self, using: str | None = None, fields: Iterable[str] | None = None, from_queryset: Any = None
    ) -> None:
        """Reload from the database that is written to. A reload that includes the version lifts a refusal."""
        memory.settle_marks(self)
        if using is None and getattr(from_queryset, "_db", None) is None:
            using = router.db_for_write(type(self), instance=self)
        names = None if fields is None else list(fields)
        with seen.reloading(self, names):
            super().refresh_from_db(using=using, fields=names, from_queryset=from_queryset)

    def __getstate__(self) -> dict[str, Any]:
        return memory.state_for_copy(super().__getstate__())

    def __cas_seen__(self, names: tuple[str, ...]) -> Mapping[str, object]:
        return seen.seen(self, names)

    @classmethod
    def check(cls, **kwargs: Any) -> list[CheckMessage]:
        """Run Django's checks and those of the mixin."""
        from cas_orm_django.checks import check_model

        return [*super().check(**kwargs), *check_model(cls)]


class RecordVersionMixin(CasVerbsMixin):
    """Add ``record_version``, 1 at every insert and one more with every successful write."""

    record_version = models.BigIntegerField(default=1, db_default=1, editable=False)

    class Meta(CasVerbsMixin.Meta):
        abstract = True


class RunSeqMixin(CasVerbsMixin):
    """Add ``run_seq``, the generation: a fencing token that rises by one at every hand-over."""

    run_seq = models.BigIntegerField(default=0, db_default=0, editable=False)

    class Meta(CasVerbsMixin.Meta):
        abstract = True


class CasMixin(RecordVersionMixin, RunSeqMixin):
    """Add ``record_version`` and ``run_seq``."""

    class Meta(CasVerbsMixin.Meta):
        abstract = True


class WriteTokenMixin(CasVerbsMixin):
    """Add ``write_token``: 16 random bytes, new with every write, so that a lost answer can be settled."""

    cas_token_field: ClassVar[str | None] = "write_token"

    write_token = models.BinaryField(max_length=16, null=True, editable=False)

    class Meta(CasVerbsMixin.Meta):
        abstract = True
