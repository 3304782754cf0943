"""Files on their way in: made with a declared size, then appended to in order, block by block.

The bytes go straight from the request to a file of ours; nothing here looks inside them. The row
says how many bytes count: what a crash left behind them is cut off by the next append.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from ggufhub.errors import GgufHubError, UsageError
from ggufhub.hub import quotas
from ggufhub.hub.models import LARGEST, OPEN_STATES, Upload
from ggufhub.hub.services import bytes_arrived
from ggufhub.hub.values import clip
from ggufhub.limits import MIB, Limits

BLOCK = 1 * MIB
SAVE_EVERY = 32 * MIB
"""A killed server loses at most this much of an upload."""


class Readable(Protocol):
    """A request body: ``read`` returns fewer bytes than asked only at its end."""

    def read(self, size: int, /) -> bytes: ...


class UploadError(GgufHubError):
    """An append or a new upload that cannot be accepted; ``code`` says why."""


class WrongOffset(UploadError):
    """The client and the server disagree on how much is there."""

    def __init__(self, received: int) -> None:
        super().__init__("wrong_offset", f"The upload holds {received} bytes; go on from there.")
        self.received = received


class TooLarge(UploadError):
    """More bytes than declared or allowed; ``most`` is how many the upload may hold."""

    def __init__(self, most: int) -> None:
        super().__init__("too_large", f"At most {most} bytes are accepted.")


class Busy(UploadError):
    """Another request is appending to the same upload."""

    def __init__(self) -> None:
        super().__init__("busy", "Another request is sending to this upload.")


class StorageFull(UploadError):
    """There is no room for the upload."""

    def __init__(self) -> None:
        super().__init__("storage_full", "There is not enough room to store this upload.")


def capacity(*, size: int, header_only: bool) -> int:
    """How many bytes an upload may hold in the end."""
    return min(size, Limits().header_bytes if header_only else settings.UPLOAD_MAX_BYTES)


def create_upload(*, owner: Any, name: str, size: int, header_only: bool = False) -> Upload:
    """A new, empty upload of a file of ``size`` bytes.

    ``UsageError`` for a size that is none, ``TooLarge`` beyond the limit for whole files,
    ``StorageFull`` where the disk has no room for it, ``QuotaExceeded`` where its owner has none.
    """
    most = _checked(size, header_only)
    if not quotas.disk_has_room(most):
        raise StorageFull
    with transaction.atomic(), _room():
        upload = _create(owner, name, size, header_only=header_only)
        os.close(os.open(upload.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return upload


@contextmanager
def _room() -> Iterator[None]:
    """``StorageFull`` where the system says that bytes, files or the user's share are used up."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull from None
        raise


def take_over(*, owner: Any, name: str, path: Path, size: int) -> Upload:
    """A complete upload made of the file at ``path``, which is moved and not copied.

    It must lie in the directory of uploads. ``TooLarge`` beyond the limit for whole files.
    """
    _checked(size, header_only=False)
    upload = _create(owner, name, size, received=size)
    path.rename(upload.path)
    return upload


def _checked(size: int, header_only: bool) -> int:
    """How many bytes an upload of a file of ``size`` bytes may hold."""
    if not 0 <= size <= LARGEST:
        raise UsageError("The size of an upload is a whole number of bytes, 0 or more.")
    most = capacity(size=size, header_only=header_only)
    if most < size and not header_only:
        raise TooLarge(most)
    return most


def _create(owner: Any, name: str, size: int, **facts: Any) -> Upload:
    # A browser may send a whole path; only the last part names the file.
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    quotas.check_upload(owner, 0 if facts.get("header_only") else size)
    return Upload.objects.create(owner=owner, name=clip(last or "upload", 255), size=size, **facts)


def append(upload: Upload, *, offset: int, stream: Readable, length: int) -> int:
    """Add ``length`` bytes from ``stream`` at ``offset``; return how many the upload then holds.

    Raises ``WrongOffset`` (nothing written), ``TooLarge`` (nothing read), ``Busy``,
    ``StorageFull``, and ``Upload.DoesNotExist`` where it was deleted meanwhile.
    When the stream ends early or breaks, what came is kept and counted.
    """
    with _locked(upload) as handle:
        upload.refresh_from_db()
        if offset != upload.received:
            raise WrongOffset(upload.received)
        most = capacity(size=upload.size, header_only=upload.header_only)
        if offset + length > most:
            raise TooLarge(most)
        if not quotas.disk_has_room(length):
            raise StorageFull
        os.ftruncate(handle, offset)
        _copy(upload, handle, stream, length)
    return upload.received


@contextmanager
def _locked(upload: Upload) -> Iterator[int]:
    try:
        handle = os.open(upload.path, os.O_WRONLY)
    except FileNotFoundError:
        raise Upload.DoesNotExist from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy from None
        yield handle
    finally:
        os.close(handle)


def _copy(upload: Upload, handle: int, stream: Readable, length: int) -> None:
    end, saved = upload.received + length, upload.received
    position = saved
    try:
        with _room():
            while position < end and (block := stream.read(min(BLOCK, end - position))):
                _write(handle, block, position)
                position += len(block)
                if position - saved >= SAVE_EVERY:
                    _save(upload, position)
                    saved = position
    finally:
        # Also when the client is gone: it will ask how much came and go on from there.
        _save(upload, position)


def _write(handle: int, block: bytes, position: int) -> None:
    view = memoryview(block)
    while view:
        written = os.pwrite(handle, view, position)
        position += written
        view = view[written:]


@transaction.atomic
def _save(upload: Upload, received: int) -> None:
    upload.received, upload.touched = received, timezone.now()
    rows = Upload.objects.filter(pk=upload.pk)
    if not rows.update(received=upload.received, touched=upload.touched):
        raise Upload.DoesNotExist  # deleted while its bytes came
    bytes_arrived(upload)


def delete_upload(upload: Upload) -> None:
    """Forget the upload and its bytes. An inspection that still needed them will say so."""
    path = upload.path
    upload.delete()
    path.unlink(missing_ok=True)


def prune(now: datetime | None = None) -> int:
    """Delete uploads nothing has touched for long, unless an open inspection needs them.

    Also removes files without a row: what a crash left. Returns how many uploads were deleted.
    """
    oldest = (now or timezone.now()) - timedelta(hours=settings.UPLOAD_KEEP_HOURS)
    needed = Q(inspection__state__in=OPEN_STATES) | Q(shard_of__inspection__state__in=OPEN_STATES)
    uploads = list(Upload.objects.filter(touched__lt=oldest).exclude(needed))
    for upload in uploads:
        delete_upload(upload)
    known = {upload.path for upload in Upload.objects.all()}
    for path in settings.UPLOAD_DIR.iterdir():
        with suppress(FileNotFoundError):  # a file that comes in a form ends with its request
            if path not in known and path.stat().st_mtime < oldest.timestamp():
                path.unlink()
    return len(uploads)
