"""The Template tab's own conversation: a form, and what a worker makes of it."""

import json
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from ggufhub.errors import UsageError
from ggufhub.hub import budgets, renders
from ggufhub.hub.models import Inspection
from ggufhub.hub.render_models import RenderJob
from ggufhub.report.codec import safe_text
from ggufhub.templating.facts import DEFAULT
from viewer import paths
from viewer.views.common import get_inspection, private
from viewer.views.inspections import STOP_POLLING
from viewer.views.turns import refused, slow_down, too_many

ROLES = ("system", "user", "assistant")
TURNS = ("system", "user", "assistant", "user")
"""The rows of the form, in the order in which most conversations go."""

PATIENCE_SECONDS = 30
"""A conversation takes four seconds at most: one that still waits then has no worker."""

FAILURES = {
    "syntax": "The template does not compile.",
    "raised": "The template refused the conversation.",
    "undefined": "The template uses something that is not there.",
    "refused": "The template tried what it may not.",
    "error": "The template failed.",
    "limit": "The template could not be run to its end.",
    "internal": "The service failed.",
}
"""What each kind of failure means."""


def conversation_form(request: HttpRequest, row: Inspection) -> dict[str, Any]:
    """What the Template tab shows of it: the form as it was sent, and the job of ``?render=``."""
    job = _asked(request, row)
    given = {} if job is None else json.loads(job.given)
    rows = [(role, "") for role in TURNS]
    messages = given.get("messages")
    plain = messages is not None and _is_plain(messages)
    if plain:
        filled = [(one["role"], one["content"]) for one in messages]
        rows = filled + rows[len(filled) :]
    written = {"messages": None if plain else messages, "tools": given.get("tools")}
    return {
        "job": job,
        "late": job is not None and _is_late(job),
        "failure": "" if job is None else FAILURES.get(job.failure, ""),
        "roles": ROLES,
        "turns": rows,
        "prompt": given.get("add_generation_prompt", True),
        "as_json": {name: _written(value) for name, value in written.items()},
        "most_given": renders.MOST_GIVEN,
    }


def _asked(request: HttpRequest, row: Inspection) -> RenderJob | None:
    try:
        return renders.find(row.report, UUID(request.GET.get("render", "")))
    except (ValueError, RenderJob.DoesNotExist):
        return None


def _is_plain(messages: list[dict[str, Any]]) -> bool:
    """Whether the rows of the form can say all of it: no field holds NUL or half a character."""
    return all(
        set(one) == {"role", "content"}
        and one["role"] in ROLES
        and isinstance(one["content"], str)
        and safe_text(one["content"]) == one["content"]
        for one in messages
    )


def _written(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=True, indent=1)


def _is_late(job: RenderJob) -> bool:
    return not job.done and (timezone.now() - job.created).total_seconds() > PATIENCE_SECONDS


@require_POST
def conversation(request: HttpRequest, inspection_id: UUID) -> HttpResponse:
    """Queue the conversation of the form and go back to the tab, which shows the result."""
    row = get_inspection(request, inspection_id)
    if not hasattr(row, "report"):
        raise Http404("There is no report.")
    turn = refused(request, budgets.SUBMIT)
    if turn is not None:
        return slow_down(_problem(request, row, too_many(turn)), turn)
    name = request.POST.get("template", DEFAULT)
    try:
        job = renders.submit(
            row.report,
            template=name,
            messages=_messages(request),
            tools=_json(request, "tools"),
            add_generation_prompt="add_generation_prompt" in request.POST,
        )
    except UsageError as error:
        return _problem(request, row, error.message)
    return redirect(paths.tab(row.pk, "template", "own", name=name, render=job.pk))


def _messages(request: HttpRequest) -> Any:
    """The messages written as JSON, else those of the rows that hold a text."""
    written = _json(request, "messages")
    if written is not None:
        return written
    pairs = zip(request.POST.getlist("role"), request.POST.getlist("content"), strict=False)
    return [
        {"role": role, "content": content.replace("\r\n", "\n")}
        for role, content in pairs
        if content.strip()
    ]


def _json(request: HttpRequest, name: str) -> Any:
    text = request.POST.get(name, "").strip()
    if not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"The {name} are not JSON.") from None


def _problem(request: HttpRequest, row: Inspection, message: str) -> HttpResponse:
    """The reason on a page of its own; Back brings the form as it was."""
    context = {"inspection": row, "message": message}
    return private(render(request, "viewer/conversation.html", context, status=400))


@require_safe
def conversation_status(request: HttpRequest, inspection_id: UUID, job_id: UUID) -> HttpResponse:
    """The part of the tab that changes; status 286 once nothing will change any more."""
    row = get_inspection(request, inspection_id)
    if not hasattr(row, "report"):
        raise Http404("There is no report.")
    try:
        job = renders.find(row.report, job_id)
    except RenderJob.DoesNotExist:
        raise Http404("There is no such conversation.") from None
    late = _is_late(job)
    context = {"job": job, "late": late}
    code = STOP_POLLING if job.done or late else 200
    return private(render(request, "viewer/_rendering.html", context, status=code))
