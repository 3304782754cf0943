"""Webhooks: list, add, test, give a new secret, delete, and see what was delivered."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from ggufhub.errors import GgufHubError
from ggufhub.hub import budgets, webhooks
from ggufhub.hub.models import Webhook
from viewer.paging import Page, whole_number
from viewer.views.common import owner, private
from viewer.views.turns import refused, slow_down, too_many

ROWS = 50


def _find(request: HttpRequest, webhook_id: UUID) -> Webhook:
    found: Webhook = get_object_or_404(webhooks.of(request.user), pk=webhook_id)
    return found


@require_http_methods(["GET", "HEAD", "POST"])
def webhook_list(request: HttpRequest) -> HttpResponse:
    """The user's webhooks; a POST adds one, whose secret is on this answer and nowhere else."""
    if request.method != "POST":
        return _list(request)
    url = request.POST.get("url", "").strip()
    try:
        made = webhooks.create(owner=owner(request), url=url)
    except GgufHubError as error:
        return _list(request, url=url, error=error.message, status=400)
    return _list(request, made=made)


def _list(request: HttpRequest, *, status: int = 200, **context: Any) -> HttpResponse:
    context["webhooks"] = list(webhooks.of(request.user))
    context["most"] = webhooks.MOST_PER_USER
    return private(render(request, "viewer/webhooks.html", context, status=status))


@require_safe
def webhook(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """One webhook and what was sent to it, newest first."""
    return _page(request, _find(request, webhook_id))


def _page(request: HttpRequest, row: Webhook, **context: Any) -> HttpResponse:
    start = whole_number(request.GET.get("start")) or 0
    deliveries = row.deliveries.select_related("inspection")
    context |= {
        "webhook": row,
        "deliveries": list(deliveries[start : start + ROWS]),
        "page": Page(start, ROWS, deliveries.count()),
        "both_sign": row.old_until is not None and row.old_until > timezone.now(),
    }
    return private(render(request, "viewer/webhook.html", context))


@require_POST
def webhook_act(request: HttpRequest, webhook_id: UUID, action: str) -> HttpResponse:
    """Test it, give it a new secret, or delete it."""
    row = _find(request, webhook_id)
    if action == "ping":
        return _ping(request, row)
    if action == "rotate":
        rotated = webhooks.rotate(row, timezone.now())
        return _page(request, rotated, secret=rotated.secret)
    if action == "delete":
        webhooks.delete(row)
        return redirect("viewer:webhooks")
    raise Http404("There is no such action.")


def _ping(request: HttpRequest, row: Webhook) -> HttpResponse:
    turn = refused(request, budgets.PING)
    if turn is not None:
        return slow_down(_page(request, row, error=too_many(turn)), turn)
    webhooks.ping(row)
    return redirect("viewer:webhook", row.pk)
