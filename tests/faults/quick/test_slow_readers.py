"""Clients that ask for long answers and then read slowly or not at all: others are answered."""

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPResponse
from pathlib import Path

import pytest

from ggufhub.web.bridge import BLOCK, SLOW_SECONDS
from tests.faults.client import Client
from tests.faults.long_answers import BLOCKS, THREADS
from tests.faults.processes import Part
from tests.faults.slow import answering
from tests.faults.topology import free_port


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    directory, port = tmp_path_factory.mktemp("readers"), free_port()
    environment = {"PATH": os.environ["PATH"], "GGUFHUB_DATA": str(directory / "data")}
    server = [sys.executable, "-m", "granian", "tests.faults.long_answers:application"]
    options = ["--interface", "asginl", "--http", "1", "--no-ws", "--port", str(port)]
    web = Part("web", [*server, *options], environment, Path(directory) / "web.log")
    with answering(web, port) as client:
        yield client


def reader(client: Client) -> socket.socket:
    """Asks for a long answer and reads nothing of it."""
    connection = socket.create_connection(("127.0.0.1", client.port), timeout=20)
    connection.sendall(b"GET /long HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    return connection


def test_who_does_not_read_holds_up_nobody(client: Client) -> None:
    with ExitStack() as stack:
        for _ in range(3 * THREADS):
            stack.enter_context(closing(reader(client)))
        time.sleep(0.2)
        for _ in range(5):
            # Who finds no thread is refused.
            assert client.ask("GET", "/short").body == b"short"


def test_who_reads_slowly_gets_all_of_it(client: Client) -> None:
    with closing(reader(client)) as connection:
        time.sleep(2 * SLOW_SECONDS)
        answer = HTTPResponse(connection)
        answer.begin()
        assert len(answer.read()) == BLOCKS * BLOCK
