"""One inspection: its progress, its end, and the first tab of its report."""

from collections import Counter
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from ggufhub.hub import selectors, services
from ggufhub.hub.models import Inspection
from ggufhub.report.render.words import SEVERITIES, counted, worst_first
from viewer import filemap, paths, present, svg
from viewer.paging import Page, whole_number
from viewer.ramp import by_bits, ramp
from viewer.views.common import get_inspection, private
from viewer.views.report_page import kept, render_report

FIRST_KEYS = 14
"""Metadata keys on the overview."""

MOST_FINDINGS = 100
"""Findings on one page; real files have fewer than twenty, a hostile one ten thousand."""

STOP_POLLING = 286
"""The answer after which a poller asks no more; any 2xx the standard does not use would do."""


@require_safe
@kept
def inspection(request: HttpRequest, inspection_id: UUID) -> HttpResponse:
    """Progress while it runs, the reason if it stopped, else the overview of the report."""
    row = get_inspection(request, inspection_id)
    if not row.is_final:
        return private(render(request, "viewer/progress.html", _waiting(row)))
    if not hasattr(row, "report"):
        return private(render(request, "viewer/stopped.html", {"inspection": row}))
    return render_report(request, row, "", _overview(request, row))


@require_safe
def status(request: HttpRequest, inspection_id: UUID) -> HttpResponse:
    """The part of the progress page that changes; status 286 once nothing will change any more."""
    row = get_inspection(request, inspection_id)
    code = STOP_POLLING if row.is_final else 200
    return private(render(request, "viewer/_status.html", _waiting(row), status=code))


def _waiting(row: Inspection) -> dict[str, Any]:
    return {"inspection": row, "ahead": selectors.ahead(row)}


@require_POST
def cancel(request: HttpRequest, inspection_id: UUID) -> HttpResponse:
    """Stop an inspection; one that has already ended stays as it is."""
    row = get_inspection(request, inspection_id)
    services.cancel(row)
    return redirect("viewer:inspection", row.pk)


def _overview(request: HttpRequest, row: Inspection) -> dict[str, Any]:
    document = selectors.document(row.report)
    colours = ramp(document["types"])
    rows, shown, blocks = svg.heat_rows(document["tensors"])

    def link(role: str, kind: str) -> str:
        return paths.tab(row.pk, "tensors", q=f".{role}", type=kind)

    return {
        **_findings(request, row, document),
        "not_evaluated": present.not_evaluated(document["not_evaluated"]),
        "heat": svg.heat_map(rows, shown, colours, link) if rows else "",
        "heat_rows": rows,
        "blocks_shown": shown,
        "blocks": blocks,
        "entries": [present.entry(row.pk, entry) for entry in document["metadata"][:FIRST_KEYS]],
        "more_keys": max(0, len(document["metadata"]) - FIRST_KEYS),
        **_types(row, document["types"], colours),
        **_map(row, document),
    }


def _findings(request: HttpRequest, row: Inspection, document: dict[str, Any]) -> dict[str, Any]:
    """A page of the findings, the worst first, and how many there are of each severity."""
    rows = worst_first(document["findings"])
    numbers = Counter(finding["severity"] for finding in rows)
    severity = request.GET.get("severity", "")
    if severity in numbers:
        rows = [finding for finding in rows if finding["severity"] == severity]
    start = whole_number(request.GET.get("start")) or 0
    return {
        "findings": present.findings(row.pk, document, rows[start : start + MOST_FINDINGS]),
        "severity": severity,
        "severities": [
            (name, counted(numbers[name], noun))
            for name, noun in SEVERITIES.items()
            if numbers[name]
        ],
        "page": Page(start, MOST_FINDINGS, len(rows)),
    }


def _types(row: Inspection, types: list[dict[str, Any]], colours: dict[str, str]) -> dict[str, Any]:
    legend = [
        one | {"css": colours[one["type"]], "url": paths.tab(row.pk, "tensors", type=one["type"])}
        for one in by_bits(types)
    ]
    segments = [svg.Segment(one["type"], one["bytes"], one["css"], one["url"]) for one in legend]
    return {
        "types": legend,
        "type_bytes": sum(share["bytes"] for share in types),
        "mix": svg.bar(segments, "Bytes by tensor type", height=14, least=3),
    }


def _map(row: Inspection, document: dict[str, Any]) -> dict[str, Any]:
    segments = filemap.overview(document)
    return {
        "map": svg.bar(segments, "Map of the file, to scale", height=26, least=6),
        "map_legend": segments,
    }
