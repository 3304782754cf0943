"""`make load`: the whole service under load. `python -m tests.load [--soak MINUTES] [--json FILE]`.

Starts `ggufhub serve` in a directory of its own and needs the program wrk. Prints requests a
second, latencies and errors of the calls that release pipelines make most, with and without a
thousand half-open connections beside them; then keeps a mix of uploads, links, pages and audits
going for ``--soak`` minutes and prints memory and descriptors over time. Exit code 1 on any answer
that is an error, on a lost inspection, or on memory that keeps growing.
"""

import argparse
import json
import os
import socket
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ggufhub.rules.model_samples import llama
from tests.core.rangeserver import RangeServer
from tests.faults.client import Client
from tests.load.service import Service
from tests.load.soak import Soak
from tests.load.wrk import Figures, wrk

CONNECTIONS = 64
SECONDS = 10
HALF_OPEN = 1000
MODEL = llama()


def finished(client: Client) -> str:
    """The id of a finished inspection."""
    row = client.ended(client.submit(upload=client.upload(MODEL)))
    assert row["state"] == "done", row
    return str(row["id"])


def calls(report: str) -> dict[str, str]:
    """What is asked most, by name."""
    return {
        "report (JSON)": f"/api/v1/reports/{report}",
        "status": f"/api/v1/inspections/{report}",
        "tensors, a page": f"/api/v1/reports/{report}/tensors?limit=50",
        "report page": f"/i/{report}/",
        "list": "/api/v1/inspections",
    }


def half_open(port: int, count: int, stack: ExitStack) -> None:
    """``count`` clients that send half a request and then nothing."""
    for _ in range(count):
        client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-")


def slowest_probe(client: Client, times: int = 20) -> float:
    """The longest of some health probes, in seconds."""
    worst = 0.0
    for _ in range(times):
        began = time.monotonic()
        assert client.ask("GET", "/healthz").status == 200
        worst = max(worst, time.monotonic() - began)
    return worst


def measure(port: int, places: dict[str, str]) -> dict[str, Figures]:
    """Every call under full load, one after the other."""
    found = {}
    for name, path in places.items():
        found[name] = wrk(port, path, CONNECTIONS, SECONDS)
        print(f"| {name} | {found[name]} |", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load")
    parser.add_argument("--soak", type=float, default=1.0, help="minutes of mixed work")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, {CONNECTIONS} connections, {SECONDS} s each\n")
    with (
        tempfile.TemporaryDirectory() as folder,
        RangeServer({"model.gguf": MODEL}) as server,
        Service(Path(folder), server.port) as service,
        ExitStack() as slow,
    ):
        client = Client(service.port)
        places = calls(finished(client))
        print("| call | requests/s | p50 | p99 | errors |\n|---|---|---|---|---|")
        figures = measure(service.port, places)
        half_open(service.port, HALF_OPEN, slow)
        probe = slowest_probe(client)
        print(f"\nslowest probe beside {HALF_OPEN} half-open connections: {probe * 1000:.0f} ms")
        soak = Soak(service, server.url("model.gguf"), MODEL)
        good = soak.run(options.soak * 60)
    good &= probe <= 1.0 and not any(one.errors for one in figures.values())
    if options.json:
        options.json.write_text(json.dumps(_facts(figures, probe, soak), indent=1))
    return 0 if good else 1


def _facts(figures: dict[str, Figures], probe: float, soak: Soak) -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "calls": {name: one._asdict() for name, one in figures.items()},
        "probe_beside_half_open_s": probe,
        "soak": soak.facts(),
    }


if __name__ == "__main__":
    sys.exit(main())
