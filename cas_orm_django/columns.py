"""Which columns of a model carry the belief, and in which tables they live.

Worked out once per class, at its first use, and kept. Nothing here touches a database.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from django.core.exceptions import FieldDoesNotExist, ImproperlyConfigured
from django.db import models

from cas_orm import Expect, InvalidExpectation
from cas_orm.belief import resolve
from cas_orm.lifecycle import Lifecycle
from cas_orm_django import overrides
from cas_orm_django.belief import FieldBelief, Where, clean_where, condition
from cas_orm_django.listeners import Listeners

if TYPE_CHECKING:
    from cas_orm_django.script import Part

AnyModel: TypeAlias = type[models.Model]
AnyField: TypeAlias = "models.Field[Any, Any]"


@dataclass(frozen=True, eq=False)
class Table:
    """One concrete table of a model, with the columns that a save may write."""

    model: AnyModel
    name: str
    keys: tuple[AnyField, ...]
    fields: tuple[AnyField, ...]


@dataclass(frozen=True, eq=False)
class Columns:
    """The roles that a model's columns play.

    Attributes:
        model: the class as the user named it; `concrete` is the one behind a proxy.
        version, generation, token: the fields by role.
        unversioned: fields that never bump the version.
        tables: the version's own table first, then the others of a multi-table model.
    """

    model: AnyModel
    version: AnyField
    generation: AnyField | None
    token: AnyField | None
    unversioned: frozenset[AnyField]
    tables: tuple[Table, ...]

    @cached_property
    def label(self) -> str:
        """Django's label of the model, for outcomes and messages."""
        return self.model._meta.label

    @cached_property
    def version_name(self) -> str:
        """The attribute that is the version."""
        return self.version.attname

    @cached_property
    def generation_name(self) -> str | None:
        """The attribute that is the generation; None when there is none."""
        return None if self.generation is None else self.generation.attname

    @cached_property
    def owner(self) -> Table:
        """The table that holds the version: the one that is updated first."""
        return self.tables[0]

    @cached_property
    def attnames(self) -> frozenset[str]:
        """Every attribute that a fully loaded object has; generated columns may be stale or absent."""
        return frozenset(f.attname for f in self.model._meta.concrete_fields if not generated(f))

    @cached_property
    def saved(self) -> tuple[AnyField, ...]:
        """What a full save writes: everything except keys, roles, generated and unversioned columns."""
        return tuple(f for table in self.tables for f in table.fields if f not in self.unversioned)

    @cached_property
    def by_name(self) -> dict[str, AnyField]:
        """Writable fields by name and by attribute name."""
        fields = [f for table in self.tables for f in table.fields]
        return {f.name: f for f in fields} | {f.attname: f for f in fields}

    @cached_property
    def by_attname(self) -> dict[str, AnyField]:
        """Every concrete field by attribute name."""
        return {f.attname: f for f in self.model._meta.concrete_fields}

    @cached_property
    def placeholders(self) -> frozenset[str]:
        """Attributes whose fields bind with a placeholder of their own."""
        return frozenset(
            f.attname
            for f in self.model._meta.concrete_fields
            if hasattr(f, "get_placeholder_sql") or hasattr(f, "get_placeholder")
        )

    @cached_property
    def version_maximum(self) -> int:
        """The largest number that the version's column holds."""
        return maximum_of(self.version)

    @cached_property
    def generation_maximum(self) -> int | None:
        """The largest number that the generation's column holds; None when there is none."""
        return None if self.generation is None else maximum_of(self.generation)

    @cached_property
    def lifecycle(self) -> Lifecycle:
        """The states of a job, from the class's options; InvalidExpectation when it is not one."""
        return Lifecycle.of(self.model, self.label)

    def belief(
        self, expect: Expect | None, where: Where | None, seen: FieldBelief | None = None
    ) -> FieldBelief:
        """Check a belief against the model; what is explicit replaces what was seen."""
        return resolve(self, expect, clean_where(where), seen)

    def condition(self, name: str, value: object) -> tuple[str, AnyField, object]:
        """Return name, field and typed value of one believed column."""
        return condition(self, name, value)

    @cached_property
    def active(self) -> frozenset[str]:
        """Attributes whose fields do something when they are asked for the value to save."""
        fields = self.model._meta.concrete_fields
        return frozenset(f.attname for f in fields if type(f).pre_save is not models.Field.pre_save)

    @cached_property
    def generated(self) -> frozenset[str]:
        """Attributes that the database computes."""
        return frozenset(f.attname for f in self.model._meta.concrete_fields if generated(f))

    @cached_property
    def listeners(self) -> Listeners:
        """Whether anybody but the library listens to ``pre_save`` of the class."""
        return Listeners(self.model)

    @cached_property
    def identity(self) -> tuple[str, ...]:
        """Attributes that say which row, and which state of it, an object stands for."""
        job = [self.by_attname["state"]] if hasattr(self.model, "cas_transitions") else []
        roles = (self.version, self.generation, self.token, *job)
        keys = [key for table in self.tables for key in table.keys]
        links = [link for table in self.tables for link in table.model._meta.parents.values() if link]
        return tuple(dict.fromkeys(f.attname for f in (*keys, *links, *roles) if f is not None))

    @cached_property
    def shapes(self) -> dict[tuple[object, ...], tuple[Part, ...]]:
        """Statements built before, by what shaped them."""
        return {}

    @cached_property
    def roles(self) -> frozenset[str]:
        """Names under which version, generation and token may be addressed."""
        fields = (self.version, self.generation, self.token)
        return frozenset(f.name for f in fields if f is not None)

    @cached_property
    def wraps_save(self) -> bool:
        """Whether a base of the user's has its own save() or save_base(), before or behind the guard."""
        return not (overrides.is_guards_own(self.model, "save", "save_base"))

    @cached_property
    def wraps_delete(self) -> bool:
        """Whether the class, or a base of the user's before the guard, has its own delete()."""
        return overrides.stands_before_guard(self.model, "delete")

    @cached_property
    def deletes_as_django(self) -> bool:
        """Whether what stands behind the guard is Django's own delete(), not a base's of the user's."""
        return overrides.is_djangos_behind_guard(self.model, "delete")

    def writable(self, name: str) -> AnyField:
        """Return the field that a verb may write under this name.

        Raises:
            InvalidExpectation: unknown, a key, generated, or the version, generation or token.
        """
        field = self.by_name.get(name)
        if field is None:
            why = "is written by the library alone" if name in self.roles else "is not a writable column"
            raise InvalidExpectation(f"{self.label}.{name} {why} [cas-invalid-expectation]")
        return field

    def believable(self, name: str) -> AnyField:
        """Return the field that a belief may name: a plain column of the version's own table.

        Raises:
            InvalidExpectation: unknown, a relation, another table's, or of a type without exact equality.
        """
        known = self._believable.get(name)
        if known is not None:
            return known
        field = self._own_columns.get(name)
        if field is None:
            raise InvalidExpectation(
                f"{self.label}.{name} is not a plain column of {self.owner.name}; beliefs name attributes "
                f"such as 'state' or 'customer_id' [cas-invalid-expectation]"
            )
        if field is self.version or field is self.generation:
            raise InvalidExpectation(
                f"believe {name} as record_version= or run_seq= [cas-invalid-expectation]"
            )
        if isinstance(field, models.JSONField | models.FloatField):
            raise InvalidExpectation(
                f"{self.label}.{name}: a {type(field).__name__} has no exact equality in SQL "
                "[cas-invalid-expectation]"
            )
        self._believable[name] = field
        return field

    @cached_property
    def _believable(self) -> dict[str, AnyField]:
        return {}

    @cached_property
    def _own_columns(self) -> dict[str, AnyField]:
        return {f.attname: f for f in self.owner.model._meta.local_concrete_fields}


@cache
def columns_of(model: AnyModel) -> Columns:
    """Return the roles of a model's columns.

    Raises:
        ImproperlyConfigured: the model has no version column, or a generation in another table.
    """
    version = _role(model, "cas_version_field")
    generation = _role(model, "cas_generation_field")
    if version is None:
        raise ImproperlyConfigured(
            f"{model._meta.label} has no version column: use RecordVersionMixin or CasMixin, "
            "or name yours in cas_version_field"
        )
    owner = owner_of(version)
    if generation is not None and owner_of(generation) is not owner:
        raise ImproperlyConfigured(f"{model._meta.label}: version and generation must be in one table")
    token = _role(model, "cas_token_field")
    if token is not None and owner_of(token) is not owner:
        raise ImproperlyConfigured(f"{model._meta.label}: version and write token must be in one table")
    roles = {version, generation, token}
    names = frozenset(getattr(model, "cas_unversioned_fields", ()))
    fields = model._meta.concrete_fields
    return Columns(
        model=model,
        version=version,
        generation=generation,
        token=token,
        unversioned=frozenset(f for f in fields if {f.name, f.attname} & names),
        tables=tuple(_table(m, roles) for m in _tables(model, owner)),
    )


def owner_of(field: AnyField) -> AnyModel:
    """Return the concrete model whose table holds the column."""
    concrete = field.model._meta.concrete_model
    assert concrete is not None
    return concrete


_BIG: Final = 2**63 - 1
_MAXIMA: Final = {
    "SmallIntegerField": 2**15 - 1,
    "PositiveSmallIntegerField": 2**15 - 1,
    "IntegerField": 2**31 - 1,
    "PositiveIntegerField": 2**31 - 1,
}


def maximum_of(field: AnyField) -> int:
    """Return the largest number that an integer column holds."""
    return _MAXIMA.get(field.get_internal_type(), _BIG)


def column_of(field: AnyField) -> str:
    """Return the name of a concrete field's column."""
    assert field.column is not None
    return field.column


def generated(field: AnyField) -> bool:
    """Tell whether the database computes the column."""
    return bool(getattr(field, "generated", False))


def _role(model: AnyModel, option: str) -> AnyField | None:
    """Return the field that plays a role; a default name that the model does not use plays none."""
    from cas_orm_django.mixins import CasVerbsMixin

    name = getattr(model, option, None)
    if name is None:
        return None
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist as error:
        if name == getattr(CasVerbsMixin, option):
            return None
        raise ImproperlyConfigured(f"{model._meta.label}.{option} names no field: {name!r}") from error
    assert isinstance(field, models.Field)
    return field


def _tables(model: AnyModel, owner: AnyModel) -> list[AnyModel]:
    concrete = model._meta.concrete_model
    assert concrete is not None
    parents = [m for m in (*concrete._meta.all_parents, concrete) if not m._meta.proxy]
    return [owner, *(m for m in dict.fromkeys(parents) if m is not owner)]


def _table(model: AnyModel, roles: set[AnyField | None]) -> Table:
    meta = model._meta
    keys = tuple(meta.pk_fields)
    return Table(
        model=model,
        name=meta.db_table,
        keys=keys,
        fields=tuple(
            f for f in meta.local_concrete_fields if f not in keys and f not in roles and not generated(f)
        ),
    )
