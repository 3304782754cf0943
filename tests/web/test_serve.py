"""The whole service as a user starts it: one command, real processes, a real stop."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from ggufhub.web.server import ONE_HEAP
from tests.builders import vocabulary
from tests.faults.slow import web_server
from tests.faults.topology import free_port
from tests.live import wait_for

ROOT = Path(__file__).parent.parent.parent
DATA = vocabulary(3000).build()


class Service:
    """``ggufhub serve`` in its own data directory."""

    def __init__(self, data: Path) -> None:
        self.port = free_port()
        self.environment = {
            "PATH": os.environ["PATH"],
            "GGUFHUB_DATA": str(data),
            "GGUFHUB_BIND": f"127.0.0.1:{self.port}",
        }

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "ggufhub.cli", "serve"],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Status, headers and JSON body of one request."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        raw = answer.read()
        connection.close()
        return answer.status, answer.headers, json.loads(raw) if raw.startswith(b"{") else raw

    def send(self, size: int, data: bytes, metadata: str = "header_only") -> str:
        """An upload of ``size`` bytes with its first bytes sent; its path."""
        made = self.ask(
            "POST",
            "/api/v1/uploads",
            Tus_Resumable="1.0.0",
            Upload_Length=str(size),
            Upload_Metadata=metadata,
        )
        place = f"/api/v1/uploads/{made[2]['id']}"
        self.append(place, 0, data)
        return place

    def append(self, place: str, offset: int, data: bytes) -> int:
        answer = self.ask(
            "PATCH",
            place,
            data,
            Tus_Resumable="1.0.0",
            Upload_Offset=str(offset),
            Content_Type="application/offset+octet-stream",
        )
        assert answer[0] == 204, answer
        return int(answer[1]["Upload-Offset"])


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Service:
    return Service(tmp_path_factory.mktemp("a place"))


@pytest.fixture(scope="module")
def running(service: Service) -> Iterator[subprocess.Popen[str]]:
    process = service.start()
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"ggufhub is at http://127.0.0.1:{service.port}/\n"
        yield process
    finally:
        process.kill()
        process.wait()


def children(parent: int) -> dict[str, int]:
    """Process ids of the parts, by a word of their command line."""
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    parts = {}
    for pid in listed:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().decode()
        for word in ("celery", "web.server", "valkey.sock"):
            if word in line:
                parts[word] = int(pid)
    return parts


def environment(pid: int) -> dict[str, str]:
    """The variables a process was started with."""
    pairs = Path(f"/proc/{pid}/environ").read_bytes().decode().strip("\0").split("\0")
    return dict(pair.split("=", 1) for pair in pairs)


def test_the_web_server_keeps_one_heap(running: subprocess.Popen[str], tmp_path: Path) -> None:
    with web_server(tmp_path):
        for parent in (running.pid, os.getpid()):
            assert environment(children(parent)["web.server"]).items() >= ONE_HEAP.items()


@pytest.mark.usefixtures("running")
def test_a_header_only_upload_becomes_a_report(service: Service) -> None:
    place = service.send(10**10, DATA[:1000])
    body = json.dumps({"upload": place.rpartition("/")[2]})
    _, headers, row = service.ask(
        "POST", "/api/v1/inspections?wait=20", body, Content_Type="application/json"
    )
    padded = DATA + bytes(32 * 1024**2)
    while row["needs"]:
        offset = row["needs"]["offset"]
        service.append(place, offset, padded[offset : offset + row["needs"]["length"]])
        row = service.ask("GET", f"{headers['Location']}?wait=20")[2]
    assert row["state"] == "done"
    path = f"/api/v1/reports/{row['id']}/metadata/tokenizer.ggml.tokens?q=token2999"
    assert service.ask("GET", path)[2]["items"] == [[2999, "token2999"]]


@pytest.mark.usefixtures("running")
def test_a_cut_upload_goes_on_where_it_stopped(service: Service) -> None:
    data = bytes(range(256)) * 4096 * 4
    place = service.send(len(data), b"", "filename eA==")
    with socket.create_connection(("127.0.0.1", service.port)) as raw:
        head = (
            f"PATCH {place} HTTP/1.1\r\nHost: 127.0.0.1\r\nTus-Resumable: 1.0.0\r\n"
            f"Upload-Offset: 0\r\nContent-Type: application/offset+octet-stream\r\n"
            f"Content-Length: {len(data)}\r\n\r\n"
        )
        raw.sendall(head.encode() + data[: len(data) // 2])

    def received() -> int:
        answer = service.ask("HEAD", place, Tus_Resumable="1.0.0")
        return int(answer[1]["Upload-Offset"])

    wait_for(received)
    offset = received()
    assert 0 < offset <= len(data) // 2
    assert service.append(place, offset, data[offset:]) == len(data)
    stored = Path(
        service.environment["GGUFHUB_DATA"], "uploads", f"{place.rpartition('/')[2]}.part"
    )
    assert stored.read_bytes() == data


def test_a_dead_part_is_started_again(service: Service, running: subprocess.Popen[str]) -> None:
    before = children(running.pid)
    assert set(before) == {"celery", "web.server", "valkey.sock"}
    for pid in before.values():
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: len(set(children(running.pid).values()) - set(before.values())) == 3)

    def answers() -> bool:
        try:
            return bool(service.ask("GET", "/readyz")[0] == 200)
        except OSError:
            return False

    wait_for(answers)
    place = service.send(len(DATA), DATA, "filename eA==")
    body = json.dumps({"upload": place.rpartition("/")[2]})
    row = service.ask("POST", "/api/v1/inspections?wait=30", body, Content_Type="application/json")[
        2
    ]
    assert row["state"] == "done"


@pytest.mark.usefixtures("running")
def test_a_second_start_on_the_same_data_says_so(service: Service) -> None:
    second = service.start()
    _, errors = second.communicate(timeout=40)
    assert second.returncode == 1
    assert "Another ggufhub is running" in errors


def test_a_stop_is_clean_and_a_start_has_everything(
    service: Service, running: subprocess.Popen[str]
) -> None:
    listed = service.ask("GET", "/api/v1/inspections")[2]["items"]
    parts = children(running.pid).values()
    running.terminate()
    output, errors = running.communicate(timeout=40)
    assert running.returncode == 0, errors
    assert output == "" and "Traceback" not in errors
    assert "did not end in time" not in errors
    assert not any(Path(f"/proc/{pid}").exists() for pid in parts)
    again = service.start()
    assert again.stdout is not None and "ggufhub is at" in again.stdout.readline()
    try:
        assert service.ask("GET", "/api/v1/inspections")[2]["items"] == listed
    finally:
        again.send_signal(signal.SIGINT)
        again.communicate(timeout=40)
    assert again.returncode == 0


def test_two_first_starts_leave_one_running(tmp_path: Path) -> None:
    service = Service(tmp_path / "new")
    starts = [service.start() for _ in range(2)]
    wait_for(lambda: any(process.poll() is not None for process in starts))
    ended = [process for process in starts if process.poll() is not None]
    (going,) = [process for process in starts if process.poll() is None]
    try:
        assert [process.returncode for process in ended] == [1]
        assert going.stdout is not None and "ggufhub is at" in going.stdout.readline()
        assert service.ask("GET", "/healthz")[0] == 200
    finally:
        going.terminate()
        going.communicate(timeout=40)
    assert going.returncode == 0


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    service = Service(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", service.port))
        taken.listen()
        _, errors = service.start().communicate(timeout=40)
    assert errors.strip().startswith(f"ggufhub: 127.0.0.1:{service.port} cannot be used")
