"""From the report a worker built to rows: the document, its copies, its arrays."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ggufhub.hub import headers, shared
from ggufhub.hub.headers import Kept
from ggufhub.hub.models import Finding, Report, TypeCount
from ggufhub.hub.values import clamp, clip
from ggufhub.report import codec
from ggufhub.report.document import Report as BuiltReport


@dataclass(frozen=True, slots=True)
class Packed:
    """A report made ready outside the transaction, so that the write lock is held briefly.

    ``digest`` and ``arrays`` are the keys of its document and its arrays, which are stored
    already; ``header`` tells where the bytes of its header are, None where they were not kept.
    """

    document: dict[str, Any]
    digest: str
    arrays: list[int]
    header: Kept | None
    size: int | None
    requests: int
    bytes_read: int


def pack(report: BuiltReport, header: Kept | None = None) -> Packed:
    """Store the document and the arrays it points at."""
    document = report.linked()
    files = document["files"]
    return Packed(
        document=document,
        digest=shared.store_document(codec.encode_document(document)),
        arrays=shared.store_arrays(report.arrays.values()),
        header=header,
        size=clamp(files[0]["size"]) if files else None,
        requests=document["reads"]["requests"],
        bytes_read=document["reads"]["bytes"],
    )


def again(earlier: Report, *, requests: int, bytes_read: int) -> Packed:
    """The same report made ready for another inspection, which cost this much."""
    shared.keep_document(earlier.digest)
    document = codec.decode_document(bytes(earlier.document.data))
    files = document["files"]
    arrays = list(earlier.arrays.order_by("digest").values_list("pk", flat=True))
    return Packed(
        document=document,
        digest=earlier.digest,
        arrays=arrays,
        header=headers.of(earlier),
        size=clamp(files[0]["size"]) if files else None,
        requests=requests,
        bytes_read=bytes_read,
    )


def store(inspection_id: UUID | str, packed: Packed) -> Report:
    """Write every row of one report. Call it inside the transaction that fences it."""
    report = Report.objects.create(inspection_id=inspection_id, **_columns(packed))
    _link_arrays(report, packed.arrays)
    Finding.objects.bulk_create(
        (_finding_row(report, finding) for finding in packed.document["findings"]),
        batch_size=shared.BATCH,
    )
    TypeCount.objects.bulk_create(_type_rows(report, packed.document["types"]))
    if packed.header is not None:
        headers.attach(report, packed.header)
    return report


def _link_arrays(report: Report, keys: Iterable[int]) -> None:
    link = Report.arrays.through
    link.objects.bulk_create(
        (link(report_id=report.pk, arrayblob_id=key) for key in keys), batch_size=shared.BATCH
    )


def _columns(packed: Packed) -> dict[str, Any]:
    document = packed.document
    summary = document["summary"]
    severities = [finding["severity"] for finding in document["findings"]]
    return {
        "document_id": packed.digest,
        "rule_set": clip(document["rule_set"]["version"], 64),
        "verdict": clip(document["verdict"], 10),
        "kind": clip(document["kind"], 32),
        "errors": severities.count("error"),
        "warnings": severities.count("warning"),
        "infos": severities.count("info"),
        "format_name": clip(document["format"]["name"], 16),
        "architecture": clip(summary["architecture"], 64),
        "quant": clip(summary["quant"], 32),
        "parameters": clamp(summary["parameters"]),
    }


def _finding_row(report: Report, finding: dict[str, Any]) -> Finding:
    return Finding(
        report=report,
        rule=clip(finding["rule"], 32),
        severity=clip(finding["severity"], 8),
        message=clip(finding["message"], 2000),
        fingerprint=clip(finding["fingerprint"], 64),
    )


def _type_rows(report: Report, types: list[dict[str, Any]]) -> list[TypeCount]:
    return [
        TypeCount(
            report=report,
            type=clip(row["type"], 32),
            tensors=clamp(row["tensors"]) or 0,
            bytes=clamp(row["bytes"]) or 0,
            elements=clamp(row["elements"]) or 0,
        )
        for row in types
    ]
