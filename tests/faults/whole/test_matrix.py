"""A whole service, injured part by part while it works: nothing is lost, nothing done twice."""

import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from ggufhub.rules.model_samples import llama
from tests.core.rangeserver import Handler, RangeServer
from tests.faults.client import Client
from tests.faults.conftest import Note, reports
from tests.faults.topology import Topology, fetching, running
from tests.live import wait_for

MODEL = llama()


class Gate:
    """A link whose server sends nothing until the gate is opened."""

    def __init__(self) -> None:
        self.open = threading.Event()

    def __call__(self, handler: Handler, data: bytes) -> None:
        while not self.open.is_set() and handler.pause(0.05):
            pass
        handler.serve(MODEL)


@pytest.fixture(scope="module")
def server() -> Iterator[RangeServer]:
    with RangeServer({"model.gguf": MODEL}) as server:
        yield server


@pytest.fixture(scope="module")
def topology(tmp_path_factory: pytest.TempPathFactory, server: RangeServer) -> Iterator[Topology]:
    settings = {**fetching(server), "GGUFHUB_SUBMIT_PER_MINUTE": "0"}
    with running(tmp_path_factory.mktemp("matrix"), **settings) as topology:
        topology.user("root", "correct horse battery")
        yield topology


@pytest.fixture(scope="module")
def client(topology: Topology) -> Client:
    return topology.client(0, topology.token("root"))


@pytest.fixture
def gated(server: RangeServer) -> Iterator[tuple[str, Gate]]:
    """A link that hangs until its gate is opened."""
    name, gate = f"gated-{time.monotonic_ns()}.gguf", Gate()
    server.behaviours[name] = gate
    yield server.url(name), gate
    gate.open.set()


@pytest.fixture
def busy(client: Client, gated: tuple[str, Gate]) -> dict[str, Any]:
    """An inspection in the middle of its work."""
    row = client.submit(source=gated[0])
    wait_for(lambda: client.look(row)["state"] == "running")
    return row


class Load:
    """Asks for the same place again and again, and counts the answers."""

    def __init__(self, client: Client, path: str) -> None:
        self.statuses: Counter[int | None] = Counter()
        self._client = Client(client.port, client.token, timeout=60)
        self._path = path
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(90)

    def _run(self) -> None:
        while not self._over.is_set():
            self.statuses[self._client.status("GET", self._path)] += 1


def timed(condition: Callable[[], object], seconds: float = 60.0) -> float:
    """Seconds until ``condition`` held."""
    began = time.monotonic()
    wait_for(condition, seconds)
    return time.monotonic() - began


def done(client: Client, rows: list[dict[str, Any]]) -> bool:
    return all(client.look(row)["state"] == "done" for row in rows)


# Workers


def test_a_killed_worker(
    topology: Topology, client: Client, busy: Any, gated: tuple[str, Gate], outcome: Note
) -> None:
    before = reports(topology)
    topology.workers["inspect"].kill()
    gated[1].open.set()
    topology.workers["inspect"].start()
    took = timed(lambda: done(client, [busy]), 60)
    doubled = reports(topology) - before - 1
    outcome("kill -9 of a worker and its processes", "queued again, done", took, 0, doubled)
    assert took <= 40


def test_a_worker_asked_to_end_in_the_middle(
    topology: Topology, client: Client, busy: Any, gated: tuple[str, Gate], outcome: Note
) -> None:
    worker = topology.workers["inspect"]
    threading.Timer(3.0, gated[1].open.set).start()
    ended = worker.stop(45)
    state = client.look(busy)["state"]
    worker.start()
    took = timed(lambda: done(client, [busy]), 60)
    outcome(f"SIGTERM of a worker (ended after {ended:.1f} s)", f"{state}, then done", took)


def test_a_stopped_worker_comes_back_too_late(
    topology: Topology, client: Client, busy: Any, gated: tuple[str, Gate], outcome: Note
) -> None:
    """Its lease runs out, another one does the work, and it may write nothing any more."""
    before = reports(topology)
    paused, other = topology.workers["inspect"], topology._part("inspect", "second")
    other._command[other._command.index("inspect@%h")] = "second@%h"
    paused.signal(signal.SIGSTOP)
    other.start()
    gated[1].open.set()
    try:
        took = timed(lambda: done(client, [busy]), 60)
        paused.signal(signal.SIGCONT)
        time.sleep(3)
        outcome("SIGSTOP of a worker", "another did it", took, 0, reports(topology) - before - 1)
    finally:
        paused.signal(signal.SIGCONT)
        other.stop()


# Broker


def test_a_killed_broker_with_a_long_queue(
    topology: Topology, client: Client, server: RangeServer, outcome: Note
) -> None:
    before = reports(topology)
    link = server.url("model.gguf")
    worker = topology.workers["inspect"]
    worker.stop()
    rows = [client.submit(source=link, force=True) for _ in range(100)]
    topology.broker.kill()
    rows += [client.submit(source=link, force=True) for _ in range(10)]  # 202 all the same
    topology.broker.start()
    worker.start()
    took = timed(lambda: done(client, rows), 120)
    lost = sum(client.look(row)["state"] != "done" for row in rows)
    doubled = reports(topology) - before - len(rows)
    outcome("kill -9 of the broker, 110 queued", "all done once", took, lost, doubled)


def test_a_broker_that_lost_its_data(
    topology: Topology, client: Client, server: RangeServer, outcome: Note
) -> None:
    worker = topology.workers["inspect"]
    worker.stop()
    rows = [client.submit(source=server.url("model.gguf"), force=True) for _ in range(20)]
    topology.broker.kill()
    shutil.rmtree(topology.directory / "broker")
    topology.broker.start()
    worker.start()
    took = timed(lambda: done(client, rows), 120)
    outcome("broker's directory deleted, 20 queued", "rebuilt from the rows", took)


def test_a_full_broker(
    topology: Topology, client: Client, server: RangeServer, outcome: Note
) -> None:
    with topology.broker.client() as redis:
        redis.config_set("maxmemory", "1mb")
        try:
            rows = [client.submit(source=server.url("model.gguf"), force=True) for _ in range(5)]
            assert topology.client().ready() in (True, False)  # it answers
        finally:
            redis.config_set("maxmemory", "0")
    took = timed(lambda: done(client, rows), 60)
    outcome("broker full (1 MB, noeviction)", "accepted, sent when there was room", took)


def test_a_broker_that_is_full_when_a_message_arrives(
    topology: Topology, client: Client, server: RangeServer, outcome: Note
) -> None:
    """The worker cannot note what it took, and must not end over it."""
    worker = topology.workers["inspect"]
    worker.signal(signal.SIGSTOP)
    rows = [client.submit(source=server.url("model.gguf"), force=True) for _ in range(3)]
    with topology.broker.client() as redis:
        redis.config_set("maxmemory", "1mb")
        try:
            worker.signal(signal.SIGCONT)
            wait_for(lambda: "OutOfMemoryError" in worker.words())
        finally:
            redis.config_set("maxmemory", "0")
    took = timed(lambda: done(client, rows), 90)
    assert worker.running
    outcome("broker full as a worker takes messages", "connected anew, all done", took)


def test_a_stopped_broker(
    topology: Topology, client: Client, server: RangeServer, outcome: Note
) -> None:
    process = topology.broker._process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        row = client.submit(source=server.url("model.gguf"), force=True)
        assert time.monotonic() - began < 20
        assert not topology.client().ready() and topology.client().status("GET", "/healthz") == 200
    finally:
        process.send_signal(signal.SIGCONT)
    took = timed(lambda: done(client, [row]), 90)
    outcome("SIGSTOP of the broker", "accepted, done after it went on", took)


# Database


@pytest.fixture
def report(client: Client, server: RangeServer) -> str:
    row = client.ended(client.submit(source=server.url("model.gguf")))
    return f"/api/v1/reports/{row['id']}"


def test_a_killed_database(
    topology: Topology, client: Client, report: str, server: RangeServer, outcome: Note
) -> None:
    with Load(client, report) as api, Load(client, "/healthz") as probe:
        time.sleep(0.5)
        topology.database.kill()
        time.sleep(1.0)
        page = topology.client().status("GET", "/rules/")
        topology.database.start()
        took = timed(lambda: client.status("GET", report) == 200)
    assert set(api.statuses) <= {200, 503} and api.statuses[503] > 0, api.statuses
    assert set(probe.statuses) == {200}
    assert page in (302, 503)
    row = client.ended(client.submit(source=server.url("model.gguf")))
    assert row["state"] == "done" and took < 5
    outcome("kill -9 of the database", "503 with Retry-After, no 500", took)


def test_a_database_killed_in_the_middle_of_an_inspection(
    topology: Topology, client: Client, busy: Any, gated: tuple[str, Gate], outcome: Note
) -> None:
    before = reports(topology)
    topology.database.kill()
    gated[1].open.set()
    time.sleep(1.0)
    topology.database.start()
    took = timed(lambda: client.status("GET", "/api/v1/inspections") == 200)
    took += timed(lambda: done(client, [busy]), 60)
    outcome("the same, an inspection running", "done", took, 0, reports(topology) - before - 1)


def test_a_stopped_database(topology: Topology, client: Client, report: str, outcome: Note) -> None:
    topology.database.signal(signal.SIGSTOP)
    loads = [Load(client, report) for _ in range(12)]
    try:
        for load in loads:
            load.__enter__()
        time.sleep(2)
        slowest = 0.0
        for _ in range(20):
            began = time.monotonic()
            assert topology.client().status("GET", "/healthz") == 200
            slowest = max(slowest, time.monotonic() - began)
    finally:
        topology.database.signal(signal.SIGCONT)
    took = timed(lambda: client.status("GET", report) == 200)
    for load in loads:
        load.__exit__()
        assert set(load.statuses) <= {200, 503}, load.statuses
    assert slowest < 5
    outcome(f"SIGSTOP of the database (probe ≤ {slowest:.2f} s)", "503 or waits, no 500", took)


# Web


def test_a_killed_web_server(
    topology: Topology, client: Client, report: str, outcome: Note
) -> None:
    topology.webs[0].kill()
    other = topology.client(1, client.token)
    assert other.status("GET", report) == 200  # the other one goes on
    topology.webs[0].start()
    outcome("kill -9 of a web server", "the other one answers", timed(topology.client().ready))


def test_an_upload_cut_by_the_death_of_the_web_server(
    topology: Topology, client: Client, outcome: Note
) -> None:
    data = MODEL + bytes(40 * 1024**2)
    made = client.ask("POST", "/api/v1/uploads", Tus_Resumable="1.0.0",
                      Upload_Length=str(len(data))).json["id"]  # fmt: skip
    first = threading.Thread(target=lambda: _quietly(client, made, data))
    first.start()
    stored = topology.data / "uploads" / f"{made}.part"
    wait_for(lambda: stored.stat().st_size > 1024**2)
    topology.webs[0].kill()
    first.join()
    other = topology.client(1, client.token)
    head = other.ask("HEAD", f"/api/v1/uploads/{made}", Tus_Resumable="1.0.0")
    offset = int(head.headers["Upload-Offset"])
    began = time.monotonic()
    assert other.append(made, offset, data[offset:]).status == 204
    assert stored.read_bytes() == data
    took = time.monotonic() - began
    topology.webs[0].start()
    wait_for(topology.client().ready)
    outcome("web server killed in an upload", f"went on at byte {offset:,}", took)


def _quietly(client: Client, upload: str, data: bytes) -> None:
    with suppress(OSError):  # that is the fault
        client.append(upload, 0, data)
