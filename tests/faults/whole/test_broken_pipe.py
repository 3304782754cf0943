"""Whoever read the log is gone: the service goes on, and ends when it is told to."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggufhub.rules.model_samples import llama
from tests.faults.client import Client
from tests.faults.conftest import Note
from tests.faults.processes import ROOT
from tests.faults.topology import free_port
from tests.live import wait_for

Served = tuple[subprocess.Popen[bytes], Client]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """``ggufhub serve | head -1``, and its errors into a pipe that nobody has read ever."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "ggufhub.cli", "serve"],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "GGUFHUB_DATA": str(tmp_path),
            "GGUFHUB_BIND": f"127.0.0.1:{port}",
            "GGUFHUB_LOG_LEVEL": "DEBUG",  # there is something to say all the time
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stderr.close()
    assert b"ggufhub is at" in process.stdout.readline()
    process.stdout.close()
    try:
        yield process, Client(port)
    finally:
        process.kill()
        process.wait()


def inspected(client: Client) -> bool:
    row = client.ended(client.submit(upload=client.upload(llama()), force=True))
    return bool(row["state"] == "done")


def test_the_service_goes_on_and_ends_in_order(served: Served, outcome: Note) -> None:
    process, client = served
    lost = sum(not inspected(client) for _ in range(3))
    assert client.status("GET", "/api/v1/inspections/nothing") == 404  # which is logged, too
    _kill_a_worker(process.pid)
    began = time.monotonic()
    wait_for(client.ready, 60)
    took = time.monotonic() - began
    lost += not inspected(client)
    process.send_signal(signal.SIGTERM)
    assert process.wait(45) == 0
    outcome("log pipe closed, then a worker killed", "all goes on, ends with 0", took, lost)


def _kill_a_worker(launcher: int) -> None:
    """The launcher notices, says so to nobody, and starts it again."""
    children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    workers = [pid for pid in children if b"celery" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(int(workers[0]), signal.SIGKILL)
