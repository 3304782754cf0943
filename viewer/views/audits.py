"""Audits: begin one, watch it, see every model against every check, and what changed."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from ggufhub.audit.render.formats import AUDIT_FORMATS
from ggufhub.errors import GgufHubError
from ggufhub.hub import audit_selectors, audits, budgets
from ggufhub.hub.audit_models import Audit, Schedule
from ggufhub.report.codec import safe_text
from viewer import fits, quants
from viewer.memory_form import memory_of
from viewer.paging import Page, whole_number
from viewer.views.common import owner, private
from viewer.views.inspections import STOP_POLLING
from viewer.views.turns import refused, slow_down, too_many

RECENT = 30
ROWS = 100
COLUMNS = 24
"""Rules that are a column of the matrix; the others have a filter."""

SHOWN_PATHS = 50


@require_safe
def audit_list(request: HttpRequest) -> HttpResponse:
    """The form, the schedules, and the audits so far."""
    return _list(request)


@require_POST
def audit_begin(request: HttpRequest) -> HttpResponse:
    """Begin an audit and go to its page; what makes no sense comes back with the reason."""
    asked = request.POST
    turn = refused(request, budgets.SUBMIT)
    if turn is not None:
        return slow_down(_list(request, error=too_many(turn)), turn)
    wanted = {
        name: value.split() for name in ("globs", "tags") if (value := asked.get(name, "").strip())
    }
    every = asked.get("every", "")
    try:
        fields = audits.order(
            source=asked.get("source", ""), links=asked.get("links", ""), wanted=wanted
        )
        if every in Schedule.Every.values:
            audit = audits.repeat(owner(request), fields, every, timezone.now())
        else:
            audit = audits.start(owner(request), fields)
    except GgufHubError as error:
        return _list(request, error=error.message, status=400)
    return redirect("viewer:audit", audit.pk)


def _list(request: HttpRequest, *, error: str = "", status: int = 200) -> HttpResponse:
    rows = [(audit, audit_selectors.progress(audit)) for audit in audits.of(request.user)[:RECENT]]
    context = {
        "audits": rows,
        "schedules": audits.schedules_of(request.user),
        "periods": Schedule.Every.choices,
        "asked": request.POST,
        "error": error,
    }
    return private(render(request, "viewer/audits.html", context, status=status))


def _find(request: HttpRequest, audit_id: UUID) -> Audit:
    audit: Audit = get_object_or_404(audits.of(request.user), pk=audit_id)
    return audit


@require_safe
def audit(request: HttpRequest, audit_id: UUID) -> HttpResponse:
    """Progress, findings about the repository, the matrix of models and checks, what changed."""
    row = _find(request, audit_id)
    filters = ("q", "verdict", "rule", "sort")
    # As paths are stored: PostgreSQL refuses a question that holds NUL.
    asked = {name: safe_text(request.GET.get(name, "")[:500]) for name in filters}
    rows = audit_selectors.models(row, **asked)
    start = whole_number(request.GET.get("start")) or 0
    items = list(rows[start : start + ROWS])
    rules = audit_selectors.rules(row)
    columns = [rule for rule, _ in rules[:COLUMNS]]
    found = audit_selectors.severities(items, columns)
    head = audit_selectors.head(row)
    families = audit_selectors.families(row) if row.is_final else []
    gib, limit = memory_of(request.GET)
    known = {} if limit is None else fits.needs(families)
    context = {
        "audit": row,
        "progress": audit_selectors.progress(row),
        "head": head,
        "about": _by_rule(head["findings"]),
        "changes": _changes(head["changes"]),
        "rules": rules,
        "columns": columns,
        "matrix": [(item, [found[item.pk].get(rule, "") for rule in columns]) for item in items],
        "families": [quants.family(*one, known, limit) for one in families],
        "gib": gib,
        "context": fits.CONTEXT,
        "page": Page(start, ROWS, rows.count()),
        "asked": asked,
        "formats": list(AUDIT_FORMATS),
    }
    return private(render(request, "viewer/audit.html", context))


def _by_rule(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Findings about the repository by rule, in the order given: the worst first."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for finding in findings:
        groups.setdefault((finding["rule"], finding["severity"]), []).append(finding)
    return [
        {
            "rule": rule,
            "severity": severity,
            "title": found[0]["title"],
            "fix": found[0]["fix"],
            "count": len(found),
            "findings": found[:SHOWN_PATHS],
        }
        for (rule, severity), found in groups.items()
    ]


def _changes(told: dict[str, Any] | None) -> list[dict[str, Any]] | None:
    """What changed, as lists with a title; None where there is nothing to compare with."""
    if told is None:
        return None
    titles = {
        "regressions": "Worse than last time",
        "new": "New",
        "gone": "Gone",
        "changed": "Other bytes",
    }
    lists = [(title, told[part]) for part, title in titles.items()]
    moved = [f"{one['path']}: {one['before']}, now {one['after']}" for one in told["verdicts"]]
    lists.append(("Another verdict", moved))
    return [
        {"title": title, "paths": paths[:SHOWN_PATHS], "count": len(paths)}
        for title, paths in lists
        if paths
    ]


@require_safe
def audit_status(request: HttpRequest, audit_id: UUID) -> HttpResponse:
    """The part of the page that changes; status 286 once nothing will change any more."""
    row = _find(request, audit_id)
    context = {"audit": row, "progress": audit_selectors.progress(row)}
    code = STOP_POLLING if row.is_final else 200
    return private(render(request, "viewer/_audit_status.html", context, status=code))


@require_POST
def audit_cancel(request: HttpRequest, audit_id: UUID) -> HttpResponse:
    """Stop an audit; one that has ended stays as it is."""
    row = _find(request, audit_id)
    audits.cancel(row)
    return redirect("viewer:audit", row.pk)


@require_POST
def schedule_delete(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Repeat an audit no more."""
    found = audits.schedules_of(request.user).filter(pk=schedule_id).first()
    if found is None:
        raise Http404("There is no such schedule.")
    audits.end(found)
    return redirect("viewer:audits")
