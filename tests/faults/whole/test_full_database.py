"""The disk of the database is full to the last byte: what is stored can still be read, what is new
is refused with 503, and nothing that was accepted is lost."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ggufhub.rules.model_samples import llama
from tests.faults.client import Client
from tests.faults.conftest import Note, reports
from tests.faults.topology import Topology, running
from tests.live import wait_for

SIZE = "64m"
MODEL = llama()


@contextmanager
def small_disk(topology: Topology) -> Iterator[Path]:
    """A small file system that holds the tables; the write-ahead log lies elsewhere, so that the
    server itself lives."""
    place = topology.database.folder / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "small", place], check=True)
    try:
        owner = (topology.database.folder / "data").stat()
        shutil.chown(place, owner.st_uid, owner.st_gid)
        topology.database.run(f"CREATE TABLESPACE small LOCATION '{place}'")
        topology.database.run("ALTER TABLE ALL IN TABLESPACE pg_default SET TABLESPACE small")
        topology.database.run("ALTER INDEX ALL IN TABLESPACE pg_default SET TABLESPACE small")
        yield place
    finally:
        topology.database.stop()
        subprocess.run(["umount", "-l", place], check=True)


def fill(place: Path) -> Path:
    """A file that takes every byte there is."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return ballast


def submit_until_refused(client: Client, upload: str) -> tuple[list[str], int]:
    """Ids of the accepted inspections, and the status of the first that was not."""
    accepted = []
    while True:
        answer = client.ask("POST", "/api/v1/inspections", {"upload": upload, "force": True})
        if answer.status not in (200, 202):
            return accepted, answer.status
        accepted.append(answer.json["id"])


@pytest.mark.timeout(300)
def test_reading_goes_on_and_writing_waits(tmp_path: Path, outcome: Note) -> None:
    with running(tmp_path, GGUFHUB_SUBMIT_PER_MINUTE="0") as topology:
        topology.user("root", "correct horse battery")
        client = topology.client(0, topology.token("root"))
        report = client.ended(client.submit(upload=client.upload(MODEL)))["id"]
        upload = client.upload(MODEL)
        with small_disk(topology) as place:
            wait_for(client.ready)
            before = reports(topology)
            ballast = fill(place)
            accepted, status = submit_until_refused(client, upload)
            assert status == 503
            for path in (f"/api/v1/reports/{report}", f"/api/v1/reports/{report}/tensors"):
                assert client.status("GET", path) == 200
            assert topology.client().status("GET", "/healthz") == 200
            ballast.unlink()
            began = time.monotonic()
            rows = [{"id": one} for one in accepted]
            rows.append(client.submit(upload=upload, force=True))
            ended = [client.ended(row, 90)["state"] for row in rows]
            lost = len(ended) - ended.count("done")
            doubled = max(0, reports(topology) - before - len(rows))
            took = time.monotonic() - began
            outcome("disk of the database full", "reading 200, writing 503", took, lost, doubled)
