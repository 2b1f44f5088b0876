"""Does anybody but the library listen to ``pre_save`` of a model? Asking is cheaper than telling nobody."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.signals import pre_save

#: Marks the library's own receiver, connected to every CAS model for the sake of fixtures.
OWN = "cas_orm"


class Listeners:
    """Whether ``pre_save`` of one class has receivers of the user's; looked up again when any connect."""

    __slots__ = ("_count", "_last", "_model", "_others")

    def __init__(self, model: type[models.Model]) -> None:
        self._model = model
        self._count = -1
        self._last: Any = None
        self._others = True

    def __bool__(self) -> bool:
        receivers = pre_save.receivers
        last = receivers[-1] if receivers else None
        if len(receivers) != self._count or last is not self._last:
            self._count, self._last = len(receivers), last
            senders = (id(self._model), id(None))
            keys = (receiver[0] for receiver in receivers)
            self._others = any(key[1] in senders and not _is_own(key[0]) for key in keys)
        return self._others


def dispatch_uid(model: type[models.Model]) -> tuple[str, type[models.Model]]:
    """Return the identity of the library's own receiver for a class."""
    return (OWN, model)


def _is_own(uid: object) -> bool:
    return isinstance(uid, tuple) and uid[0] == OWN
