"""Writes: every change of an inspection's state happens here, each as one conditional UPDATE.

The row is both the truth and the outbox: it is committed first and a message is sent after. A
worker claims the row, receives its attempt number, and may write only while that number stands.
"""

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import F, Q
from django.utils import timezone

from ggufhub.errors import UsageError
from ggufhub.hub import audit_log, queue, quotas, storing
from ggufhub.hub.headers import Kept
from ggufhub.hub.links import parse_source
from ggufhub.hub.models import OPEN_STATES, Inspection, Report, Shard, State, Upload
from ggufhub.hub.reuse import subject_of
from ggufhub.hub.values import clip
from ggufhub.limits import FULL, HEADER, Limits
from ggufhub.report.document import Report as BuiltReport
from ggufhub.rules.profiles import DEFAULT_PROFILE

LEASE = timedelta(seconds=20)
"""A worker renews it every few seconds; a row whose lease ran out belongs to a dead worker."""

MAX_LOSSES = 3
"""Workers one inspection may kill before it is given up."""

MAX_POSTPONED = 5
"""Times one inspection waits because a server asked for it."""

LONGEST_WAIT = timedelta(minutes=15)
"""A server that asks for more is not waited for. The quotas of the hub last five minutes."""

log = logging.getLogger(__name__)


def submit_url(
    *,
    owner: Any,
    url: str,
    profile: str = DEFAULT_PROFILE,
    policy: Mapping[str, Any] | None = None,
    expected: Mapping[str, str] | None = None,
    depth: str = HEADER,
    force: bool = False,
) -> Inspection:
    """Queue the inspection of a link, of a name such as ``hf://…``, ``ollama://…``,
    ``owner/repository``, or of a file of this server. ``UsageError`` if it is none of them.
    ``expected`` holds the digests (hex) the file must have, by algorithm. With ``force`` no
    earlier report of the same file will do. ``QuotaExceeded`` where the owner has had enough.

    Whether the address may be fetched is the worker's decision, at the moment it connects.
    """
    link = parse_source(url)
    return _queue(
        owner=owner,
        source_kind="file" if link.target.startswith("/") else "url",
        target=link.target,
        locator=link.locator,
        name=clip(link.name, 255),
        profile=profile,
        policy=policy or {},
        expected=expected or {},
        depth=depth,
        force=force,
    )


def submit_upload(
    *,
    owner: Any,
    upload: Upload,
    others: Sequence[Upload] = (),
    profile: str = DEFAULT_PROFILE,
    policy: Mapping[str, Any] | None = None,
    expected: Mapping[str, str] | None = None,
    depth: str = HEADER,
    force: bool = False,
) -> Inspection:
    """Queue the inspection of an upload, or of a split model: ``others`` are its further shards.

    Where a digest is expected every byte is read, if all were sent: only they can tell. With
    ``force`` no earlier report of the same bytes will do.
    ``UsageError`` where a whole-file upload is not complete, two files have one name, or depth
    ``full`` is asked for and only headers were sent.
    """
    first, *further = _in_order([upload, *others])
    whole = all(one.complete for one in (first, *further))
    if depth == FULL and not whole:
        raise UsageError("Depth full needs every byte, and only the header was uploaded.")
    return _queue(
        further,
        owner=owner,
        source_kind="upload",
        locator=first.name,
        name=first.name,
        upload=first,
        size=first.size,
        profile=profile,
        policy=policy or {},
        expected=expected or {},
        depth=FULL if expected and whole else depth,
        force=force,
    )


def _in_order(uploads: Sequence[Upload]) -> list[Upload]:
    """The uploads of one inspection with the first shard first; ``UsageError`` as above."""
    if len({upload.name for upload in uploads}) < len(uploads):
        raise UsageError("Two of the uploads have the same name.")
    for upload in uploads:
        if not upload.complete and not upload.header_only:
            missing = f"{upload.received} of {upload.size} bytes"
            raise UsageError(f"The upload of {upload.name} holds {missing}.")
    # The numbers in the names of shards have five digits each: names sort as they do.
    return sorted(uploads, key=lambda upload: upload.name)


@transaction.atomic
def _queue(shards: Sequence[Upload] = (), **fields: Any) -> Inspection:
    quotas.check_inspection(fields["owner"])
    uploads = [fields["upload"], *shards] if "upload" in fields else []
    files = [(upload.name, upload.size) for upload in uploads]
    lane = fields["depth"]
    inspection = Inspection.objects.create(**fields, lane=lane, subject=subject_of(fields, files))
    Shard.objects.bulk_create(Shard(inspection=inspection, upload=upload) for upload in shards)
    _send_after_commit(inspection.pk, lane)
    return inspection


def _send_after_commit(inspection_id: UUID, lane: str) -> None:
    transaction.on_commit(lambda: send(inspection_id, lane))


def send(inspection_id: UUID, lane: str) -> bool:
    """Send the message for a queued row and note the time; False if the broker is down.

    The row is queued and its message sent, whatever becomes of the note: without it the
    reconciler sends another, which does no harm.
    """
    sent = queue.send_inspect(inspection_id, lane)
    if sent:
        rows = Inspection.objects.filter(pk=inspection_id, state=State.QUEUED)
        with suppress(DatabaseError):
            rows.update(sent_at=timezone.now())
    return sent


@transaction.atomic
def cancel(inspection: Inspection) -> bool:
    """Stop an inspection that is not final; False if it already was. A worker notices soon."""
    changed = Inspection.objects.filter(pk=inspection.pk, state__in=OPEN_STATES).update(
        state=State.CANCELLED, finished=timezone.now(), lease_until=None, needs_until=None
    )
    if changed:
        audit_log.note("inspection.cancelled", inspection.pk)
    return bool(changed)


@transaction.atomic
def run_again(inspection: Inspection) -> bool:
    """Queue an inspection that failed once more, as if it were new; False if it did not fail."""
    changed = Inspection.objects.filter(pk=inspection.pk, state=State.FAILED).update(
        state=State.QUEUED, error_code="", error_message="", finished=None, sent_at=None,
        losses=0, postponed=0,
    )  # fmt: skip
    if changed:
        audit_log.note("admin.ran-again", inspection.pk)
        _send_after_commit(inspection.pk, inspection.lane)
    return bool(changed)


@transaction.atomic
def claim(inspection_id: UUID | str) -> int | None:
    """Take a queued row; the attempt number to write with, or None if there is nothing to do.

    Duplicate messages end here. A row whose worker died is not taken over directly: it comes
    back through ``reconcile``, which counts the loss.
    """
    now = timezone.now()
    rows = Inspection.objects.filter(pk=inspection_id)
    claimed = (
        due(now)
        .filter(pk=inspection_id)
        .update(
            state=State.RUNNING,
            not_before=None,
            attempt=F("attempt") + 1,
            lease_until=now + LEASE,
            started=now,
            stage="starting",
            requests=0,
            bytes_read=0,
        )
    )
    return rows.values_list("attempt", flat=True).get() if claimed else None


def due(now: datetime) -> Any:
    """The queued rows that wait for nothing but a worker."""
    waited = Q(not_before=None) | Q(not_before__lte=now)
    return Inspection.objects.filter(waited, state=State.QUEUED, needs_until=None)


def _held(inspection_id: UUID | str, attempt: int) -> Any:
    return Inspection.objects.filter(pk=inspection_id, attempt=attempt, state=State.RUNNING)


def progress(
    inspection_id: UUID | str, attempt: int, *, stage: str, requests: int, bytes_read: int
) -> bool:
    """Note how far the work is and renew the lease; False if the row was taken or cancelled."""
    changed = _held(inspection_id, attempt).update(
        stage=clip(stage, 64),
        requests=requests,
        bytes_read=bytes_read,
        lease_until=timezone.now() + LEASE,
    )
    return bool(changed)


def finish(
    inspection_id: UUID | str, attempt: int, report: BuiltReport, header: Kept | None = None
) -> bool:
    """Store the report and everything under it, and mark the row done: all or nothing.

    ``header`` is what ``headers.keep`` stored of the bytes it was made from. False, with no
    report, if this attempt no longer holds the row.
    """
    return _finish(inspection_id, attempt, storing.pack(report, header))


def finish_with(
    inspection_id: UUID | str, attempt: int, earlier: Report, *, requests: int, bytes_read: int
) -> bool:
    """Give the row the report of an earlier one, whose file is still the same.

    ``requests`` and ``bytes_read`` are what it cost to know that.
    """
    packed = storing.again(earlier, requests=requests, bytes_read=bytes_read)
    return _finish(inspection_id, attempt, packed, reused=True)


@transaction.atomic
def _finish(
    inspection_id: UUID | str, attempt: int, packed: storing.Packed, **changes: Any
) -> bool:
    done = _held(inspection_id, attempt).update(
        state=State.DONE,
        stage="",
        finished=timezone.now(),
        lease_until=None,
        size=packed.size,
        requests=packed.requests,
        bytes_read=packed.bytes_read,
        **changes,
    )
    if done:
        storing.store(inspection_id, packed)
    return bool(done)


def fail(inspection_id: UUID | str, attempt: int, *, code: str, message: str) -> bool:
    """End the row without a report; False if this attempt no longer holds it."""
    return _fail(_held(inspection_id, attempt), code, message)


def _fail(rows: Any, code: str, message: str, **changes: Any) -> bool:
    changed = rows.update(
        state=State.FAILED,
        stage="",
        error_code=clip(code, 64),
        error_message=clip(message, 2000),
        finished=timezone.now(),
        lease_until=None,
        needs_until=None,
        **changes,
    )
    return bool(changed)


def need_bytes(
    inspection_id: UUID | str, attempt: int, *, offset: int, length: int, name: str | None = None
) -> bool:
    """Put the row back until its header-only upload holds ``[offset, offset + length)``.

    ``name`` tells which of its uploads: that of the file opened where it is None.
    A header longer than the limit fails here. False if this attempt no longer holds the row.
    """
    until, most = offset + length, Limits().header_bytes
    if until > most:
        message = f"The header needs more than the {most} bytes a header may have."
        return fail(inspection_id, attempt, code="limit", message=message)
    with transaction.atomic():
        # The same lock ``uploads`` takes: bytes that arrive meanwhile are seen here or see us.
        rows = Upload.objects.select_for_update()
        upload = rows.filter(pk=_upload_id(inspection_id, name)).first()
        changed = _held(inspection_id, attempt).update(
            state=State.QUEUED,
            stage="waiting for bytes",
            lease_until=None,
            sent_at=None,
            needs_until=until,
            needs_upload=upload,
        )
        if upload is not None:
            # The others of a set may have kept the sender busy: its time runs from here.
            Upload.objects.filter(pk=upload.pk).update(touched=timezone.now())
            bytes_arrived(upload)
    return bool(changed)


def _upload_id(inspection_id: UUID | str, name: str | None) -> UUID | None:
    """Which upload of an inspection is called ``name``: their names are distinct."""
    if name is not None:
        shards = Shard.objects.filter(inspection=inspection_id, upload__name=name)
        if (found := shards.values_list("upload", flat=True).first()) is not None:
            return found
    return Inspection.objects.filter(pk=inspection_id).values_list("upload", flat=True).first()


def postpone(inspection_id: UUID | str, attempt: int, *, seconds: float) -> bool:
    """Queue the row again, not before ``seconds`` from now, because a server asked for that.

    False, with nothing changed, if that is too long, if it was asked too often, or if this
    attempt no longer holds the row. ``reconcile`` sends the message when the time has come.
    """
    wait = timedelta(seconds=max(seconds, 1.0))
    if wait > LONGEST_WAIT:
        return False
    changed = (
        _held(inspection_id, attempt)
        .filter(postponed__lt=MAX_POSTPONED)
        .update(
            state=State.QUEUED,
            stage="waiting for the server",
            lease_until=None,
            sent_at=None,
            not_before=timezone.now() + wait,
            postponed=F("postponed") + 1,
        )
    )
    return bool(changed)


def bytes_arrived(upload: Upload) -> None:
    """Queue again what waited for bytes ``upload`` now holds. Call it inside a transaction."""
    rows = Inspection.objects.filter(
        needs_upload=upload, state=State.QUEUED, needs_until__lte=upload.received
    )
    for inspection_id, lane in rows.values_list("pk", "lane"):
        if rows.filter(pk=inspection_id).update(needs_until=None, stage=""):
            _send_after_commit(inspection_id, lane)


def lose(inspection_id: UUID | str) -> None:
    """The process working on this row died: queue it again, or give up after three of them."""
    row = Inspection.objects.filter(pk=inspection_id, state=State.RUNNING).first()
    if row is not None:
        _lose(row)


def _lose(row: Inspection) -> None:
    losses = row.losses + 1
    log.warning("inspection %s lost its worker, loss %d", row.pk, losses)
    if losses >= MAX_LOSSES:
        message = f"{losses} worker processes died on this file."
        _fail(_held(row.pk, row.attempt), "worker_lost", message, losses=losses)
        return
    with transaction.atomic():
        requeued = _held(row.pk, row.attempt).update(
            state=State.QUEUED, stage="", lease_until=None, sent_at=None, losses=losses
        )
        if requeued:
            _send_after_commit(row.pk, row.lane)


def abandon(row: Inspection) -> None:
    """End a row that waits for bytes of an upload nobody continues."""
    waiting = Inspection.objects.filter(pk=row.pk, state=State.QUEUED, needs_until__isnull=False)
    _fail(waiting, "bytes_never_came", "The upload stopped before the header was complete.")


def time_out(inspection_id: UUID | str) -> None:
    """The process working on this row was killed at the hard time limit. Not tried again."""
    rows = Inspection.objects.filter(pk=inspection_id, state=State.RUNNING)
    _fail(rows, "timeout", "The inspection took too long and was stopped.")


def expire(now: datetime) -> None:
    """Count as lost every running row whose lease ran out.

    A lease that ends later than any that is given now was given before the clock was set back, by
    a worker that has not renewed it since.
    """
    over = Q(lease_until__lt=now) | Q(lease_until__gt=now + 2 * LEASE)
    for row in Inspection.objects.filter(over, state=State.RUNNING):
        _lose(row)
