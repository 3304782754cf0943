"""The Integrity tab: digests of the files and of the tensors, and the signature."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from ggufhub.hub import selectors
from ggufhub.hub.models import Inspection
from ggufhub.integrity.tensor_digests import PRINTED, UUID5, manifest_lines
from ggufhub.limits import FULL
from viewer import commands, paths
from viewer.evidence import digests, standing
from viewer.paging import Page, whole_number
from viewer.text import visible
from viewer.views.common import get_inspection, private

ROWS = 200


def integrity(request: HttpRequest, row: Inspection) -> dict[str, Any]:
    """Context of the tab."""
    document = selectors.document(row.report)
    files = document["files"]
    q = request.GET.get("q", "")
    start = whole_number(request.GET.get("start")) or 0
    every = document["tensors"]
    found = selectors.tensors(row.report, q=q, limit=len(every))["items"]
    read = [tensor for tensor in found if "data" in tensor]
    return {
        "q": q,
        "rows": [
            {
                "name": tensor["name"],
                "url": paths.tensor(row.pk, tensor["name"]),
                "digests": _ordered(tensor["data"]["digests"]),
            }
            for tensor in read[start : start + ROWS]
        ],
        "page": Page(start, ROWS, len(read)),
        "files": [file | {"given": digests(file)} for file in files],
        "whole": [
            {"name": file["name"], "digests": _ordered(known)}
            for file in files
            if (known := file.get("tensor_digests"))
        ],
        "signatures": [
            known | {"standing": standing(known)}
            for file in files
            if (known := file.get("signature"))
        ],
        "read": any("data" in tensor for tensor in every),
        "full": document.get("depth") == FULL,
        "manifest_url": reverse("viewer:manifest", args=[row.pk]),
        "hashes": commands.hashes(row, document),
    }


def _ordered(known: dict[str, str]) -> list[tuple[str, str]]:
    """Algorithm and digest, in the order of llama-gguf-hash."""
    return [(name, known[name]) for name in (*PRINTED, UUID5) if name in known]


@require_safe
def manifest(request: HttpRequest, inspection_id: UUID) -> HttpResponse:
    """What is known of the tensors as the lines that llama-gguf-hash prints and checks."""
    row = get_inspection(request, inspection_id)
    if not hasattr(row, "report"):
        return redirect("viewer:inspection", row.pk)
    document = selectors.document(row.report)
    text = "".join(f"{line}\n" for line in _lines(document))
    answer = HttpResponse(text, content_type="text/plain; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="tensors.manifest"'
    return private(answer)


def _lines(document: dict[str, Any]) -> list[str]:
    """A name that holds a line feed is written out: it must not become a line of its own."""
    first = document["files"][0]["name"]
    lines: list[str] = []
    for file in document["files"]:
        rows = [
            (visible(tensor["name"]), tensor["data"]["digests"])
            for tensor in document["tensors"]
            if "data" in tensor and tensor.get("file", first) == file["name"]
        ]
        lines += manifest_lines(visible(file["name"]), rows, file.get("tensor_digests") or {})
    return lines
