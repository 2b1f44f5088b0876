"""Calls that a type checker must refuse: each is marked, and a mark that is not needed is an error."""

from __future__ import annotations

from cas_orm import Expect, Outcome, judge

Expect(7)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
Expect(record_version="7")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Expect(record_version=None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
_ = Expect(state="a") | Expect(state="b")  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue]
judge(Expect(record_version=1))  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def freeze(outcome: Outcome) -> None:
    outcome.provisional = True  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
