"""What this process has answered, and the text format in which Prometheus reads figures.

Each web process counts for itself: a scraper asks every one of them and adds them up.
"""

import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
"""Upper ends in seconds. A page takes milliseconds; ``?wait=`` holds an answer up to a minute."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Told apart; a client may write anything."""


@dataclass(frozen=True, slots=True)
class Family:
    """Figures of one name: ``kind`` is ``counter``, ``gauge`` or ``histogram``."""

    name: str
    kind: str
    help: str
    samples: Iterable[tuple[str, Mapping[str, str], float]]
    """Suffix of the name, labels, value."""


def one(name: str, help: str, value: float, kind: str = "gauge") -> Family:
    """A family of a single figure without labels."""
    return Family(name, kind, help, [("", {}, value)])


def by_label(name: str, help: str, label: str, values: Mapping[str, float]) -> Family:
    """A family of gauges that differ in one label."""
    samples = [("", {label: key}, value) for key, value in sorted(values.items())]
    return Family(name, "gauge", help, samples)


def exposition(families: Iterable[Family]) -> str:
    """The families in Prometheus' text format, version 0.0.4."""
    lines = []
    for family in families:
        lines += [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}"]
        for suffix, labels, value in family.samples:
            named = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
            lines.append(
                f"{family.name}{suffix}{{{named}}} {value}"
                if named
                else f"{family.name}{suffix} {value}"
            )
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


@dataclass(slots=True)
class Requests:
    """Answers by route, method and status, and how long they took. Safe to use from threads."""

    _answers: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    _buckets: dict[str, list[int]] = field(default_factory=dict)
    _seconds: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _started: float = field(default_factory=time.time)

    def note(self, route: str, method: str | None, status: int, seconds: float) -> None:
        """Count one answer. ``route`` is the name of a view, so there are few of them."""
        known = method if method in METHODS else "other"
        with self._lock:
            self._answers[route, known, str(status)] += 1
            buckets = self._buckets.setdefault(route, [0] * (len(BUCKETS) + 1))
            buckets[bisect_left(BUCKETS, seconds)] += 1
            self._seconds[route] = self._seconds.get(route, 0.0) + seconds

    def families(self) -> list[Family]:
        """Everything counted so far."""
        with self._lock:
            answers, seconds = dict(self._answers), dict(self._seconds)
            buckets = {route: list(counts) for route, counts in self._buckets.items()}
        counted = [
            ("", {"route": route, "method": method, "status": status}, float(count))
            for (route, method, status), count in sorted(answers.items())
        ]
        timed = [
            sample
            for route, counts in sorted(buckets.items())
            for sample in _histogram(route, counts, seconds[route])
        ]
        started = "Start of this process, seconds since 1970."
        return [
            Family("ggufhub_requests_total", "counter", "Answers of this process.", counted),
            Family("ggufhub_request_seconds", "histogram", "Time to the answer.", timed),
            one("ggufhub_process_start_seconds", started, self._started),
        ]


def _histogram(
    route: str, counts: list[int], seconds: float
) -> Iterable[tuple[str, Mapping[str, str], float]]:
    total = 0
    for end, count in zip((*map("{:g}".format, BUCKETS), "+Inf"), counts, strict=True):
        total += count
        yield "_bucket", {"route": route, "le": end}, total
    yield "_sum", {"route": route}, seconds
    yield "_count", {"route": route}, total


requests = Requests()
"""Of this process."""
