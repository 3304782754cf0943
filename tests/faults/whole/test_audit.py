"""An audit of a thousand models, one in twenty broken, while its workers are killed: it ends, its
counts add up, and no model is counted twice."""

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ggufhub.rules.model_samples import llama
from tests.core.rangeserver import RangeServer
from tests.faults.client import Client
from tests.faults.conftest import Note
from tests.faults.topology import Topology, fetching, running

MODELS, BROKEN_EVERY = 1000, 20
BROKEN = MODELS // BROKEN_EVERY


def model(number: int) -> bytes:
    """Model ``number``, with a name of its own."""
    data = llama({"general.name": f"Model {number}"})
    return data[: 200 + number % 400] if number % BROKEN_EVERY == 7 else data


@pytest.fixture(scope="module")
def server() -> Iterator[RangeServer]:
    with RangeServer({f"m{number}.gguf": model(number) for number in range(MODELS)}) as server:
        yield server


@pytest.fixture(scope="module")
def topology(tmp_path_factory: pytest.TempPathFactory, server: RangeServer) -> Iterator[Topology]:
    with running(tmp_path_factory.mktemp("audit"), **fetching(server)) as topology:
        topology.user("root", "correct horse battery")
        yield topology


def kill_a_process(topology: Topology) -> None:
    """One of the processes that inspect, in the middle of it; its worker stays."""
    os.kill(topology.workers["audit"].children()[-1], signal.SIGKILL)


def kill_a_worker(topology: Topology) -> None:
    """The whole worker with its processes; another one is started at once, as by compose."""
    topology.workers["audit"].kill()
    topology.workers["audit"].start()


def followed(client: Client, place: str, faults: dict[int, Any]) -> dict[str, Any]:
    """The audit when it has ended; each fault happens once that many models are settled."""
    settled, left = 0, sorted(faults)
    while True:
        audit: dict[str, Any] = client.ask("GET", place).json
        now = audit["models"]["settled"]
        assert now >= settled, "progress went back"
        settled = now
        if left and settled >= left[0]:
            faults[left.pop(0)]()
        if audit["state"] not in ("queued", "running"):
            assert not left, "it ended before every fault had happened"
            return audit
        time.sleep(0.25)


@pytest.mark.timeout(400)
def test_workers_killed_on_the_way(topology: Topology, server: RangeServer, outcome: Note) -> None:
    client = topology.client(0, topology.token("root"))
    links = [server.url(f"m{number}.gguf") for number in range(MODELS)]
    began = time.monotonic()
    made = client.ask("POST", "/api/v1/audits", {"urls": links})
    assert made.status == 202, made
    place = f"/api/v1/audits/{made.json['id']}"
    faults = {
        MODELS // 10: lambda: kill_a_process(topology),
        MODELS // 4: lambda: kill_a_worker(topology),
        MODELS // 2: lambda: kill_a_process(topology),
    }
    audit = followed(client, place, faults)
    took = time.monotonic() - began
    assert audit["state"] == "done", audit
    counts = audit["models"]
    assert counts["settled"] == counts["total"] == MODELS, counts
    verdicts = counts["verdicts"]
    assert sum(verdicts.values()) == MODELS, verdicts
    unsound = verdicts.get("fail", 0) + verdicts.get("unreadable", 0)
    assert unsound == BROKEN, verdicts
    names = [item["path"] for item in every_model(client, place)]
    lost, doubled = MODELS - len(set(names)), len(names) - len(set(names))
    fault = f"audit of {MODELS:,}, workers killed three times"
    outcome(fault, "ends, counts add up", took, lost, doubled)


def every_model(client: Client, place: str) -> Iterator[dict[str, Any]]:
    """All models of the audit, page by page."""
    start = 0
    while items := client.ask("GET", f"{place}/models?start={start}&limit=200").json["items"]:
        yield from items
        start += len(items)
