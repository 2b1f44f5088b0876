"""The class, the engines and the session factories that several pages use without repeating them.

The database is a file, so that two sessions are two connections, as they are in two processes.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, sessionmaker
from sqlalchemy.pool import NullPool

from cas_orm_sqla import CasMixin

_folder = tempfile.mkdtemp(prefix="cas-orm-docs-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
_file = Path(_folder, "store.sqlite3").as_posix()

engine = create_engine(f"sqlite:///{_file}", connect_args={"timeout": 20}, poolclass=NullPool)
async_engine = create_async_engine(f"sqlite+aiosqlite:///{_file}", poolclass=NullPool)
Session = sessionmaker(engine)
AsyncSession = async_sessionmaker(async_engine, expire_on_commit=False)


class Base(DeclarativeBase):
    """The tables of the store."""


class Order(CasMixin, Base):
    """An order with a version and a generation."""

    __tablename__ = "store_order"

    id: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[str]
    state: Mapped[str] = mapped_column(default="open")
    quantity: Mapped[int] = mapped_column(default=1)
    note: Mapped[str] = mapped_column(default="")


Base.metadata.create_all(engine)
