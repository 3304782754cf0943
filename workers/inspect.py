"""The task behind every report: open the source, run the core, store what it says."""

from ggufhub.errors import BytesMissing, SourceError
from ggufhub.hub import queue, services
from ggufhub.hub.models import Inspection
from ggufhub.limits import Limits
from ggufhub.report import build
from ggufhub.sources import open_source
from ggufhub.sources.base import ByteSource
from ggufhub.sources.policy import AddressPolicy
from ggufhub.sources.upload import UploadSource
from workers.app import app
from workers.base import RowTask
from workers.job import Job

POLICY = AddressPolicy.from_environment()
"""Read once, at the start, where a wrong value is noticed by whoever set it."""


@app.task(base=RowTask, name=queue.INSPECT)
def inspect(job: Job) -> None:
    """Inspect the row of ``job`` and store its report, or ask for more bytes of its upload."""
    row = Inspection.objects.select_related("upload").get(pk=job.id)
    limits = Limits()
    try:
        with _open(row, limits) as source:
            report = build.inspect(
                source, limits=limits, profile=row.profile, progress=job.progress
            )
    except BytesMissing as missing:
        services.need_bytes(job.id, job.attempt, offset=missing.offset, length=missing.length)
        return
    services.finish(job.id, job.attempt, report)


def _open(row: Inspection, limits: Limits) -> ByteSource:
    if row.source_kind == "url":
        return open_source(row.target, policy=POLICY, limits=limits)
    if row.upload is None or not row.upload.path.exists():
        raise SourceError("not_found", "The upload was deleted before it was inspected.")
    return UploadSource(row.upload.path, row.upload.name, row.upload.size)
