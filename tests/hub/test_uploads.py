"""Bytes on their way in: counted right whatever the client or the disk does."""

import errno
import io
import os
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from ggufhub.errors import UsageError
from ggufhub.hub import services, uploads
from ggufhub.hub.models import Upload
from tests import rows

pytestmark = pytest.mark.django_db

DATA = bytes(range(256)) * 10


class Cut(io.BytesIO):
    """A connection that breaks after its bytes."""

    def read(self, size: int | None = -1, /) -> bytes:
        block = super().read(size)
        if not block:
            raise ConnectionResetError
        return block


def send(upload: Upload, data: bytes, offset: int) -> int:
    return uploads.append(upload, offset=offset, stream=io.BytesIO(data), length=len(data))


def test_pieces_add_up_to_the_file() -> None:
    upload = uploads.create_upload(owner=None, name="a.gguf", size=len(DATA))
    assert send(upload, DATA[:1000], 0) == 1000
    assert send(upload, DATA[1000:], 1000) == len(DATA)
    assert upload.complete
    assert upload.path.read_bytes() == DATA
    assert upload.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("offset", [0, 9, 11, 2**60])
def test_a_wrong_offset_changes_nothing(offset: int) -> None:
    upload = uploads.create_upload(owner=None, name="a.gguf", size=100)
    send(upload, DATA[:10], 0)
    with pytest.raises(uploads.WrongOffset) as refusal:
        send(upload, b"x", offset)
    assert refusal.value.received == 10
    assert upload.path.read_bytes() == DATA[:10]


def test_more_than_declared_is_refused_before_it_is_read() -> None:
    upload = uploads.create_upload(owner=None, name="a.gguf", size=10)
    with pytest.raises(uploads.TooLarge):
        send(upload, DATA[:11], 0)
    assert upload.path.stat().st_size == 0


def test_what_a_broken_connection_sent_is_kept() -> None:
    upload = uploads.create_upload(owner=None, name="a.gguf", size=len(DATA))
    with pytest.raises(ConnectionResetError):
        uploads.append(upload, offset=0, stream=Cut(DATA[:700]), length=len(DATA))
    upload.refresh_from_db()
    assert upload.received == 700
    assert send(upload, DATA[700:], 700) == len(DATA)
    assert upload.path.read_bytes() == DATA


def test_a_body_shorter_than_announced_is_kept() -> None:
    upload = uploads.create_upload(owner=None, name="a.gguf", size=100)
    assert uploads.append(upload, offset=0, stream=io.BytesIO(DATA[:5]), length=50) == 5


def test_bytes_a_crash_left_uncounted_are_overwritten() -> None:
    upload = uploads.create_upload(owner=None, name="a.gguf", size=20)
    send(upload, DATA[:10], 0)
    with upload.path.open("ab") as file:
        file.write(b"never counted, longer than what follows")
    send(upload, DATA[10:20], 10)
    assert upload.path.read_bytes() == DATA[:20]


def test_an_empty_file_is_complete_at_once() -> None:
    upload = uploads.create_upload(owner=None, name="empty.gguf", size=0)
    assert upload.complete
    assert services.submit_upload(owner=None, upload=upload).size == 0


def test_two_writers_do_not_mix() -> None:
    upload = uploads.create_upload(owner=None, name="a.gguf", size=100)

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            with pytest.raises(uploads.Busy):
                send(Upload.objects.get(pk=upload.pk), b"other", 0)
            return super().read(size)

    assert uploads.append(upload, offset=0, stream=Slow(DATA[:10]), length=10) == 10


def test_a_header_only_upload_declares_more_than_it_may_send() -> None:
    upload = uploads.create_upload(owner=None, name="a.gguf", size=2**62, header_only=True)
    with pytest.raises(uploads.TooLarge):
        uploads.append(upload, offset=0, stream=io.BytesIO(), length=200 * 1024**2)


@pytest.mark.parametrize("size", [-1, 2**63, 2**64])
def test_a_size_that_is_none_is_refused(size: int) -> None:
    with pytest.raises(UsageError):
        uploads.create_upload(owner=None, name="a", size=size)


def test_a_file_beyond_the_limit_is_refused(settings: Any) -> None:
    settings.UPLOAD_MAX_BYTES = 10
    with pytest.raises(uploads.TooLarge):
        uploads.create_upload(owner=None, name="a", size=11)


def test_a_full_disk_is_named_and_what_fitted_is_kept(monkeypatch: Any) -> None:
    upload = uploads.create_upload(owner=None, name="a.gguf", size=100)
    real = os.pwrite

    def full(handle: int, data: memoryview, position: int) -> int:
        if position >= 5:
            raise OSError(errno.ENOSPC, "no space left")
        return real(handle, data[: 5 - position], position)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(uploads.StorageFull):
        send(upload, DATA[:10], 0)
    monkeypatch.undo()
    upload.refresh_from_db()
    assert upload.received == 0
    assert send(upload, DATA[:100], 0) == 100


def test_a_disk_without_room_is_noticed_before_the_first_byte(settings: Any) -> None:
    settings.DISK_FLOOR_BYTES = 2**62
    with pytest.raises(uploads.StorageFull):
        uploads.create_upload(owner=None, name="a", size=1)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\models\\a.gguf", "a.gguf"),
        ("", "upload"),
        ("/", "upload"),
    ],
)
def test_a_path_in_a_name_is_dropped(sent: str, kept: str) -> None:
    upload = uploads.create_upload(owner=None, name=sent, size=1)
    assert upload.name == kept
    assert upload.path.parent == settings.UPLOAD_DIR


def test_only_what_nobody_needs_is_pruned() -> None:
    forgotten, needed, fresh = (rows.upload_of(DATA) for _ in range(3))
    services.submit_upload(owner=None, upload=needed)
    long_ago = timezone.now() - timedelta(days=3)
    Upload.objects.exclude(pk=fresh.pk).update(touched=long_ago)
    orphan = settings.UPLOAD_DIR / "left-by-a-crash.part"
    orphan.touch()
    os.utime(orphan, (long_ago.timestamp(), long_ago.timestamp()))
    assert uploads.prune() == 1
    assert set(Upload.objects.all()) == {needed, fresh}
    assert not forgotten.path.exists() and not orphan.exists()
    assert needed.path.exists() and fresh.path.exists()


def test_a_file_that_goes_meanwhile_stops_no_pruning(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [settings.UPLOAD_DIR / "moved-by-a-form.upload"]
    monkeypatch.setattr(type(settings.UPLOAD_DIR), "iterdir", lambda _: iter(listed))
    assert uploads.prune() == 0
