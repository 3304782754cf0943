"""Clients that send nothing but a byte a second are cut off in the end."""

import time
from pathlib import Path

from ggufhub.web.body import PERIOD_SECONDS
from tests.faults.conftest import Note
from tests.faults.slow import THREADS, SlowClients, head, web_server


def test_a_byte_a_second_is_cut_off(tmp_path: Path, outcome: Note) -> None:
    count = 10 * THREADS
    with web_server(tmp_path) as client:
        upload = client.ask(
            "POST", "/api/v1/uploads", Tus_Resumable="1.0.0", Upload_Length="9000000"
        )
        path = f"/api/v1/uploads/{upload.json['id']}"
        patch = head(path, 9_000_000, "application/offset+octet-stream", "PATCH")
        began = time.monotonic()
        with (
            SlowClients(client.port, count, head("/api/v1/inspections", 1000)) as slow,
            SlowClients(client.port, 1, patch, bytes(100_000)) as upload_client,
        ):
            answers = slow.answers(PERIOD_SECONDS + 10) + upload_client.answers(10)
        took = time.monotonic() - began
        assert answers == [b"HTTP/1.1 408 Request Timeout"] * (count + 1)
        received = client.ask("HEAD", path, Tus_Resumable="1.0.0").headers["Upload-Offset"]
        assert 65_536 <= int(received) <= 100_100  # what came is kept
    outcome(f"{count} clients sending a byte a second", "408, all others answered", took)
