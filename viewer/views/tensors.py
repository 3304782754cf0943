"""The Tensors tab: the table of what the header says, and with ``?show=values`` that of what the
bytes hold."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest

from ggufhub.hub import selectors
from ggufhub.hub.models import Inspection
from viewer import paths, tensor_values
from viewer.paging import Page, whole_number

ROWS = 200
VALUES = "values"
"""What ``show`` says to see them."""

SORTS = (
    ("name", "Name"),
    ("type", "Type"),
    ("elements", "Elements"),
    ("bytes", "Bytes"),
    ("offset", "Place"),
)


def tensors(request: HttpRequest, row: Inspection) -> dict[str, Any]:
    """Context of the tab."""
    document = selectors.document(row.report)
    show = VALUES if request.GET.get("show") == VALUES else ""
    chosen = {
        "q": request.GET.get("q", ""),
        "type": request.GET.get("type", ""),
        "block": whole_number(request.GET.get("block"), None),
    }
    sort = request.GET.get("sort", "offset")
    start = whole_number(request.GET.get("start")) or 0
    make = _values if show else _table
    return {
        **chosen,
        **make(row, document, chosen, sort, start),
        "show": show,
        "sort": sort,
        "types": sorted({tensor["type"] for tensor in document["tensors"]}),
        "blocks": sorted({tensor["block"] for tensor in document["tensors"]} - {None}),
        "filtered": any(value not in ("", None) for value in chosen.values()),
    }


def _table(
    row: Inspection, document: dict[str, Any], chosen: dict[str, Any], sort: str, start: int
) -> dict[str, Any]:
    found = selectors.tensors(row.report, **chosen, sort=sort, start=start, limit=ROWS)
    rows = [
        tensor | {"anchor": paths.anchor("t", tensor["name"]), **_data(row.pk, document, tensor)}
        for tensor in found["items"]
    ]
    return {
        "rows": rows,
        "page": Page(start, ROWS, found["total"]),
        "sorts": [sort_link(field, title, sort) for field, title in SORTS],
    }


def _values(
    row: Inspection, document: dict[str, Any], chosen: dict[str, Any], sort: str, start: int
) -> dict[str, Any]:
    """The same for what was seen of the data; ``read`` is False where nothing was."""
    every = document["tensors"]
    found = selectors.tensors(row.report, **chosen, limit=len(every))["items"]
    ordered = tensor_values.ordered(found, sort)
    first = tensor_values.first_of_equals(every)
    hits = tensor_values.hits(document["findings"])
    rows = [
        tensor_values.shown(tensor, first)
        | {
            "anchor": paths.anchor("t", tensor["name"]),
            "data_url": paths.tensor_data(row.pk, tensor),
            "hits": hits.get(tensor["name"], ()),
        }
        for tensor in ordered[start : start + ROWS]
    ]
    for one in rows:
        one["same_url"] = paths.tab(row.pk, "tensors", show=VALUES, q=one["same"] or "")
    return {
        "rows": rows,
        "page": Page(start, ROWS, len(found)),
        "sorts": [
            sort_link(field, title, sort) | {"number": field != "name"}
            for field, title in tensor_values.SORTS
        ],
        "read": any("data" in tensor for tensor in every),
        "sampled": tensor_values.SAMPLE,
    }


def sort_link(field: str, title: str, current: str) -> dict[str, Any]:
    """A column head: its next order, and what ``aria-sort`` says of the present one."""
    if current == field:
        return {"title": title, "next": f"-{field}", "aria": "ascending"}
    return {"title": title, "next": field, "aria": "descending" if current == f"-{field}" else ""}


def _data(inspection_id: UUID, document: dict[str, Any], tensor: dict[str, Any]) -> dict[str, Any]:
    """The byte where a tensor's data starts (None in other shards than the first), and its
    address."""
    base = document["format"]["data_offset"]
    elsewhere = tensor.get("file", document["files"][0]["name"]) != document["files"][0]["name"]
    if base is None or elsewhere:
        return {"at": None, "data_url": paths.tensor_data(inspection_id, tensor)}
    at = base + tensor["offset"]
    return {"at": at, "data_url": paths.byte(inspection_id, at)}
