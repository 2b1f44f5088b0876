"""Calls of the Django adapter that a type checker must refuse; a mark that is not needed is an error."""

from __future__ import annotations

from cas_orm import Expect
from cas_orm_django import update_if_current
from tests.typing.django_calls import Job

update_if_current(Job, 1, set={"state": "done"})  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
update_if_current(Job, 1, expect={"state": "x"}, set={})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Job().update_if_current(Expect(run_seq=1), set={})  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
