"""From the report a worker built to rows: the document, its copies, its arrays."""

import hashlib
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ggufhub.hub.models import ArrayBlob, ArrayChunk, Finding, Report, TypeCount
from ggufhub.hub.values import clamp, clip
from ggufhub.report import codec
from ggufhub.report.codec import PackedArray
from ggufhub.report.document import Report as BuiltReport

BATCH = 200


@dataclass(frozen=True, slots=True)
class Packed:
    """A report made ready outside the transaction, so that the write lock is held briefly."""

    document: dict[str, Any]
    encoded: bytes
    digest: str
    arrays: tuple[PackedArray, ...]
    size: int | None
    requests: int
    bytes_read: int


def pack(report: BuiltReport) -> Packed:
    """Encode the document and gather the arrays, each once and in one order for all workers."""
    document = report.linked()
    encoded = codec.encode_document(document)
    arrays = {array.digest: array for array in report.arrays.values()}
    files = document["files"]
    return Packed(
        document=document,
        encoded=encoded,
        digest=hashlib.sha256(encoded).hexdigest(),
        # Two transactions that insert the same arrays in different orders would deadlock.
        arrays=tuple(arrays[digest] for digest in sorted(arrays)),
        size=clamp(files[0]["size"]) if files else None,
        requests=document["reads"]["requests"],
        bytes_read=document["reads"]["bytes"],
    )


def store(inspection_id: UUID | str, packed: Packed) -> Report:
    """Write every row of one report. Call it inside the transaction that fences it."""
    report = Report.objects.create(inspection_id=inspection_id, **_columns(packed))
    report.arrays.set([_store_array(array) for array in packed.arrays])
    Finding.objects.bulk_create(
        (_finding_row(report, finding) for finding in packed.document["findings"]),
        batch_size=BATCH,
    )
    TypeCount.objects.bulk_create(_type_rows(report, packed.document["types"]))
    return report


def _columns(packed: Packed) -> dict[str, Any]:
    document = packed.document
    summary = document["summary"]
    severities = [finding["severity"] for finding in document["findings"]]
    return {
        "document": packed.encoded,
        "digest": packed.digest,
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


def _store_array(array: PackedArray) -> ArrayBlob:
    """The stored blob with this content, made if it is new."""
    blob, created = ArrayBlob.objects.get_or_create(
        digest=array.digest,
        defaults={"element_type": array.element_type, "count": array.count},
    )
    if created:
        ArrayChunk.objects.bulk_create(
            (
                ArrayChunk(blob=blob, position=position, data=data)
                for position, data in enumerate(array.chunks)
            ),
            batch_size=BATCH,
        )
    return blob


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
