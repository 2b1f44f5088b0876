"""`CasSession` for asyncio. Apart, because importing SQLAlchemy's asyncio needs greenlet."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from cas_orm_sqla.guarded import CasSession


class AsyncCasSession(AsyncSession):
    """`CasSession` for asyncio."""

    sync_session_class: type[Session] = CasSession
