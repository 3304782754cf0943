"""Compare two reports: choose the other one, then see what changed."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from ggufhub.hub import selectors
from ggufhub.hub.models import Inspection
from ggufhub.report.compare import DIGEST
from ggufhub.report.compare import compare as compare_documents
from viewer import present
from viewer.text import head
from viewer.views.common import get_inspection, private

CHOICES = 50
ABSENT = "–"
MOST_ROWS = 500
"""Rows of one list; a requantised model changes the type of every tensor."""
SHOWN_DIGITS = 8
"""Of a digest in a row, which is enough to see that two differ."""

Facts = Callable[[dict[str, Any] | None], dict[str, Any] | None]


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
        "types": [_type_row(row) for row in changes["types"]],
        "metadata": _rows(changes["metadata"], "key", key_facts),
        "tensors": _rows(changes["tensors"], "name", tensor_facts),
        "weights": _weights(changes),
        "findings": _findings(before, after, changes["findings"]),
        "json_url": reverse("api:compare", args=[before.pk, after.pk]),
    }
    return private(render(request, "viewer/compare.html", context))


def _fact(row: dict[str, Any]) -> dict[str, Any]:
    sides = {side: _shown(row[side]) for side in ("before", "after")}
    return {"title": row["what"].replace("_", " ").capitalize(), **sides}


def _shown(value: int | float | str | None) -> str:
    """A fact of the summary: an absent one is a dash, a whole number has its commas."""
    if value is None:
        return ABSENT
    return f"{value:,}" if isinstance(value, int) else str(value)


def _type_row(row: dict[str, Any]) -> dict[str, Any]:
    """A tensor type with its four amounts; a side that lacks the type has dashes."""
    amounts = [
        _shown((row[side] or {}).get(what))
        for what in ("tensors", "bytes")
        for side in ("before", "after")
    ]
    return {"type": row["type"], "amounts": amounts}


def key_facts(one: dict[str, Any] | None) -> dict[str, Any] | None:
    """Type and value of a key in one line."""
    if one is None:
        return None
    value, note = one.get("text", one["value"]), ""
    if isinstance(value, dict) and "count" in value:
        count = value["count"]
        value = f"{count:,} element{'' if count == 1 else 's'}"
    elif isinstance(value, dict):
        value, note = value["text"], "not shown whole"
    if value == "":
        note = "empty"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return {"type": one["type"], "shown": head(text), "note": note}


def tensor_facts(one: dict[str, Any] | None) -> dict[str, Any] | None:
    """Type, shape, bytes and, where they were compared, the start of the digest in one line."""
    if one is None:
        return None
    shape = " × ".join(f"{size:,}" for size in one["shape"]) or "scalar"
    note = "size unknown" if one["bytes"] is None else f"{one['bytes']:,} bytes"
    if DIGEST in one:
        note += f", data {one[DIGEST][:SHOWN_DIGITS]}…"
    return {"type": one["type"], "shown": shape, "note": note}


def _rows(part: dict[str, Any], name: str, facts: Facts) -> dict[str, Any]:
    """Added, removed and changed entries as rows of one table, cut where there are too many."""
    rows = [{"sign": "+", "name": one[name], "before": None, "after": one} for one in part["added"]]
    rows += [
        {"sign": "−", "name": one[name], "before": one, "after": None} for one in part["removed"]
    ]
    rows += [
        {"sign": "~", "name": one[name], "before": one["before"], "after": one["after"]}
        for one in part["changed"]
    ]
    shown = [
        row | {"before": facts(row["before"]), "after": facts(row["after"])}
        for row in rows[:MOST_ROWS]
    ]
    return {"rows": shown, "more": max(len(rows) - MOST_ROWS, 0), "count": len(rows)}


def _weights(changes: dict[str, Any]) -> dict[str, Any] | None:
    """What is known of the data of the tensors: how many are the same, of those that changed how
    many hold other data and nothing else, and what has another name now. None where not every
    byte of both models was read."""
    known: dict[str, Any] | None = changes["weights"]
    if known is None:
        return None
    only = sum(
        {**one["before"], DIGEST: ""} == {**one["after"], DIGEST: ""}
        for one in changes["tensors"]["changed"]
    )
    renamed = known["renamed"]
    return known | {
        "same": known["compared"] - known["changed"],
        "only_data": only,
        "renamed": renamed[:MOST_ROWS],
        "more_renamed": max(len(renamed) - MOST_ROWS, 0),
    }


def _findings(before: Inspection, after: Inspection, part: dict[str, Any]) -> dict[str, Any]:
    """Findings new and gone, each with links into the report it stands in."""
    sides = (("new", after), ("gone", before))
    return {
        name: present.findings(row.pk, selectors.document(row.report), part[name])
        for name, row in sides
    }
