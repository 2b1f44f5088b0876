"""Django: a retry begins and ends its own transaction, and each attempt looks at the present."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connections, transaction
from django.test import TestCase
from django.test.utils import CaptureQueriesContext

from cas_orm import (
    CannotRetryHere,
    ConflictError,
    ErrRecordVersionConflict,
    Expect,
    MissingExpectation,
    Outcome,
    RecordMissing,
    RetriesExhausted,
    RetryPolicy,
    Superseded,
    TransientConflict,
    UnknownOutcome,
    Verdict,
)
from cas_orm_django import aretry_on_conflict, retry_on_conflict, retrying
from tests.django import tables
from tests.django.shop.models import Doc, Order

AT_ONCE = RetryPolicy(delays=[0], max_retries=4, jitter="none")
Form = Callable[..., Any]


def decorated(alias: str, fn: Callable[[], Any], policy: RetryPolicy = AT_ONCE) -> Any:
    """Retry with the decorator."""
    return retry_on_conflict(policy, using=alias)(fn)()


def looped(alias: str, fn: Callable[[], Any], policy: RetryPolicy = AT_ONCE) -> Any:
    """Retry with the loop."""
    for attempt in retrying(policy, using=alias):
        with attempt:
            result = fn()
    return result


def hopped(alias: str, fn: Callable[[], Any], policy: RetryPolicy = AT_ONCE) -> Any:
    """Retry with the asynchronous form, on this thread."""

    async def run() -> Any:
        return await aretry_on_conflict(fn, policy=policy, using=alias)

    async def main() -> Any:
        from asgiref.sync import sync_to_async

        try:
            return await run()
        finally:
            await sync_to_async(connections.close_all)()

    return asyncio.run(main())


@pytest.fixture(params=[decorated, looped, hopped], ids=lambda form: form.__name__)
def form(request: pytest.FixtureRequest) -> Form:
    """Yield each of the three ways to retry."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(params=[decorated, looped], ids=lambda form: form.__name__)
def here(request: pytest.FixtureRequest) -> Form:
    """Yield the two ways that run on the caller's own connection."""
    return request.param  # type: ignore[no-any-return]


def losing(times: int, error: Callable[[], BaseException], log: list[int]) -> Callable[[], int]:
    """Return a function that writes a row and fails, so many times, then writes it and returns."""

    def work() -> int:
        log.append(len(log) + 1)
        Doc.objects.create(title=f"attempt {len(log)}")
        if len(log) <= times:
            raise error()
        return len(log)

    return work


def titles(alias: str) -> list[str]:
    """Return what is stored."""
    return sorted(Doc.objects.using(alias).values_list("title", flat=True))


def transient() -> TransientConflict:
    return TransientConflict("dead", transaction="dead")


RETRIED = [lambda: ErrRecordVersionConflict("stale"), transient, lambda: ConflictError("undiagnosed")]
PASSED_ON = [
    lambda: Superseded("decided"),
    lambda: RecordMissing("gone"),
    lambda: ErrRecordVersionConflict("fenced", fenced=True),
    lambda: MissingExpectation("no version"),
    lambda: UnknownOutcome("lost"),
    lambda: OperationalError("the connection is lost, and the error has no code"),
    lambda: IntegrityError("duplicate"),
    lambda: ZeroDivisionError("a bug"),
    lambda: KeyboardInterrupt(),
]


@pytest.mark.parametrize("error", RETRIED)
def test_a_lost_attempt_is_undone_and_made_again(alias: str, form: Form, error: Any) -> None:
    """Two attempts lose; nothing that they wrote is left, the third is committed."""
    log: list[int] = []
    assert form(alias, losing(2, error, log)) == 3
    assert log == [1, 2, 3]
    assert titles(alias) == ["attempt 3"]


@pytest.mark.parametrize("error", PASSED_ON)
def test_what_is_not_retried(alias: str, form: Form, error: Any) -> None:
    """One attempt, undone; its error passes unchanged."""
    log: list[int] = []
    raised = error()
    with pytest.raises(type(raised)) as passed:
        form(alias, losing(9, lambda: raised, log))
    assert passed.value is raised
    assert log == [1]
    assert titles(alias) == []


def test_giving_up(alias: str, form: Form) -> None:
    """The error has attempts, waits, the last conflict and its cause; no partial write is left."""
    log: list[int] = []
    policy = RetryPolicy(delays=[0, 0.001], jitter="none", max_retries=3)
    with pytest.raises(RetriesExhausted) as gave_up:
        form(alias, losing(99, RETRIED[0], log), policy)
    error = gave_up.value
    assert (error.attempts, error.waited) == (4, pytest.approx(0.002))
    assert isinstance(error.last, ErrRecordVersionConflict)
    assert error.__cause__ is error.last
    assert titles(alias) == []
    assert not connections[alias].in_atomic_block


def test_the_timeout(alias: str, form: Form) -> None:
    """A wait that would pass the deadline is not begun."""
    log: list[int] = []
    policy = RetryPolicy(delays=[0, 60], jitter="none", timeout=30)
    began = time.monotonic()
    with pytest.raises(RetriesExhausted, match="30 seconds are over") as gave_up:
        form(alias, losing(99, RETRIED[0], log), policy)
    assert time.monotonic() - began < 20
    assert (gave_up.value.attempts, gave_up.value.waited) == (2, 0)


def test_a_real_conflict(alias: str, form: Form) -> None:
    """A rival writes between read and write: the second attempt sees it, and both changes are kept."""
    key = Order.objects.create(n=1).pk
    seen: list[int] = []

    def add() -> Outcome:
        order = Order.objects.get(pk=key)
        seen.append(order.record_version)
        if len(seen) == 1:
            tables.rival(Order, key, alias, n=10, record_version=2)  # in the transaction, and undone with it
        order.n += 1
        return order.save_if_current()

    outcome = form(alias, add)
    assert (outcome.verdict, outcome.record_version) == (Verdict.WON, 2)
    assert seen == [1, 1]
    if form is not looped:
        assert (outcome.attempts, outcome.provisional) == (2, False)
    assert tables.row(Order, key, alias)["n"] == 2


def test_superseded_for_real(alias: str, form: Form) -> None:
    """A believed column has changed: one attempt."""
    key = Order.objects.create(state="done").pk
    calls: list[int] = []

    def pack() -> Outcome:
        calls.append(1)
        order = Order.objects.get(pk=key)
        return order.update_if_current(expect=Expect(state="new"), set={"state": "packed"})

    with pytest.raises(Superseded):
        form(alias, pack)
    assert calls == [1]


def test_a_fenced_object_is_not_retried(alias: str, form: Form) -> None:
    """An object from outside, which lost before, is refused once: only a reload helps."""
    held = Order.objects.create()
    tables.rival(Order, held.pk, alias, record_version=2)
    assert not held.try_save_if_current()
    calls: list[int] = []

    def save() -> None:
        calls.append(1)
        held.save()

    with pytest.raises(ErrRecordVersionConflict) as refused:
        form(alias, save)
    assert refused.value.fenced
    assert calls == [1]


def test_a_losing_outcome_that_is_returned(alias: str) -> None:
    """try_ hands the decision to the caller: it is returned, not retried, and the rest is committed."""
    key = Order.objects.create().pk

    def give_in() -> Outcome:
        Doc.objects.create(title="kept")
        order = Order.objects.get(pk=key)
        return order.try_save_if_current(expect=Expect(record_version=99))

    outcome = decorated(alias, give_in)
    assert (outcome.verdict, outcome.attempts) == (Verdict.STALE, 1)
    assert titles(alias) == ["kept"]


def test_hooks_run_once_and_after_the_commit(alias: str, form: Form) -> None:
    """on_won and on_commit see the committed row, and those of a lost attempt never run."""
    key = Order.objects.create().pk
    told: list[tuple[Verdict, bool, int]] = []
    calls: list[int] = []

    def hook(outcome: Outcome) -> None:
        stored = tables.row(Order, key, alias)["n"]
        told.append((outcome.verdict, outcome.provisional, stored))
        assert not connections[alias].in_atomic_block

    def work() -> None:
        calls.append(1)
        order = Order.objects.get(pk=key)
        order.n = len(calls)
        order.save_if_current(on_won=hook)
        if len(calls) == 1:
            raise transient()

    form(alias, work)
    assert told == [(Verdict.WON, False, 2)]


def test_a_hook_that_fails_does_not_make_the_work_happen_twice(alias: str, form: Form) -> None:
    """After the commit even a conflict is only an error of the hook."""
    for error in (ErrRecordVersionConflict("from a hook"), OperationalError("from a hook")):
        log: list[int] = []

        def hook(error: Exception = error) -> None:
            raise error

        def work(log: list[int] = log, hook: Any = hook) -> None:
            log.append(1)
            Doc.objects.create(title="once")
            transaction.on_commit(hook, using=alias)

        with pytest.raises(type(error), match="from a hook"):
            form(alias, work)
        assert log == [1]
        assert titles(alias) == ["once"]
        Doc.objects.all().delete()


@pytest.mark.parametrize("durable", [False, True])
def test_inside_another_transaction(alias: str, here: Form, durable: bool) -> None:
    """Refused before any SQL, and the outer transaction goes on."""
    log: list[int] = []
    with transaction.atomic(using=alias, durable=durable):
        Doc.objects.create(title="outer")
        with CaptureQueriesContext(connections[alias]) as sent, pytest.raises(CannotRetryHere) as refused:
            here(alias, losing(0, transient, log))
        assert len(sent) == 0
        assert alias in str(refused.value)
        Doc.objects.create(title="still usable")
    assert log == []
    assert titles(alias) == ["outer", "still usable"]


def test_inside_another_retry(alias: str) -> None:
    """The inner one cannot own the transaction; the outer one passes the refusal on."""
    log: list[int] = []
    with pytest.raises(CannotRetryHere):
        decorated(alias, lambda: decorated(alias, losing(0, transient, log)))
    assert log == []


def test_with_autocommit_off(alias: str, here: Form) -> None:
    """Refused before any SQL: the transaction is the caller's."""
    log: list[int] = []
    transaction.set_autocommit(False, using=alias)
    try:
        with CaptureQueriesContext(connections[alias]) as sent, pytest.raises(CannotRetryHere):
            here(alias, losing(0, transient, log))
        assert len(sent) == 0
    finally:
        transaction.rollback(using=alias)
        transaction.set_autocommit(True, using=alias)
    assert log == []


def test_waits_are_outside_any_transaction(alias: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is kept waiting by a writer who waits."""
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        assert not connections[alias].in_atomic_block
        slept.append(seconds)

    monkeypatch.setattr(time, "sleep", sleep)
    policy = RetryPolicy(delays=[0.25, 0.5], jitter="none")
    for form in (decorated, looped):
        log: list[int] = []
        form(alias, losing(2, transient, log), policy)
    assert slept == [0.25, 0.5] * 2


def test_a_swallowed_dead_transaction_is_no_success(alias: str, form: Form) -> None:
    """Django would roll back in silence; the function's result would claim what is not stored."""
    calls: list[int] = []

    def work() -> int:
        calls.append(1)
        Doc.objects.create(title="a")
        if len(calls) == 1:
            connection = connections[alias]
            connection.needs_rollback = True
            connection.rollback_exc = _deadlock(connection.vendor)
        return len(calls)

    assert form(alias, work) == 2
    assert titles(alias) == ["a"]


def test_a_query_after_a_swallowed_dead_transaction(alias: str, form: Form) -> None:
    """Django's own refusal to go on is as good as the error that led to it."""
    calls: list[int] = []

    def work() -> int:
        calls.append(1)
        if len(calls) == 1:
            connection = connections[alias]
            connection.needs_rollback = True
            connection.rollback_exc = _deadlock(connection.vendor)
        Doc.objects.create(title="a")
        return len(calls)

    assert form(alias, work) == 2


def test_set_rollback_is_the_callers_wish(alias: str, form: Form) -> None:
    """A dry run returns, undone, and is not retried, whatever has happened to an earlier transaction."""
    connections[alias].rollback_exc = _deadlock(connections[alias].vendor)
    log: list[int] = []

    def dry_run() -> int:
        result = losing(0, transient, log)()
        transaction.set_rollback(True, using=alias)
        return result

    assert form(alias, dry_run) == 1
    assert titles(alias) == []


class FromDriver(Exception):
    """Looks like a driver's error to the table of codes."""


def _deadlock(vendor: str) -> OperationalError:
    cause: Any = FromDriver(1213, "deadlock") if vendor == "mysql" else FromDriver("refused")
    cause.sqlstate, cause.sqlite_errorcode = "40P01", 517
    error = OperationalError(*cause.args)
    error.__cause__ = cause
    return error


def test_an_engine_error_of_any_statement(alias: str, form: Form) -> None:
    """The ORM's own deadlock error is retried, whoever's statement it was; `last` keeps it as the cause."""
    log: list[int] = []
    vendor = connections[alias].vendor
    assert form(alias, losing(1, lambda: _deadlock(vendor), log)) == 2
    with pytest.raises(RetriesExhausted) as gave_up:
        form(alias, losing(99, lambda: _deadlock(vendor), log))
    last = gave_up.value.last
    assert isinstance(last, TransientConflict)
    assert last.transaction == "dead"
    assert isinstance(last.__cause__, OperationalError)


async def _async() -> None: ...


class AsyncCall:
    async def __call__(self) -> None: ...


def _generator() -> Any:
    yield


async def _async_generator() -> Any:
    yield


@pytest.mark.parametrize(
    "fn", [_async, AsyncCall(), functools.partial(_async), _generator, _async_generator, 7, None]
)
def test_what_cannot_be_retried(fn: Any) -> None:
    """An async def is refused when it is decorated; nothing runs."""
    with pytest.raises(TypeError):
        retry_on_conflict(AT_ONCE)(fn)
    with pytest.raises(TypeError):
        asyncio.run(aretry_on_conflict(fn))


def test_a_bare_async_def_is_refused() -> None:
    """Without parentheses, too."""
    with pytest.raises(TypeError, match="asynchronous"):
        retry_on_conflict(_async)


@pytest.mark.parametrize("form", [decorated, hopped])
def test_a_coroutine_as_the_result_is_refused(alias: str, form: Form) -> None:
    """The work would be done after the commit: the transaction is undone."""

    def work() -> Any:
        Doc.objects.create(title="a")
        return _async()

    with pytest.raises(TypeError):
        form(alias, work)
    assert titles(alias) == []


@pytest.mark.parametrize("policy", [3, "full", object()])
def test_no_policy(policy: Any) -> None:
    """A policy is a RetryPolicy."""
    for refused in (
        lambda: retry_on_conflict(policy),
        lambda: retrying(policy),
        lambda: asyncio.run(aretry_on_conflict(int, policy=policy)),
    ):
        with pytest.raises(TypeError, match="RetryPolicy"):
            refused()


@pytest.mark.usefixtures("_open")
def test_the_decorator_with_and_without_parentheses() -> None:
    """Bare, called, with a policy, on a method: name and arguments are kept."""

    class Shop:
        @retry_on_conflict
        def add(self, a: int, *, b: int) -> tuple[int, int, bool]:
            """Add."""
            return a, b, connections["default"].in_atomic_block

    @retry_on_conflict()
    def called() -> bool:
        return connections["default"].in_atomic_block

    @retry_on_conflict(policy=AT_ONCE)
    def named() -> bool:
        return connections["default"].in_atomic_block

    assert Shop().add(1, b=2) == (1, 2, True)
    assert (Shop.add.__name__, Shop.add.__doc__) == ("add", "Add.")
    assert called()
    assert named()


@pytest.mark.usefixtures("_open")
def test_arguments_of_the_asynchronous_form() -> None:
    """Arguments reach the function."""

    def work(a: int, *, b: int) -> tuple[int, int]:
        return a, b

    assert asyncio.run(aretry_on_conflict(work, 1, b=2)) == (1, 2)


def test_a_cancelled_wait_is_an_ordinary_cancelled_error(alias: str) -> None:
    """Nothing is in flight between two attempts, so there is nothing to settle."""
    log: list[int] = []
    policy = RetryPolicy(delays=[600], jitter="none")

    async def main() -> None:
        from asgiref.sync import sync_to_async

        task = asyncio.create_task(aretry_on_conflict(losing(99, transient, log), policy=policy, using=alias))
        while not log:
            await asyncio.sleep(0.001)
        await sync_to_async(lambda: None)()  # behind the attempt, in the same thread
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        assert not hasattr(cancelled.value, "cas_unknown")
        await sync_to_async(connections.close_all)()

    asyncio.run(main())
    assert log == [1]
    assert titles(alias) == []


def test_the_loop_tells_its_numbers(alias: str) -> None:
    """Each attempt knows which one it is and what has been waited."""
    policy = RetryPolicy(delays=[0.001, 0.002], jitter="none")
    numbers: list[tuple[int, float]] = []
    for attempt in retrying(policy, using=alias):
        with attempt as same:
            assert same is attempt
            numbers.append((attempt.number, round(attempt.waited, 6)))
            if attempt.number < 3:
                raise transient()
    assert numbers == [(1, 0), (2, 0.001), (3, 0.003)]


def test_leaving_the_loop_commits(alias: str) -> None:
    """break, continue and return inside the block end the loop, with a commit."""
    for attempt in retrying(using=alias):
        with attempt:
            Doc.objects.create(title="break")
            break
    for attempt in retrying(using=alias):
        with attempt:
            Doc.objects.create(title="continue")
            continue
    assert titles(alias) == ["break", "continue"]


@pytest.mark.parametrize("entered", [0, 1])
def test_an_attempt_that_is_not_entered(alias: str, entered: int) -> None:
    """A loop without ``with attempt:`` would run outside any transaction: it is told so."""
    runs = 0
    with pytest.raises(RuntimeError, match="with attempt"):
        for attempt in retrying(AT_ONCE, using=alias):
            if runs < entered:
                with attempt:
                    runs += 1
                    raise transient()
    assert runs == entered


@pytest.mark.usefixtures("_open")
def test_sqlite_begins_immediate() -> None:
    """The write lock is taken at BEGIN, where it can be waited for, whatever the settings say."""
    for form in (decorated, looped):
        with CaptureQueriesContext(connections["sqlite_deferred"]) as sent:
            form("sqlite_deferred", lambda: None)
        assert [q["sql"] for q in sent][:1] == ["BEGIN IMMEDIATE"]


class InTestCase(TestCase):
    """What users' tests do: one transaction around everything, which is never committed."""

    def test_wins(self) -> None:
        """The decorated function runs as in production."""
        outcome = retry_on_conflict(lambda: Order.objects.create().save_if_current())()
        assert outcome.record_version == 2

    def test_retries_a_conflict(self) -> None:
        """Each attempt is a savepoint here; what a lost one wrote is undone."""
        log: list[int] = []
        assert retry_on_conflict(AT_ONCE)(losing(2, RETRIED[0], log))() == 3
        assert list(Doc.objects.values_list("title", flat=True)) == ["attempt 3"]

    def test_does_not_retry_in_a_dead_transaction(self) -> None:
        """The test's transaction is gone with it: nothing could be tried again."""
        log: list[int] = []
        with pytest.raises(TransientConflict):
            retry_on_conflict(AT_ONCE)(losing(9, transient, log))()
        assert log == [1]

    def test_retries_after_a_statement_was_undone(self) -> None:
        """A refusal that leaves the transaction open is retried."""
        log: list[int] = []

        def busy() -> TransientConflict:
            return TransientConflict("busy", transaction="open")

        assert retry_on_conflict(AT_ONCE)(losing(1, busy, log))() == 2

    def test_refuses_inside_an_atomic_block(self) -> None:
        """The test's own transaction is let through, the code's is not."""
        with transaction.atomic(), pytest.raises(CannotRetryHere):
            retry_on_conflict(lambda: None)()

    def test_captures_the_hook(self) -> None:
        """``captureOnCommitCallbacks`` sees the hook of the attempt that won, and no other of ours."""
        told: list[Outcome] = []
        with self.captureOnCommitCallbacks(execute=True) as captured:
            retry_on_conflict(lambda: None)()
        assert captured == []
        with self.captureOnCommitCallbacks(execute=True):
            retry_on_conflict(lambda: Order.objects.create().save_if_current(on_won=told.append))()
        assert [o.verdict for o in told] == [Verdict.WON]


@pytest.mark.django_db
def test_with_pytest_djangos_db() -> None:
    """The ``db`` fixture is a TestCase, too."""
    assert retry_on_conflict(losing(1, RETRIED[0], []))() == 2
