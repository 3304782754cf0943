"""The first page, and the link box that every page carries."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from ggufhub.errors import GgufHubError
from ggufhub.hub import budgets, selectors, services
from ggufhub.limits import FULL, HEADER
from viewer.views.common import owner, private
from viewer.views.turns import refused, slow_down, too_many

RECENT = 20


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Drop zone, link box, recent inspections."""
    return _home(request)


@require_POST
def submit(request: HttpRequest) -> HttpResponse:
    """Queue the inspection of a link and go to its page; a bad link comes back with the reason."""
    link = request.POST.get("link", "").strip()
    if not link:
        return _home(request, error="Paste a link to a file first.", status=400)
    depth = FULL if request.POST.get("depth") == FULL else HEADER
    turn = refused(request, budgets.SUBMIT)
    if turn is not None:
        return slow_down(_home(request, link=link, depth=depth, error=too_many(turn)), turn)
    try:
        row = services.submit_url(owner=owner(request), url=link, depth=depth)
    except GgufHubError as error:
        return _home(request, link=link, depth=depth, error=error.message, status=400)
    return redirect("viewer:inspection", row.pk)


def _home(
    request: HttpRequest,
    *,
    link: str = "",
    depth: str = HEADER,
    error: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "link": link,
        "every_byte": depth == FULL,
        "error": error,
        "recent": selectors.recent(request.user, RECENT),
    }
    return private(render(request, "viewer/home.html", context, status=status))
