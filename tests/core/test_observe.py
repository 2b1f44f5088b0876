"""Observers: what they count, what they write, and at which level."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from cas_orm import (
    Coordinator,
    LivelockPolicy,
    RequeuePolicy,
    RetryPolicy,
    RunSnapshot,
    Transition,
    Verdict,
    WakeUp,
)
from cas_orm.observe import COUNTERS, CasEvent, LoggingObserver, OpenTelemetryObserver, PrometheusObserver
from cas_orm.queues.memory import MemoryQueue
from cas_orm.testing import MemoryStore

EVENTS = [
    CasEvent(kind="write", model="shop.Run", verb="commit", key="7", verdict=Verdict.STALE),
    CasEvent(kind="write", model="shop.Run", verb="commit", key="7", verdict=Verdict.WON),
    CasEvent(kind="write", model="shop.Run", verb="commit", key="7"),
    CasEvent(
        kind="retry",
        model="shop.Run",
        verb="commit",
        key="7",
        verdict=Verdict.WON,
        disposition="absorbed",
        attempts=3,
        waited=0.01,
    ),
    CasEvent(kind="requeue", model="shop.Run", key="7", disposition="requeued", attempts=6),
    *(CasEvent(kind=kind, model="shop.Run", key="7") for kind in COUNTERS if kind != "requeue"),  # type: ignore[arg-type]  # kinds
]
EXPECTED = {
    ("cas_total", (("model", "shop.Run"), ("outcome", "stale"), ("verb", "commit"))): 1,
    ("cas_total", (("model", "shop.Run"), ("outcome", "won"), ("verb", "commit"))): 1,
    ("cas_total", (("model", "shop.Run"), ("outcome", "refused"), ("verb", "commit"))): 1,
    ("cas_conflicts_total", (("disposition", "absorbed"), ("model", "shop.Run"))): 2,
    ("cas_conflicts_total", (("disposition", "requeued"), ("model", "shop.Run"))): 6,
    **{(name, ()): 1 for name in COUNTERS.values()},
}


def test_prometheus() -> None:
    """The names and labels are those of the contract; absorbed and requeued conflicts are told apart."""
    prometheus_client = pytest.importorskip("prometheus_client")
    registry = prometheus_client.CollectorRegistry()
    observer = PrometheusObserver(registry)
    for event in EVENTS:
        observer.record(event)
    for (name, labels), value in EXPECTED.items():
        assert registry.get_sample_value(name, dict(labels)) == value, name
    assert registry.get_sample_value("cas_retries_count") == 2
    assert registry.get_sample_value("cas_retries_sum") == 7


def test_opentelemetry() -> None:
    """The same, read back from a reader in memory."""
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    observer = OpenTelemetryObserver(MeterProvider([reader]).get_meter("test"))
    for event in EVENTS:
        observer.record(event)
    data: Any = reader.get_metrics_data()
    found = {
        (metric.name, tuple(sorted(point.attributes.items()))): getattr(point, "value", None)
        for metric in data.resource_metrics[0].scope_metrics[0].metrics
        for point in metric.data.data_points
    }
    assert {key: found.get(key) for key in EXPECTED} == EXPECTED
    assert ("cas_retries", ()) in found


@pytest.mark.parametrize(
    ("kind", "level"),
    [
        ("write", logging.DEBUG),
        ("retry", logging.DEBUG),
        ("requeue", logging.INFO),
        ("force_fail", logging.WARNING),
        ("stuck", logging.WARNING),
        ("checksum", logging.WARNING),
        ("tick_error", logging.WARNING),
    ],
)
def test_logging(caplog: pytest.LogCaptureFixture, kind: Any, level: int) -> None:
    """One line an event, with the row and what came of it."""
    event = CasEvent(kind=kind, model="shop.Run", verb="commit", key="7", error=ZeroDivisionError("secret"))
    with caplog.at_level(logging.DEBUG, "cas_orm"):
        LoggingObserver().record(event)
    (record,) = caplog.records
    assert record.levelno == level
    assert all(part in record.getMessage() for part in ("shop.Run 7 commit", kind, "ZeroDivisionError"))
    assert "secret" not in record.getMessage()


def test_a_coordinator_tells_its_observer() -> None:
    """From the first conflict to the force-fail, every lost attempt is counted once."""
    prometheus_client = pytest.importorskip("prometheus_client")
    registry = prometheus_client.CollectorRegistry()

    class Contended(MemoryStore):
        def load(self, run_id: str) -> RunSnapshot | None:
            found = super().load(run_id)
            if found is not None:
                bumped = RunSnapshot("r", found.record_version + 1, 0, found.status, {}, 0)
                self.runs[run_id] = bumped
            return found

    store = Contended([RunSnapshot("r", 1, 0, "running", {}, 0)])
    coordinator = Coordinator(
        store,
        lambda run: Transition("running", {}),
        MemoryQueue(),
        retry=RetryPolicy(max_retries=2, base=0, cap=0),
        requeue=RequeuePolicy(jitter="none"),
        livelock=LivelockPolicy(max_stalled_requeues=1),
        observer=PrometheusObserver(registry),
    )
    requeued: Any = coordinator.handle(WakeUp("r"))
    coordinator.handle(requeued.wakeup)
    value = registry.get_sample_value
    assert value("cas_total", {"model": "memory", "verb": "commit", "outcome": "stale"}) == 6
    assert value("cas_conflicts_total", {"model": "memory", "disposition": "requeued"}) == 3
    assert value("cas_conflicts_total", {"model": "memory", "disposition": "escaped"}) == 3
    assert (value("cas_requeues_total"), value("cas_livelock_forced_total")) == (1, 1)
    assert value("cas_tick_errors_total") == 0
