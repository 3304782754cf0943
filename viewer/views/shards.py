"""The Shards tab: the files of a split model, what each holds and what is said of it."""

from collections import Counter
from typing import Any

from django.http import Http404, HttpRequest

from ggufhub.hub import selectors
from ggufhub.hub.models import Inspection
from viewer import paths
from viewer.present import first_by_key, layout_of

COUNT_KEY = "split.count"


def shards(request: HttpRequest, row: Inspection) -> dict[str, Any]:
    """Context of the tab; 404 where the model is one file."""
    document = selectors.document(row.report)
    files = document["files"]
    if len(files) < 2:
        raise Http404("This model is one file.")
    declared = first_by_key(document["metadata"]).get(COUNT_KEY, {}).get("value")
    tensors = Counter(one.get("file") for one in document["tensors"])
    held: Counter[str] = Counter()
    for one in document["tensors"]:
        held[one.get("file", "")] += one["bytes"] or 0
    found = Counter(finding["file"] for finding in document["findings"])
    rows = [
        file
        | {
            "tensors": tensors[file["name"]],
            "tensor_bytes": held[file["name"]],
            "findings": found[file["name"]],
            "layout_url": paths.tab(row.pk, "layout", file=file["name"])
            if layout_of(document, file["name"])
            else "",
        }
        for file in files
    ]
    sizes = [file["size"] for file in files]
    return {
        "rows": rows,
        "declared": declared if isinstance(declared, int) else None,
        "complete": declared == len(files),
        "total": None if None in sizes else sum(sizes),
    }
