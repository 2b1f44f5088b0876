"""Calls of the SQLAlchemy adapter that a type checker must refuse; a mark that is not needed is an error."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from cas_orm import Expect
from cas_orm_sqla import aupdate_if_current, guard, update_if_current
from tests.typing.sqla_calls import Invoice

update_if_current(Session(), Invoice, 1, set={"state": "done"})  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
update_if_current(Session(), Invoice, 1, expect={"state": "x"}, set={})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
update_if_current(AsyncSession(), Invoice, 1, expect=Expect(run_seq=1), set={})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Invoice().save_if_current()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
Invoice().save_if_current(AsyncSession())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Invoice().update_if_current(Session(), Expect(run_seq=1), set={})  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
Invoice().save_if_current(Session(), update_fields=[Invoice.state])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
guard(Session())  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]


async def asynchronously(invoice: Invoice) -> None:
    await invoice.asave_if_current(Session())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await aupdate_if_current(Session(), Invoice, 1, expect=Expect(run_seq=1), set={})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
