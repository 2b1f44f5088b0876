"""Which statement is in flight, for the twin that awaits it and may be cancelled."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from cas_orm_django.script import Script


@dataclass(slots=True)
class Watch:
    """Shows the async twins which statement was in flight when they were cancelled."""

    script: Script | None = None
    in_transaction: bool = False
    cancelled: bool = False


WATCH: Final[ContextVar[Watch | None]] = ContextVar("cas_orm_django_watch", default=None)
