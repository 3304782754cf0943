"""Compare two reports: choose the other one, then see what changed."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from ggufhub.hub import selectors
from ggufhub.hub.models import Inspection
from ggufhub.report.compare import compare as compare_documents
from viewer import present
from viewer.views.common import get_inspection, private

CHOICES = 50
MOST_ROWS = 500
"""Rows of one list; a requantised model changes the type of every tensor."""


@require_safe
def choose(request: HttpRequest, inspection_id: UUID) -> HttpResponse:
    """The reports this one can be compared with, newest first."""
    row = get_inspection(request, inspection_id)
    others = [
        other
        for other in selectors.recent(request.user, CHOICES)
        if hasattr(other, "report") and other.pk != row.pk
    ]
    return private(render(request, "viewer/choose.html", {"inspection": row, "others": others}))


@require_safe
def compare(request: HttpRequest, before_id: UUID, after_id: UUID) -> HttpResponse:
    """What changed from the first report to the second."""
    before, after = get_inspection(request, before_id), get_inspection(request, after_id)
    missing = [row for row in (before, after) if not hasattr(row, "report")]
    if missing:
        context: dict[str, Any] = {"missing": missing, "before": before, "after": after}
        return private(render(request, "viewer/compare.html", context, status=409))
    changes = compare_documents(selectors.document(before.report), selectors.document(after.report))
    context = {
        "before": before,
        "after": after,
        "changes": changes,
        "summary": [_fact(row) for row in changes["summary"]],
        "metadata": _rows(changes["metadata"], "key"),
        "tensors": _rows(changes["tensors"], "name"),
        "findings": _findings(before, after, changes["findings"]),
        "json_url": reverse("api:compare", args=[before.pk, after.pk]),
    }
    return private(render(request, "viewer/compare.html", context))


def _fact(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"title": row["what"].replace("_", " ").capitalize()}


def _rows(part: dict[str, Any], name: str) -> dict[str, Any]:
    """Added, removed and changed entries as rows of one table, cut where there are too many."""
    rows = [{"sign": "+", "name": one[name], "before": None, "after": one} for one in part["added"]]
    rows += [
        {"sign": "−", "name": one[name], "before": one, "after": None} for one in part["removed"]
    ]
    rows += [
        {"sign": "~", "name": one[name], "before": one["before"], "after": one["after"]}
        for one in part["changed"]
    ]
    return {"rows": rows[:MOST_ROWS], "more": max(len(rows) - MOST_ROWS, 0), "count": len(rows)}


def _findings(before: Inspection, after: Inspection, part: dict[str, Any]) -> dict[str, Any]:
    """Findings new and gone, each with links into the report it stands in."""
    sides = (("new", after), ("gone", before))
    return {
        name: present.findings(row.pk, selectors.document(row.report), part[name])
        for name, row in sides
    }
