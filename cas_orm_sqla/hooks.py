"""``on_won`` hooks: kept with the transaction that has to commit before they may run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlalchemy.orm import Session, SessionTransaction

Hook = Callable[[], object]
_SLOT: Final = "cas_orm_hooks"


def after_commit(session: Session, hook: Hook) -> None:
    """Run the hook when the transaction that is open now has committed, savepoints included."""
    transaction = session.get_nested_transaction() or session.get_transaction()
    if transaction is not None:
        waiting: dict[SessionTransaction, list[Hook]] = session.info.setdefault(_SLOT, {})
        waiting.setdefault(transaction, []).append(hook)


def take(session: Session, transaction: SessionTransaction) -> list[Hook]:
    """Take the hooks of a transaction that has ended."""
    waiting: dict[SessionTransaction, list[Hook]] = session.info.get(_SLOT, {})
    return waiting.pop(transaction, [])


def hand_on(session: Session, hooks: list[Hook], parent: SessionTransaction) -> None:
    """Give the hooks of a released savepoint to the transaction around it."""
    if hooks:
        waiting: dict[SessionTransaction, list[Hook]] = session.info.setdefault(_SLOT, {})
        waiting.setdefault(parent, []).extend(hooks)
