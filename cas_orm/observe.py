"""What happened, for logs and metrics. An observer that raises never breaks a write.

Prometheus and OpenTelemetry are imported by their observers, on first use.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias

from cas_orm.outcome import Verdict

logger: Final = logging.getLogger("cas_orm")

Kind: TypeAlias = Literal["write", "retry", "requeue", "force_fail", "stuck", "checksum", "tick_error"]
Disposition: TypeAlias = Literal["", "absorbed", "requeued", "escaped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CasEvent:
    """One thing that happened to a row.

    Attributes:
        kind: what it is about.
        model: the model's label.
        verb: the verb's short name.
        key: the row's key.
        verdict: the judgement, where one was made.
        disposition: what became of a conflict: absorbed by a retry, requeued, or escaped to the caller.
        attempts: how often the write was tried.
        waited: seconds spent waiting in between.
        error: what was raised, or is carried by the result.
    """

    kind: Kind
    model: str
    verb: str = ""
    key: object = None
    verdict: Verdict | None = None
    disposition: Disposition = ""
    attempts: int = 1
    waited: float = 0.0
    error: BaseException | None = None

    @property
    def conflicts(self) -> int:
        """How many of the attempts lost."""
        return self.attempts - (self.verdict in (Verdict.WON, Verdict.ALREADY_APPLIED))


class Observer(Protocol):
    """Whoever wants to hear of events."""

    def record(self, event: CasEvent) -> object:
        """Take note of an event; what it raises is logged and forgotten."""
        ...


def tell(observer: Observer | None, event: CasEvent) -> None:
    """Let an observer know. Nothing that it does comes back."""
    if observer is None:
        return
    try:
        observer.record(event)
    except Exception:  # whatever it raises must not undo what has been written
        logger.exception("the observer failed at a %s event", event.kind)


class LoggingObserver:
    """Write events to a log: conflicts at DEBUG, requeues at INFO, escalations at WARNING.

    Args:
        log: where to; by default the logger ``cas_orm``.
    """

    _LEVELS: Final = {"write": logging.DEBUG, "retry": logging.DEBUG, "requeue": logging.INFO}

    def __init__(self, log: logging.Logger | None = None) -> None:
        self._log = log or logger

    def record(self, event: CasEvent) -> None:
        """Write one line; no column value is in it."""
        self._log.log(
            self._LEVELS.get(event.kind, logging.WARNING),
            "%s %s %s: %s %s after %d attempts and %.3f s of waiting%s",
            event.model,
            event.key,
            event.verb or "-",
            event.kind,
            event.verdict.value if event.verdict is not None else event.disposition or "-",
            event.attempts,
            event.waited,
            "" if event.error is None else f": {type(event.error).__name__}",
        )


#: kind -> the counter without labels that it raises
COUNTERS: Final = {
    "requeue": "cas_requeues_total",
    "force_fail": "cas_livelock_forced_total",
    "stuck": "cas_stuck_forced_total",
    "checksum": "cas_checksum_mismatch_total",
    "tick_error": "cas_tick_errors_total",
}
_HELP: Final = {
    "cas_total": "Conditional writes, by what came of them",
    "cas_conflicts_total": "Lost attempts, by what became of them",
    "cas_retries": "Retries that a unit of work needed",
    "cas_requeues_total": "Wakeups that were given back to the queue",
    "cas_livelock_forced_total": "Runs that were failed because they made no progress",
    "cas_stuck_forced_total": "Runs that were failed by the watchdog",
    "cas_checksum_mismatch_total": "Rows whose state is not the one that was committed",
    "cas_tick_errors_total": "Ticks that raised",
}


class _Metrics:
    """What an event adds to the metrics, whoever keeps them."""

    def record(self, event: CasEvent) -> None:
        """Count the event."""
        if event.kind == "write":
            outcome = event.verdict.value if event.verdict is not None else "refused"
            self._add("cas_total", 1, model=event.model, verb=event.verb, outcome=outcome)
        if event.kind in COUNTERS:
            self._add(COUNTERS[event.kind], 1)
        if event.disposition:
            conflicts = {"model": event.model, "disposition": event.disposition}
            self._add("cas_conflicts_total", event.conflicts, **conflicts)
            self._observe("cas_retries", event.attempts - 1)

    def _add(self, name: str, amount: int, **labels: str) -> None:
        raise NotImplementedError

    def _observe(self, name: str, value: int) -> None:
        raise NotImplementedError


class PrometheusObserver(_Metrics):
    """Count events in Prometheus metrics; needs ``cas-orm[prometheus]``.

    Args:
        registry: a ``CollectorRegistry``; by default the process's own.
    """

    def __init__(self, registry: Any = None) -> None:
        import prometheus_client

        into: dict[str, Any] = {"registry": prometheus_client.REGISTRY if registry is None else registry}
        labels = {"cas_total": ("model", "verb", "outcome"), "cas_conflicts_total": ("model", "disposition")}
        self._counters = {
            name: prometheus_client.Counter(
                name.removesuffix("_total"), _HELP[name], labels.get(name, ()), **into
            )
            for name in _HELP
            if name.endswith("_total")
        }
        self._retries = prometheus_client.Histogram(
            "cas_retries", _HELP["cas_retries"], buckets=(0, 1, 2, 3, 5, 10, 20, 30), **into
        )

    def _add(self, name: str, amount: int, **labels: str) -> None:
        counter = self._counters[name]
        (counter.labels(**labels) if labels else counter).inc(amount)

    def _observe(self, name: str, value: int) -> None:
        self._retries.observe(value)


class OpenTelemetryObserver(_Metrics):
    """Count events in OpenTelemetry instruments of the same names; needs ``cas-orm[otel]``.

    Args:
        meter: by default the global provider's meter ``cas_orm``.
    """

    def __init__(self, meter: Any = None) -> None:
        from opentelemetry import metrics

        meter = meter if meter is not None else metrics.get_meter("cas_orm")
        self._counters = {
            name: meter.create_counter(name, description=_HELP[name])
            for name in _HELP
            if name.endswith("_total")
        }
        self._retries = meter.create_histogram("cas_retries", description=_HELP["cas_retries"])

    def _add(self, name: str, amount: int, **labels: str) -> None:
        self._counters[name].add(amount, labels)

    def _observe(self, name: str, value: int) -> None:
        self._retries.record(value)
