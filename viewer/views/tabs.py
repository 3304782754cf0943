"""The tabs of a report beside the overview."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from ggufhub.hub import selectors
from ggufhub.hub.models import Inspection
from viewer import commands, present, source
from viewer.paging import Page, whole_number
from viewer.views.common import get_inspection
from viewer.views.conversation import conversation_form
from viewer.views.integrity import integrity
from viewer.views.layout import layout
from viewer.views.memory import memory
from viewer.views.report_page import kept, render_report
from viewer.views.shards import shards
from viewer.views.tensors import tensors
from viewer.views.tokenizer import tokenizer

ROWS = 200
EXPORTS = (
    ("text", "text"),
    ("markdown", "Markdown"),
    ("sarif", "SARIF"),
    ("junit", "JUnit"),
    ("github", "GitHub annotations"),
)
"""Formats of a report besides JSON, as the API names them and as people do."""


@require_safe
@kept
def tab(request: HttpRequest, inspection_id: UUID, name: str) -> HttpResponse:
    """One tab; before there is a report, the inspection's own page says why."""
    make = _TABS.get(name)
    if make is None:
        raise Http404("There is no such tab.")
    row = get_inspection(request, inspection_id)
    if not hasattr(row, "report"):
        return redirect("viewer:inspection", row.pk)
    return render_report(request, row, name, make(request, row))


def _metadata(request: HttpRequest, row: Inspection) -> dict[str, Any]:
    q = request.GET.get("q", "")
    entries = selectors.metadata(row.report, q=q)
    start = whole_number(request.GET.get("start"))
    wanted = request.GET.get("key")
    if wanted is not None:
        index = next((i for i, entry in enumerate(entries) if entry["key"] == wanted), 0)
        start = index // ROWS * ROWS
    page = Page(start, ROWS, len(entries))
    rows = [present.entry(row.pk, entry) for entry in entries[start : start + ROWS]]
    absent = wanted if wanted and all(entry["key"] != wanted for entry in entries) else None
    return {"q": q, "entries": rows, "page": page, "absent": absent}


def _template(request: HttpRequest, row: Inspection) -> dict[str, Any]:
    document = selectors.document(row.report)
    templates = document["templates"]
    name = request.GET.get("name")
    names = [template["name"] for template in templates]
    chosen = templates[names.index(name)] if name in names else templates[0] if templates else None
    if chosen is None:
        return {"templates": [], "chosen": None}
    about = [one for one in document["findings"] if _is_about(one["place"], chosen["name"])]
    lines, cut = source.numbered(chosen["text"], about)
    whole = [one for one in about if not one["place"].get("line")]
    context = {"templates": templates, "chosen": chosen, "lines": lines, "cut": cut}
    abilities = chosen.get("capabilities") or {}
    return (
        context
        | conversation_form(request, row)
        | {
            "abilities": [
                (name.replace("_", " ").capitalize(), able) for name, able in abilities.items()
            ],
            "findings": present.findings(row.pk, document, whole),
        }
    )


def _is_about(place: dict[str, Any], template: str) -> bool:
    key = place.get("key") or ""
    return key.startswith(present.TEMPLATE) and present.template_name(key) == template


def _raw(request: HttpRequest, row: Inspection) -> dict[str, Any]:
    document = selectors.document(row.report)
    report_path = reverse("api:report", args=[row.pk])
    return {
        "json_url": report_path,
        "formats": EXPORTS,
        "badge_url": request.build_absolute_uri(reverse("api:badge", args=[row.pk])),
        "page_url": request.build_absolute_uri(reverse("viewer:inspection", args=[row.pk])),
        "curl_url": request.build_absolute_uri(report_path),
        "command": commands.check(row, document),
        "submit": commands.submit(row, request.build_absolute_uri(reverse("api:inspections"))),
        "programs": commands.run(row, document),
    }


_TABS: dict[str, Callable[[HttpRequest, Inspection], dict[str, Any]]] = {
    "metadata": _metadata,
    "tensors": tensors,
    "tokenizer": tokenizer,
    "template": _template,
    "memory": memory,
    "layout": layout,
    "integrity": integrity,
    "shards": shards,
    "raw": _raw,
}
