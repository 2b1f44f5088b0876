"""Public calls of the core, as its users write them. Checked by mypy and pyright; never executed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, assert_type

from cas_orm import (
    CasError,
    ConflictError,
    ErrRecordVersionConflict,
    Expect,
    Outcome,
    TransientConflict,
    Verdict,
    judge,
    not_one_of,
    one_of,
)

belief = Expect(record_version=7, run_seq=3, state="running", note=None)
both = belief & Expect(state=one_of("running", "pending"), owner=not_one_of("nobody"))
assert_type(both, Expect)
assert_type(both.to_json(), str)
assert_type(Expect.from_json(both.to_json()), Expect)

verdict = judge(
    belief, {"record_version": 8}, target={"state": "done"}, budget=("attempts", 3), where_holds=True
)
assert_type(verdict, Verdict)


def read(outcome: Outcome) -> int | None:
    assert_type(outcome.or_raise(), Outcome)
    assert_type(outcome.verdict, Verdict)
    assert_type(outcome.provisional, bool)
    assert_type(outcome.attempts, int)
    assert_type(outcome.waited, float)
    assert_type(outcome.expected, Mapping[str, object])
    assert_type(outcome.actual, Mapping[str, object] | None)
    assert_type(outcome.run_seq, int | None)
    return outcome.record_version if outcome else None


def catch(error: CasError) -> str:
    if isinstance(error, TransientConflict):
        assert_type(error.transaction, Literal["dead", "open", "unknown"])
    if isinstance(error, ErrRecordVersionConflict | ConflictError):
        assert_type(error.fenced, bool)
        assert_type(error.verdict, Verdict | None)
    return error.code
