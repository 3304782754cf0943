"""Mixed work for a long time: nothing may be lost, nothing may grow."""

import random
import threading
import time
from collections import Counter
from itertools import combinations
from statistics import median
from typing import Any

from tests.faults.client import Client
from tests.load.service import Service, Taken

CLIENTS = 4
SAMPLES = 120
SETTLED_SECONDS = 600.0
SETTLED = 0.3
"""The first ten minutes, or of a short run the first part, in which processes load what they need
and caches fill, do not count as growth."""

GROWTH_MIB_AN_HOUR = 30.0
"""Memory of some fifteen processes whose heaps fragment and whose caches fill for an hour: in two
hours they grow by ten. A leak of 100 KB in each of ten inspections a second would be a hundred
times that."""


class Soak:
    """Clients that upload, submit links, look at pages and start audits, and a watch on it all."""

    def __init__(self, service: Service, link: str, model: bytes) -> None:
        self._service = service
        self._link = link
        self._model = model
        self._over = threading.Event()
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.samples: list[tuple[float, Taken]] = []

    def run(self, seconds: float) -> bool:
        """Work for ``seconds``; whether nothing failed, was lost, or grew."""
        clients = [threading.Thread(target=self._client, args=(n,)) for n in range(CLIENTS)]
        began = time.monotonic()
        for client in clients:
            client.start()
        print("\n| minute | MiB | descriptors | processes | done |\n|---|---|---|---|---|")
        while (age := time.monotonic() - began) < seconds:
            self._over.wait(min(max(15.0, seconds / SAMPLES), seconds - age))
            self._sample(time.monotonic() - began)
        self._over.set()
        for client in clients:
            client.join()
        print(f"\n{dict(self.counts)}, failures: {dict(self.failures) or 'none'}")
        print("\n| process | MiB when settled | MiB at the end |\n|---|---|---|")
        settled = self._settled()
        for kind, last in settled[-1][1].kinds.items():
            print(f"| {kind} | {settled[0][1].kinds.get(kind, 0):.1f} | {last:.1f} |")
        print(f"\ngrowth: {self.growth():.1f} MiB an hour")
        return not self.failures and (seconds < 600 or self.growth() < GROWTH_MIB_AN_HOUR)

    def growth(self) -> float:
        """Slope of all memory in MiB an hour, once settled.

        The median of the slopes between any two samples: now and then a sample misses a process
        that is being replaced, and least squares would follow it.
        """
        slopes = [
            3600 * (later.memory - taken.memory) / (then - at)
            for (at, taken), (then, later) in combinations(self._settled(), 2)
        ]
        return median(slopes) if slopes else 0.0

    def _settled(self) -> list[tuple[float, Taken]]:
        first = min(SETTLED_SECONDS, SETTLED * self.samples[-1][0])
        return [(at, taken) for at, taken in self.samples if at >= first]

    def facts(self) -> dict[str, Any]:
        return {
            "done": dict(self.counts),
            "failures": dict(self.failures),
            "growth_mib_an_hour": self.growth(),
            "samples": [(round(at), *taken) for at, taken in self.samples],
        }

    def _sample(self, age: float) -> None:
        taken = self._service.taken()
        self.samples.append((age, taken))
        with self._lock:
            done = sum(self.counts.values())
        print(
            f"| {age / 60:.1f} | {taken.memory:.0f} | {taken.descriptors} | {taken.processes} "
            f"| {done:,} |",
            flush=True,
        )

    def _client(self, number: int) -> None:
        maker, client = random.Random(number), Client(self._service.port)
        works = (self._upload, self._by_link, self._by_link, self._pages, self._pages, self._audit)
        while not self._over.is_set():
            work = maker.choice(works)
            name = work.__name__.strip("_")
            try:
                work(client)
            except (AssertionError, OSError, KeyError, ValueError) as error:
                with self._lock:
                    self.failures[f"{name}: {error!s:.200}"] += 1
            with self._lock:
                self.counts[name] += 1

    def _upload(self, client: Client) -> None:
        row = client.ended(client.submit(upload=client.upload(self._model), force=True))
        assert row["state"] == "done", row

    def _by_link(self, client: Client) -> None:
        row = client.ended(client.submit(source=self._link, force=True))
        assert row["state"] == "done", row

    def _pages(self, client: Client) -> None:
        rows = client.ask("GET", "/api/v1/inspections").json["items"]
        done = [row["id"] for row in rows if row["state"] == "done"][:3]
        for one in done:
            for tab in ("", "metadata/", "tensors/", "layout/"):
                assert client.ask("GET", f"/i/{one}/{tab}").status == 200
        assert client.ask("GET", "/").status == 200

    def _audit(self, client: Client) -> None:
        made = client.ask("POST", "/api/v1/audits", {"urls": [self._link]})
        assert made.status == 202, made
        end = time.monotonic() + 60
        place = f"/api/v1/audits/{made.json['id']}"
        while (told := client.ask("GET", place).json)["state"] in ("queued", "running"):
            assert time.monotonic() < end, f"the audit did not end: {told}"
            time.sleep(0.3)
        assert told["state"] == "done", told
