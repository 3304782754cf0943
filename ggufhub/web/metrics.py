"""What the web server has answered, and figures about the service, for Prometheus.

A web server may have several processes, any of which may be asked. They count into files of one
directory, ``SHARED``, so that each can tell what all have answered, those included that ended.
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

disable_created_metrics()  # when a counter began is one figure for all of them

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the directory. The library reads it when it is imported; without it a
process counts for itself."""

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
"""Upper ends in seconds. A page takes milliseconds; ``?wait=`` holds an answer up to a minute."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Told apart; a client may write anything."""


def one(name: str, help: str, value: float) -> Metric:
    """A single gauge without labels."""
    return GaugeMetricFamily(name, help, value)


def by_label(name: str, help: str, label: str, values: Mapping[str, float]) -> Metric:
    """Gauges that differ in one label."""
    family = GaugeMetricFamily(name, help, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([key], value)
    return family


class Requests:
    """Answers by route, method and status, and how long they took. Safe to use from threads."""

    def __init__(self) -> None:
        self._own = CollectorRegistry()
        self._answers = Counter(
            "ggufhub_requests",
            "Answers of the web server.",
            ("route", "method", "status"),
            registry=self._own,
        )
        self._seconds = Histogram(
            "ggufhub_request_seconds",
            "Time to the answer.",
            ("route",),
            buckets=BUCKETS,
            registry=self._own,
        )
        started = Gauge(
            "ggufhub_process_start_seconds",
            "Start of the web server, seconds since 1970.",
            multiprocess_mode="min",
            registry=self._own,
        )
        started.set(time.time())

    def note(self, route: str, method: str | None, status: int, seconds: float) -> None:
        """Count one answer. ``route`` is the name of a view, so there are few of them."""
        known = method if method in METHODS else "other"
        self._answers.labels(route, known, str(int(status))).inc()
        self._seconds.labels(route).observe(seconds)

    def families(self) -> Iterable[Metric]:
        """Everything counted so far, by all processes that share a directory."""
        together = MultiProcessCollector(None) if SHARED in os.environ else self._own
        families: Iterable[Metric] = together.collect()
        return families


class _Given(CollectorRegistry):
    """A registry of these families and nothing else."""

    def __init__(self, families: Iterable[Metric]) -> None:
        super().__init__()
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families


def exposition(families: Iterable[Metric]) -> str:
    """The families in Prometheus' text format, version 0.0.4."""
    return generate_latest(_Given(families)).decode()


requests = Requests()
"""Of this web server."""
