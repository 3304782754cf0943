"""Reads: what a user may see, and the parts of a report.

Documents come from a small cache and are shared: treat what these functions return as read-only.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from threading import Lock
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from ggufhub.hub import headers
from ggufhub.hub.models import ArrayBlob, ArrayChunk, Document, Inspection, Report, State, Upload
from ggufhub.hub.owners import owned
from ggufhub.report import codec

TENSOR_SORTS = ("offset", "name", "type", "bytes", "elements")
"""What tensors may be sorted by; a leading ``-`` reverses."""


READ_AHEAD = 16
"""Chunks of an array that one trip to the database brings; one of tokens has about 30 KB."""


class NoSuchArray(LookupError):
    """The report has no such key, or the key holds no array."""


def visible(user: Any) -> QuerySet[Inspection]:
    """The inspections ``user`` may see: all in open mode and for superusers, else their own."""
    rows = Inspection.objects.select_related("report", "needs_upload")
    visible_rows: QuerySet[Inspection] = owned(rows, user, superuser=True)
    return visible_rows


def recent(user: Any, limit: int) -> list[Inspection]:
    """The newest ``limit`` inspections, their reports joined; without those of audits."""
    return list(visible(user).filter(audited=False)[:limit])


def get_inspection(user: Any, id: UUID | str) -> Inspection:
    """One inspection with its report joined; ``Inspection.DoesNotExist`` if hidden."""
    return visible(user).get(pk=id)


def get_report(user: Any, id: UUID | str) -> Report:
    """The report of one inspection, with its id and digest alone: what its parts are asked for by.

    ``Report.DoesNotExist`` if the inspection is hidden or has none.
    """
    rows = Report.objects.only("document_id")
    report: Report = owned(rows, user, superuser=True, owner="inspection__owner").get(pk=id)
    return report


def ahead(row: Inspection) -> int | None:
    """How many rows of the same lane have waited longer for a worker than ``row``; None unless a
    worker is all it waits for."""
    if row.state != State.QUEUED or row.needs or row.not_before:
        return None
    waiting = Inspection.objects.filter(state=State.QUEUED, lane=row.lane, needs_until=None)
    return waiting.filter(created__lt=row.created).count()


LARGE = 2 * 1024**2
"""Bytes of a document's JSON from which on it is not kept for the next request: decoded it takes
five times as much. Eight thousand tensors have so much, and no published model has as many."""

_decoding = Lock()
"""Large documents are decoded one after the other."""


def document_json(report: Report) -> bytes:
    """The whole stored document as JSON text."""
    return _kept_json(report.pk) or _json(report.pk)


def document(report: Report) -> dict[str, Any]:
    """The whole stored document, decoded once for each ``report`` object; those that are not
    large are kept a while for others, for reports never change."""
    if report.decoded is None:
        report.decoded = _kept(report.pk) or _decoded(report.pk)
    return report.decoded


def _decoded(report_id: UUID) -> dict[str, Any]:
    with _decoding:
        found: dict[str, Any] = json.loads(_json(report_id))
    return found


def _json(report_id: UUID) -> bytes:
    stored = Document.objects.values_list("data", flat=True).get(reports=report_id)
    return codec.document_json(bytes(stored))


@lru_cache(maxsize=16)
def _kept_json(report_id: UUID) -> bytes | None:
    text = _json(report_id)
    return text if len(text) <= LARGE else None


@lru_cache(maxsize=16)
def _kept(report_id: UUID) -> dict[str, Any] | None:
    text = _kept_json(report_id)
    return None if text is None else json.loads(text)


def metadata(report: Report, *, q: str = "") -> list[dict[str, Any]]:
    """The keys whose name or inline text holds ``q``, in file order; upper and lower case match."""
    entries: list[dict[str, Any]] = document(report)["metadata"]
    wanted = q.casefold()
    if not wanted:
        return entries
    return [entry for entry in entries if _entry_holds(entry, wanted)]


def _entry_holds(entry: dict[str, Any], wanted: str) -> bool:
    value = entry["value"]
    if isinstance(value, dict):
        # An array is searched by ``array_search``; an undecodable string has a readable text.
        value = value.get("text", "")
    return wanted in entry["key"].casefold() or wanted in str(value).casefold()


def _array_entry(report: Report, key: str) -> dict[str, Any]:
    for entry in document(report)["metadata"]:
        if entry["key"] == key and isinstance(entry["value"], dict) and "count" in entry["value"]:
            return entry
    raise NoSuchArray(key)


def _chunk_reader(blob: ArrayBlob) -> Callable[[int], bytes]:
    rows = ArrayChunk.objects.filter(blob=blob)
    return lambda position: bytes(rows.values_list("data", flat=True).get(position=position))


def _chunks(blob: ArrayBlob, **where: Any) -> Iterator[tuple[int, bytes]]:
    """The stored chunks in order, each with its position, read by one query as they are needed."""
    rows = ArrayChunk.objects.filter(blob=blob, **where).order_by("position")
    for position, data in rows.values_list("position", "data").iterator(chunk_size=READ_AHEAD):
        yield position, bytes(data)


def array_page(report: Report, key: str, *, start: int = 0, limit: int = 100) -> dict[str, Any]:
    """Elements ``start`` to ``start + limit`` of one array; ``NoSuchArray`` if there is none."""
    entry = _array_entry(report, key)
    if "array" in entry:
        blob = ArrayBlob.objects.get(digest=entry["array"])
        items = codec.page(_chunk_reader(blob), blob.element_type, blob.count, start, limit)
    else:
        items = entry["value"]["first"][start : start + limit]
    shared = {"key": key, "type": entry["type"], "count": entry["value"]["count"]}
    return {**shared, "start": start, "items": items}


def array_elements(report: Report, key: str, indexes: Iterable[int]) -> dict[int, Any]:
    """The elements of one array by index; those beyond what is kept are left out.

    Hits of a search lie anywhere; each chunk that holds some is read once. A key that holds no
    array has no elements.
    """
    try:
        entry = _array_entry(report, key)
    except NoSuchArray:
        return {}
    if "array" not in entry:
        shown = entry["value"]["first"]
        return {index: shown[index] for index in indexes if index < len(shown)}
    blob = ArrayBlob.objects.get(digest=entry["array"])
    places: dict[int, list[int]] = {}
    for index in indexes:
        if index < blob.count:
            places.setdefault(index // codec.CHUNK, []).append(index % codec.CHUNK)
    found: dict[int, Any] = {}
    for position, data in _chunks(blob, position__in=list(places)):
        wanted = places[position]
        at = (position * codec.CHUNK + place for place in wanted)
        found.update(zip(at, codec.read_chunk(data, blob.element_type, wanted), strict=True))
    return found


def array_search(
    report: Report, key: str, *, q: str, start: int = 0, limit: int = 100
) -> dict[str, Any]:
    """The elements that hold ``q`` as ``[index, element]`` pairs, hits ``start`` onwards."""
    entry = _array_entry(report, key)
    if "array" in entry:
        blob = ArrayBlob.objects.get(digest=entry["array"])
        chunks = (data for _, data in _chunks(blob))
        total, hits = codec.search(chunks, blob.element_type, q, start, limit)
    else:
        total, hits = codec.search_shown(entry["value"]["first"], q, start, limit)
    shared = {"key": key, "type": entry["type"], "count": entry["value"]["count"]}
    return {**shared, "total": total, "start": start, "items": [list(hit) for hit in hits]}


def tensors(
    report: Report,
    *,
    q: str = "",
    type: str = "",
    block: int | None = None,
    sort: str = "offset",
    start: int = 0,
    limit: int = 200,
) -> dict[str, Any]:
    """A page of the tensors that match every filter given; ``total`` counts all that match."""
    wanted = q.casefold()
    rows = [
        tensor
        for tensor in document(report)["tensors"]
        if (not wanted or wanted in tensor["name"].casefold())
        and (not type or tensor["type"] == type)
        and (block is None or tensor["block"] == block)
    ]
    field = sort.removeprefix("-")
    if field not in TENSOR_SORTS:
        field = "offset"
    # A fact the file does not give is null: it sorts first instead of failing the comparison.
    rows.sort(key=lambda row: (row[field] is not None, row[field]), reverse=sort.startswith("-"))
    return {"total": len(rows), "start": start, "items": rows[start : start + limit]}


def header_bytes(inspection: Inspection, offset: int, length: int, *, file: str = "") -> bytes:
    """Up to ``length`` bytes from ``offset`` of what was read for the report of ``inspection``.

    ``file`` names one of its files, '' the one that was asked for. Fewer bytes come where what is
    kept ends. ``headers.NotKept`` where nothing is kept of this file, ``headers.NotThere`` where
    not from this place.
    """
    report: Report | None = getattr(inspection, "report", None)
    if report is None:
        raise headers.NotKept
    files, _ = headers.open_kept(report)
    for kept in files:
        if file in ("", kept.name):
            return kept.read(offset, length)
    raise headers.NotKept


def findings(report: Report, *, severity: str = "", rule: str = "") -> list[dict[str, Any]]:
    """The findings in the document's own order, narrowed to a severity and a rule if given."""
    return [
        finding
        for finding in document(report)["findings"]
        if (not severity or finding["severity"] == severity)
        and (not rule or finding["rule"] == rule)
    ]


def get_upload(user: Any, id: UUID | str) -> Upload:
    """One upload of ``user`` (any, in open mode); ``Upload.DoesNotExist`` if hidden."""
    return _uploads(user).get(pk=id)


def get_uploads(user: Any, ids: Sequence[UUID]) -> list[Upload]:
    """The uploads with these ids, in their order; ``Upload.DoesNotExist`` if one is hidden."""
    found = _uploads(user).in_bulk(ids)
    if not found.keys() >= set(ids):
        raise Upload.DoesNotExist
    return [found[id] for id in ids]


def _uploads(user: Any) -> QuerySet[Upload]:
    rows: QuerySet[Upload] = owned(Upload.objects.all(), user)
    return rows
