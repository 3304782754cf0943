"""A web server alone, and clients that send to it as slowly as they like."""

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from tests.faults.client import Client
from tests.faults.processes import Part
from tests.faults.topology import free_port
from tests.live import wait_for

THREADS = 4


def web_part(directory: Path) -> tuple[Part, int]:
    """``manage.py web`` with few threads on a database of its own, not yet started; its port."""
    port = free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "GGUFHUB_DATA": str(directory / "data"),
        "GGUFHUB_BIND": f"127.0.0.1:{port}",
        "GGUFHUB_WEB_THREADS": str(THREADS),
        "GGUFHUB_BROKER_URL": "redis+socket:///nowhere.sock",
    }
    manage = [sys.executable, "manage.py"]
    prepare = Part("prepare", [*manage, "prepare"], environment, directory / "prepare.log")
    prepare.start()
    assert prepare.process.wait(60) == 0, prepare.words()
    return Part("web", [*manage, "web"], environment, directory / "web.log"), port


@contextmanager
def web_server(directory: Path) -> Iterator[Client]:
    """That web server while it runs; its client."""
    with answering(*web_part(directory)) as client:
        yield client


@contextmanager
def answering(web: Part, port: int) -> Iterator[Client]:
    """A web server while it runs; its client."""
    web.start()
    client = Client(port, timeout=20)
    try:
        wait_for(lambda: client.status("GET", "/healthz") == 200)
        yield client
        assert "Traceback" not in web.words(), web.words()
    finally:
        web.kill()


class SlowClients:
    """Clients that send the head of a request, and then a byte of its body every second."""

    def __init__(self, port: int, count: int, head: str, first: bytes = b"{") -> None:
        self._sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
        for one in self._sockets:
            one.sendall(head.encode() + first)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._drip, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for one in self._sockets:
            one.close()

    def _drip(self) -> None:
        while not self._over.wait(1.0):
            for one in self._sockets:
                with suppress(OSError):  # cut off
                    one.sendall(b" ")

    def answers(self, seconds: float) -> list[bytes]:
        """The first line each got within ``seconds``; b'' for none."""
        end = time.monotonic() + seconds
        found = []
        for one in self._sockets:
            one.settimeout(max(0.01, end - time.monotonic()))
            try:
                found.append(one.recv(200).partition(b"\r\n")[0])
            except OSError:
                found.append(b"")
        return found


def head(
    path: str, length: int, kind: str = "application/json", method: str = "POST", **further: str
) -> str:
    """The head of a request with a body."""
    headers = {
        "Host": "127.0.0.1",
        "Content-Type": kind,
        "Content-Length": str(length),
        "Tus-Resumable": "1.0.0",
        "Upload-Offset": "0",
        **{name.replace("_", "-"): value for name, value in further.items()},
    }
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {text}" for name, text in headers.items())]
    return "".join(f"{line}\r\n" for line in [*lines, ""])
