"""The verbs of an object, as one-line calls, and the guard of its class. No logic lives here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, ParamSpec, TypeVar, cast

from sqlalchemy import inspect
from sqlalchemy.orm import Session

from cas_orm import Expect, Outcome
from cas_orm.twins import GenerationVerb, raising
from cas_orm_sqla import deleting, instance, mapping, session, verbs
from cas_orm_sqla.belief import Where
from cas_orm_sqla.columns import columns_of
from cas_orm_sqla.twins import hop
from cas_orm_sqla.write import OnWon

P = ParamSpec("P")
R = TypeVar("R")


def _has_generation(owner: type[Any]) -> bool:
    return inspect(owner, raiseerr=False) is None or columns_of(owner).generation is not None


def _generation(verb: Callable[P, R]) -> Callable[P, R]:
    return cast(Callable[P, R], GenerationVerb(verb, _has_generation))


class CasVerbsMixin:
    """Give a mapped class the verbs and the guard, for version and generation columns that it already has.

    Class options:
        cas_version_field: the attribute that is the version; found by itself in the other mixins.
        cas_generation_field: the attribute that is the generation.
        cas_unversioned_fields: attributes that a full save leaves out and that never bump the version.
    """

    cas_version_field: ClassVar[str | None] = None
    cas_generation_field: ClassVar[str | None] = None
    cas_token_field: ClassVar[str | None] = None
    cas_unversioned_fields: ClassVar[tuple[str, ...]] = ()

    def try_save_if_current(
        self,
        session: Session,
        *,
        expect: Expect | None = None,
        update_fields: Iterable[str] | None = None,
        where: Where | None = None,
        on_won: OnWon | None = None,
    ) -> Outcome:
        """Write the object's changes if its row is still as last seen: one UPDATE, even with no changes.

        Believes the key, the version and, when known, the generation that the object last saw. After a win
        the object is in step with its row and clean; after a refusal its attributes are as you set them, and
        every verb and flush repeats the refusal until the object is refreshed.

        Args:
            session: the Session that the object belongs to; nothing else is flushed.
            expect: what else is believed; a version or generation in it replaces the last-seen one.
            update_fields: the attributes to write; by default the changed ones.
            where: a further condition over plain columns of the version's table.
            on_won: called with the outcome after the commit, when the save won.

        Returns:
            The outcome; provisional until the session commits.

        Raises:
            ConflictError: the object was refused before and has not been refreshed (``fenced``).
            MissingExpectation: the version was never seen.
            InvalidExpectation: a belief or a name in ``update_fields`` does not fit.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
            TypeError: the wrong kind of session.
        """
        return verbs.save(
            self, session, expect=expect, update_fields=update_fields, where=where, on_won=on_won
        )

    save_if_current = raising(try_save_if_current)
    asave_if_current = hop(save_if_current)
    atry_save_if_current = hop(try_save_if_current)

    def try_delete_if_current(
        self,
        session: Session,
        *,
        expect: Expect | None = None,
        where: Where | None = None,
        on_won: OnWon | None = None,
    ) -> Outcome:
        """Delete the object's row if it is still as last seen, with the ORM's own cascade.

        Where there is anything to cascade to, the ORM's delete is a flush, which writes what else waits in
        the session.

        Args:
            session: the Session that the object belongs to.
            expect: as for `try_save_if_current`.
            where: as for `try_save_if_current`.
            on_won: as for `try_save_if_current`.

        Raises:
            ConflictError: this object, or one that a cascade's flush would write, was refused (``fenced``).
            MissingExpectation: the version was never seen.
            InvalidExpectation: a belief does not fit.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
            TypeError: the wrong kind of session.
        """
        return deleting.delete(self, session, expect=expect, where=where, on_won=on_won)

    delete_if_current = raising(try_delete_if_current)
    adelete_if_current = hop(delete_if_current)
    atry_delete_if_current = hop(try_delete_if_current)

    def try_update_if_current(
        self,
        session: Session,
        *,
        expect: Expect,
        set: Mapping[str, object],
        where: Where | None = None,
        on_won: OnWon | None = None,
    ) -> Outcome:
        """Write these values if the row is as ``expect`` says; the last-seen version is not compared.

        Args:
            session: the Session that the object belongs to.
            expect: all that is believed, besides the key.
            set: values or expressions by attribute name.
            where: as for `try_save_if_current`.
            on_won: as for `try_save_if_current`.

        Raises:
            ConflictError: the object was refused before and has not been refreshed (``fenced``).
            MissingExpectation: neither ``expect`` nor ``where`` says anything.
            InvalidExpectation: a belief or a column does not fit.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
            TypeError: the wrong kind of session.
        """
        return verbs.update(self, session, expect=expect, set=set, where=where, on_won=on_won)

    update_if_current = raising(try_update_if_current)
    aupdate_if_current = hop(update_if_current)
    atry_update_if_current = hop(try_update_if_current)

    def _try_new_generation_if_current(
        self,
        session: Session,
        *,
        expect: Expect | None = None,
        set: Mapping[str, object] | None = None,
        where: Where | None = None,
        on_won: OnWon | None = None,
    ) -> Outcome:
        """Hand the row over to a new generation if it is still as last seen: ``run_seq + 1``.

        Args:
            session: the Session that the object belongs to.
            expect: what else is believed.
            set: values or expressions to write with it, by attribute name.
            where: as for `try_save_if_current`.
            on_won: as for `try_save_if_current`.

        Returns:
            The outcome; ``run_seq`` is the new generation.

        Raises:
            ConflictError: the object was refused before and has not been refreshed (``fenced``).
            MissingExpectation: version or generation was never seen.
            InvalidExpectation: a belief or a column does not fit.
            TransientConflict: the engine refused.
            UnknownOutcome: the connection was lost in flight.
            TypeError: the wrong kind of session.
        """
        return verbs.new_generation(self, session, expect=expect, set=set, where=where, on_won=on_won)

    _try_new_generation_if_current.__name__ = "try_new_generation_if_current"
    _new_generation_if_current = raising(_try_new_generation_if_current)
    try_new_generation_if_current = _generation(_try_new_generation_if_current)
    new_generation_if_current = _generation(_new_generation_if_current)
    anew_generation_if_current = _generation(hop(_new_generation_if_current))
    atry_new_generation_if_current = _generation(hop(_try_new_generation_if_current))

    def __cas_seen__(self, names: tuple[str, ...]) -> Mapping[str, object]:
        return instance.seen(self, names)


mapping.protect(CasVerbsMixin)
session.watch(CasVerbsMixin)
