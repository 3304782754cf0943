"""Rows for tests, made through the services like everybody's."""

import io
from pathlib import Path
from typing import Any

from ggufhub.hub import headers, services, uploads
from ggufhub.hub.headers import Kept
from ggufhub.hub.models import Inspection, Upload
from ggufhub.hub.models import Report as StoredReport
from ggufhub.report import build
from ggufhub.report.document import Report
from ggufhub.sources.upload import UploadSource
from tests.builders import vocabulary
from workers.recording import Recorder, Tape


def upload_of(data: bytes, *, name: str = "model.gguf", owner: Any = None) -> Upload:
    """A complete upload."""
    upload = uploads.create_upload(owner=owner, name=name, size=len(data))
    uploads.append(upload, offset=0, stream=io.BytesIO(data), length=len(data))
    return upload


def header_upload(data: bytes, size: int, *, sent: int = 0, name: str = "big.gguf") -> Upload:
    """A header-only upload of a file of ``size`` bytes that has sent the first ``sent``."""
    upload = uploads.create_upload(owner=None, name=name, size=size, header_only=True)
    uploads.append(upload, offset=0, stream=io.BytesIO(data[:sent]), length=sent)
    return upload


def queued(data: bytes = b"GGUF", *, name: str = "model.gguf", owner: Any = None) -> Inspection:
    """A queued inspection of an upload."""
    upload = upload_of(data, name=name, owner=owner)
    return services.submit_upload(owner=owner, upload=upload)


def built(data: bytes, directory: Path) -> Report:
    """What the core says about ``data``."""
    path = directory / "built.gguf"
    path.write_bytes(data)
    with UploadSource(path, "built.gguf", len(data)) as source:
        return build.inspect(source)


def kept(data: bytes, directory: Path) -> tuple[Report, Kept]:
    """What the core says about ``data``, and its header stored."""
    path = directory / "kept.gguf"
    path.write_bytes(data)
    with Tape(directory) as tape, UploadSource(path, "model.gguf", len(data)) as source:
        report = build.inspect(Recorder(source, tape))
        return report, headers.keep(tape.files, tape.about, report.document)


def finished(report: Report, header: Kept | None = None, *, owner: Any = None) -> StoredReport:
    """A finished inspection's stored report."""
    inspection = queued(owner=owner)
    attempt = services.claim(inspection.pk)
    assert attempt is not None
    assert services.finish(inspection.pk, attempt, report, header)
    return StoredReport.objects.get(pk=inspection.pk)


def finished_vocabulary(directory: Path, count: int = 10_000) -> StoredReport:
    """A stored report with arrays of ``count`` elements in several chunks."""
    return finished(built(vocabulary(count).build(), directory))
