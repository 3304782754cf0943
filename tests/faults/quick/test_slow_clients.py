"""Clients that send their bodies slowly, many more than threads: everybody else is answered."""

import resource
import time
from collections.abc import Iterator

import pytest

from ggufhub.web.body import PERIOD_SECONDS
from ggufhub.web.server import HEAD_MS
from tests.faults.client import Client
from tests.faults.slow import THREADS, SlowClients, head, web_server

KIB = 1024
BOUNDARY = "multipart/form-data; boundary=x"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with web_server(tmp_path_factory.mktemp("slow")) as client:
        yield client


def others_are_answered(client: Client, rounds: int = 5) -> None:
    """A page, the API, a request with a body: each before the first slow one would be cut off,
    which is how long a held thread would keep it waiting."""
    assert client.timeout < PERIOD_SECONDS
    for _ in range(rounds):
        assert client.ask("GET", "/rules/STR001/").status == 200
        assert client.ask("GET", "/api/v1/rules/STR001").status == 200
        wrong = {"source": "ftp://a.example/m.gguf"}
        assert client.ask("POST", "/api/v1/inspections", wrong).status == 400


@pytest.mark.parametrize(
    "request_head",
    [
        head("/api/v1/inspections", 1000),
        head("/api/v1/audits", 10_000_000, "application/x-ndjson"),
        head("/inspect", 50_000_000, BOUNDARY),
        head("/api/v1/uploads/0b5b9a3e-7b1c-4c7e-9d38-2f5fb2a7d0c1", 50_000_000, method="PATCH"),
    ],
)
def test_a_byte_a_second_holds_up_nobody(client: Client, request_head: str) -> None:
    with SlowClients(client.port, 10 * THREADS, request_head):
        others_are_answered(client)


def test_half_open_connections_hold_up_nobody(client: Client) -> None:
    """More than the web server's own default lets its processes hold: it would answer the others
    only when the heads of these have run out of time."""
    impatient = Client(client.port, timeout=0.8 * HEAD_MS / 1000)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with SlowClients(client.port, 1200, "GET /healthz HTTP/1.1\r\n", b"Host: 127.0.0.1\r\nX-"):
            others_are_answered(impatient)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_long_bodies_share_their_threads(client: Client) -> None:
    """Sent fast enough to be given a thread, then slowly: they have a quarter of the threads."""
    made = client.ask("POST", "/api/v1/uploads", Tus_Resumable="1.0.0", Upload_Length="50000000")
    path = f"/api/v1/uploads/{made.json['id']}"
    request_head = head(path, 50_000_000, "application/offset+octet-stream", "PATCH")
    with SlowClients(client.port, 10 * THREADS, request_head, bytes(100 * KIB)):
        others_are_answered(client)


def test_a_slow_but_honest_upload_is_taken(client: Client) -> None:
    """64 KiB a second, in parts of 96 KiB."""
    data = bytes(range(256)) * KIB
    made = client.ask("POST", "/api/v1/uploads", Tus_Resumable="1.0.0",
                      Upload_Length=str(len(data))).json  # fmt: skip

    def crawl(part: bytes) -> Iterator[bytes]:
        for at in range(0, len(part), 4 * KIB):
            time.sleep(1 / 16)
            yield part[at : at + 4 * KIB]

    for at in range(0, len(data), 96 * KIB):
        part = data[at : at + 96 * KIB]
        sent = client.ask(
            "PATCH",
            f"/api/v1/uploads/{made['id']}",
            crawl(part),
            Tus_Resumable="1.0.0",
            Upload_Offset=str(at),
            Content_Length=str(len(part)),
            Content_Type="application/offset+octet-stream",
        )
        assert (sent.status, sent.headers["Upload-Offset"]) == (204, str(at + len(part)))


def test_who_hangs_up_leaves_no_traceback(client: Client) -> None:
    """In a form that a view reads already: the server's log is looked at when it ends."""
    client.ask("GET", "/")
    key = client.cookies["csrftoken"]
    form = head("/inspect", 5_000_000, BOUNDARY, Cookie=f"csrftoken={key}", X_CSRFToken=key)
    part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="m.gguf"\r\n\r\n'
    with SlowClients(client.port, 3, form, part + bytes(200 * KIB)):
        time.sleep(0.5)
    others_are_answered(client, rounds=1)
