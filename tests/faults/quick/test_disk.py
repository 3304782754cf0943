"""Disks that are really full: small file systems in memory, filled to the last byte or inode."""

import os
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from ggufhub.hub import uploads
from ggufhub.hub.models import Upload

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a file system"),
]

MIB = 1024**2
HEADERS = {"Tus-Resumable": "1.0.0"}


@pytest.fixture
def small(tmp_path: Path, settings: Any, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Uploads lie on a file system with the options of the parameter; there is no floor."""
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", request.param, "small", str(place)], check=True)
    settings.UPLOAD_DIR = place
    settings.DISK_FLOOR_BYTES = 0
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def patch(client: Client, place: str, offset: int, data: bytes) -> Any:
    return client.patch(
        place,
        data,
        "application/offset+octet-stream",
        headers={**HEADERS, "Upload-Offset": str(offset)},
    )


@pytest.mark.parametrize("small", ["size=4m"], indirect=True)
def test_a_full_disk_costs_nothing_that_came(client: Client, small: Path) -> None:
    data = os.urandom(3 * MIB)
    made = client.post("/api/v1/uploads", headers={**HEADERS, "Upload-Length": str(len(data))})
    place = made["Location"]
    assert patch(client, place, 0, data[:MIB]).status_code == 204
    (small / "ballast").write_bytes(bytes(2 * MIB))
    # There seemed to be room when the bytes began to come; somebody else took it.
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ggufhub.hub.quotas.disk_has_room", lambda _: True)
        refused = patch(client, place, MIB, data[MIB:])
    assert (refused.status_code, refused.json()["type"]) == (507, "/problems/storage-full")
    received = int(client.head(place, headers=HEADERS)["Upload-Offset"])
    assert MIB <= received < len(data)
    assert client.get("/").status_code == 200  # all else goes on
    (small / "ballast").unlink()
    assert patch(client, place, received, data[received:]).status_code == 204
    assert Upload.objects.get().path.read_bytes() == data


@pytest.mark.parametrize("small", ["size=4m"], indirect=True)
def test_an_upload_that_cannot_fit_is_refused_first(client: Client, small: Path) -> None:
    made = client.post("/api/v1/uploads", headers={**HEADERS, "Upload-Length": str(5 * MIB)})
    assert made.status_code == 507
    assert not Upload.objects.exists() and not list(small.iterdir())


@pytest.mark.parametrize("small", ["size=4m,nr_inodes=4"], indirect=True)
def test_no_inodes_left(client: Client, small: Path) -> None:
    answers = [
        client.post("/api/v1/uploads", headers={**HEADERS, "Upload-Length": "4"}).status_code
        for _ in range(5)
    ]
    assert answers == [201, 201, 201, 507, 507]
    assert Upload.objects.count() == 3


@pytest.mark.parametrize("small", ["size=4m"], indirect=True)
def test_the_janitor_removes_what_a_crash_left(small: Path, settings: Any) -> None:
    kept = uploads.create_upload(owner=None, name="a", size=4)
    (small / "left.part").write_bytes(b"half")
    old = (timezone.now() - timedelta(hours=settings.UPLOAD_KEEP_HOURS + 1)).timestamp()
    os.utime(small / "left.part", (old, old))
    uploads.prune()
    assert [path.name for path in small.iterdir()] == [kept.path.name]
