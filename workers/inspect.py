"""The task behind every report: open the source, run the core, store what it says."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from ggufhub.audit.hosts import host_of
from ggufhub.audit.stored import unpack_files
from ggufhub.errors import BytesMissing, SourceError
from ggufhub.formats.naming import shard_name
from ggufhub.hub import audit_feed, headers, hosts, queue, reuse, services
from ggufhub.hub.headers import Kept
from ggufhub.hub.models import Inspection, Upload
from ggufhub.hub.models import Report as StoredReport
from ggufhub.hub.values import clip
from ggufhub.limits import FULL, Limits
from ggufhub.report import build
from ggufhub.report.build import RULE_SET
from ggufhub.report.document import Report
from ggufhub.rules.policy_file import parse_policy
from ggufhub.sources.base import ByteSource, Reads
from ggufhub.sources.file import FileSource
from ggufhub.sources.listed import open_listed
from ggufhub.sources.open import open_remote
from ggufhub.sources.policy import AddressPolicy
from ggufhub.sources.roots import check_below
from ggufhub.sources.upload import Stored, UploadSource
from workers.app import DIGEST_HARD_SECONDS, DIGEST_SOFT_SECONDS, app
from workers.base import RowTask
from workers.checkpoints import Keeper
from workers.job import Job
from workers.recording import Recorder, Tape
from workers.reuse import judge_kept, unchanged_link, unchanged_uploads

POLICY = AddressPolicy.from_environment()
"""Read once, at the start, where a wrong value is noticed by whoever set it."""

HEADER_STAGE = "reading"
"""What the core calls the stage in which headers are read."""

TRANSIENT = frozenset(
    {"connect", "connection", "dns", "dns_timeout", "short_body", "timeout", "unreachable"}
)
"""Errors of a network that may be over in a while."""

WAIT_UNTOLD = 30.0
"""Seconds to leave a server alone that is busy and does not say for how long."""


@app.task(base=RowTask, name=queue.INSPECT)
def inspect(job: Job) -> None:
    """Inspect the row of ``job`` by its header."""
    work(job)
    audit_feed.follow(job.id)


@app.task(
    base=RowTask,
    name=queue.DIGEST,
    soft_time_limit=DIGEST_SOFT_SECONDS,
    time_limit=DIGEST_HARD_SECONDS,
)
def digest(job: Job) -> None:
    """Inspect the row of ``job`` by every byte. After a lost worker, or a server that was gone for
    a while, it goes on at the last checkpoint."""
    work(job)
    audit_feed.follow(job.id)


def work(job: Job) -> None:
    """Inspect the row of ``job`` and store its report; or ask for more bytes of its upload, or
    for another attempt later, where a server is too busy to answer now.

    Where the owner has a report of the same, unchanged file, that is taken instead.
    """
    row = Inspection.objects.get(pk=job.id)
    if row.again is not None:
        _judge_again(job, row, row.again.report)
    elif not _settled(job, row):
        _inspect(job, row)


def _judge_again(job: Job, row: Inspection, earlier: StoredReport) -> None:
    report = judge_kept(row, earlier, Reads())
    if report is None:
        message = "More is needed than was kept of this file: inspect it again."
        services.fail(job.id, job.attempt, code="not_kept", message=message)
        return
    services.finish(job.id, job.attempt, report, headers.of(earlier))


def _settled(job: Job, row: Inspection) -> bool:
    """Whether an earlier report answers ``row``, as it stands or judged again by newer rules."""
    earlier = None if row.force else reuse.find(row)
    current = earlier is not None and earlier.rule_set == RULE_SET
    if earlier is None or (row.depth == FULL and not current):
        return False
    if row.source_kind != "upload":
        reads = unchanged_link(earlier, lambda limits: _opened(row, limits))
    else:
        paths = {upload.name: upload.path for upload in _uploads(row)}
        reads = unchanged_uploads(earlier, paths, job.progress)
    if reads is None:
        return False
    if current:
        cost = {"requests": reads.requests, "bytes_read": reads.bytes}
        services.finish_with(job.id, job.attempt, earlier, **cost)
        return True
    report = judge_kept(row, earlier, reads)
    if report is not None:
        services.finish(job.id, job.attempt, report, headers.of(earlier))
    return report is not None


def _inspect(job: Job, row: Inspection) -> None:
    limits = Limits().for_depth(row.depth)
    keeper = _keeper(job, row) if row.depth == FULL else None
    try:
        with Tape(settings.UPLOAD_DIR) as tape, _opened(row, limits) as source:
            report = build.inspect(
                Recorder(source, tape),
                limits=limits,
                profile=row.profile,
                policy=parse_policy(row.policy) if row.policy else None,
                progress=_until_every_byte(tape, job),
                expected=row.expected,
                depth=row.depth,
                checkpoints=None if keeper is None else keeper.checkpoints,
            )
            kept = _keep(tape, report)
    except BytesMissing as missing:
        services.need_bytes(
            job.id,
            job.attempt,
            offset=missing.offset,
            length=missing.length,
            name=missing.name,
        )
        return
    wait = _wait(report, resumable=keeper is not None and keeper.kept)
    if wait is not None and services.postpone(job.id, job.attempt, seconds=wait):
        return
    services.finish(job.id, job.attempt, report, kept)


def _keep(tape: Tape, report: Report) -> Kept | None:
    """What ``tape`` holds, stored; None where it was too much, or nothing could be read."""
    if not (tape.whole and tape.files):
        return None
    return headers.keep(tape.files, tape.about, report.document)


def _until_every_byte(tape: Tape, job: Job) -> build.Progress:
    """The listener of an inspection, which also ends ``tape`` with the reading of the header."""

    def listen(stage: str, reads: Reads) -> None:
        if stage != HEADER_STAGE:
            tape.stop()
        job.progress(stage, reads)

    return listen


def _wait(report: Report, *, resumable: bool) -> float | None:
    """Seconds to the next attempt where the server will have the file later, else None.

    Where an attempt came far enough to be ``resumable``, a network that fails is worth another.
    """
    error = report.document["error"]
    code = None if error is None else error["code"]
    if code in ("rate_limited", "busy") or (resumable and code in TRANSIENT):
        return WAIT_UNTOLD if report.retry_after is None else report.retry_after
    return None


def _keeper(job: Job, row: Inspection) -> Keeper:
    return Keeper(job, _uploads(row) if row.source_kind == "upload" else [])


@contextmanager
def _opened(row: Inspection, limits: Limits) -> Iterator[ByteSource]:
    """The source of ``row``. What its server says of its quota is noted, for all workers."""
    with _open(row, limits) as source:
        try:
            yield source
        finally:
            left = source.reads.left
            if left is not None:
                hosts.note(clip(host_of(row.target), 255), left.requests, left.until)


def _open(row: Inspection, limits: Limits) -> ByteSource:
    if row.source_kind == "url":
        return open_remote(row.target, policy=POLICY, limits=limits)
    if row.source_kind == "file":
        check_below(row.target, settings.ROOTS)
        return FileSource(Path(row.target))
    if row.source_kind == "listed":
        return _open_listed(row, limits)
    return _open_uploads(row)


def _open_listed(row: Inspection, limits: Limits) -> ByteSource:
    """A model of an audit: its files were listed there, and no others are looked for."""
    item = row.audit_items.order_by("id").first()
    if item is None:
        raise SourceError("not_found", "The audit that listed this file was deleted.")
    files = unpack_files(bytes(item.files))
    for file in files:
        if file.locator.startswith("/"):
            check_below(file.locator, settings.ROOTS)
    return open_listed(files, policy=POLICY, limits=limits)


def _uploads(row: Inspection) -> list[Upload]:
    """The uploads of ``row``, the one that is opened first. ``SourceError`` where one is gone."""
    uploads: list[Upload] = []
    for upload in (row.upload, *(one.upload for one in row.shards.select_related("upload"))):
        if upload is None or not upload.path.exists():
            raise SourceError("not_found", "An upload was deleted before it was inspected.")
        uploads.append(upload)
    return uploads


def _open_uploads(row: Inspection) -> UploadSource:
    """The upload of ``row``, which finds the shards that were sent with it by their names."""
    first, *others = _uploads(row)
    whole = shard_name(first.name)
    for other in others:
        name = shard_name(other.name)
        if whole is None or name is None or name[::2] != whole[::2]:
            message = f"{first.name} and {other.name} are not shards of one model."
            raise SourceError("not_one_model", message)
    siblings = {other.name: Stored(other.path, other.size) for other in others}
    return UploadSource(first.path, first.name, first.size, siblings)
