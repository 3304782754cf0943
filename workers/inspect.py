"""The task behind every report: open the source, run the core, store what it says."""

from ggufhub.errors import BytesMissing, SourceError
from ggufhub.formats.naming import shard_name
from ggufhub.hub import queue, services
from ggufhub.hub.models import Inspection, Upload
from ggufhub.limits import Limits
from ggufhub.report import build
from ggufhub.report.document import Report
from ggufhub.rules.policy_file import parse_policy
from ggufhub.sources.base import ByteSource
from ggufhub.sources.open import open_remote
from ggufhub.sources.policy import AddressPolicy
from ggufhub.sources.upload import Stored, UploadSource
from workers.app import DIGEST_HARD_SECONDS, DIGEST_SOFT_SECONDS, app
from workers.base import RowTask
from workers.job import Job

POLICY = AddressPolicy.from_environment()
"""Read once, at the start, where a wrong value is noticed by whoever set it."""

WAIT_UNTOLD = 30.0
"""Seconds to leave a server alone that is busy and does not say for how long."""


@app.task(base=RowTask, name=queue.INSPECT)
def inspect(job: Job) -> None:
    """Inspect the row of ``job`` by its header."""
    work(job)


@app.task(
    base=RowTask,
    name=queue.DIGEST,
    soft_time_limit=DIGEST_SOFT_SECONDS,
    time_limit=DIGEST_HARD_SECONDS,
)
def digest(job: Job) -> None:
    """Inspect the row of ``job`` by every byte. After a lost worker it starts at the first one."""
    work(job)


def work(job: Job) -> None:
    """Inspect the row of ``job`` and store its report; or ask for more bytes of its upload, or
    for another attempt later, where a server is too busy to answer now."""
    row = Inspection.objects.select_related("upload").get(pk=job.id)
    limits = Limits().for_depth(row.depth)
    try:
        with _open(row, limits) as source:
            report = build.inspect(
                source,
                limits=limits,
                profile=row.profile,
                policy=parse_policy(row.policy) if row.policy else None,
                progress=job.progress,
                expected=row.expected,
                depth=row.depth,
            )
    except BytesMissing as missing:
        services.need_bytes(
            job.id,
            job.attempt,
            offset=missing.offset,
            length=missing.length,
            name=missing.name,
        )
        return
    wait = _wait(report)
    if wait is not None and services.postpone(job.id, job.attempt, seconds=wait):
        return
    services.finish(job.id, job.attempt, report)


def _wait(report: Report) -> float | None:
    """Seconds to the next attempt where the server will have the file later, else None."""
    error = report.document["error"]
    if error is None or error["code"] not in ("rate_limited", "busy"):
        return None
    return WAIT_UNTOLD if report.retry_after is None else report.retry_after


def _open(row: Inspection, limits: Limits) -> ByteSource:
    if row.source_kind == "url":
        return open_remote(row.target, policy=POLICY, limits=limits)
    return _open_uploads(row)


def _open_uploads(row: Inspection) -> UploadSource:
    """The upload of ``row``, which finds the shards that were sent with it by their names."""
    uploads: list[Upload] = []
    for upload in (row.upload, *(one.upload for one in row.shards.select_related("upload"))):
        if upload is None or not upload.path.exists():
            raise SourceError("not_found", "An upload was deleted before it was inspected.")
        uploads.append(upload)
    first, *others = uploads
    whole = shard_name(first.name)
    for other in others:
        name = shard_name(other.name)
        if whole is None or name is None or name[::2] != whole[::2]:
            message = f"{first.name} and {other.name} are not shards of one model."
            raise SourceError("not_one_model", message)
    siblings = {other.name: Stored(other.path, other.size) for other in others}
    return UploadSource(first.path, first.name, first.size, siblings)
