"""What every view of an inspection needs: the row if the user may see it, and the page's frame."""

from typing import Any
from uuid import UUID

from django.contrib.auth.base_user import AbstractBaseUser
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from ggufhub.hub import selectors
from ggufhub.hub.models import Inspection
from ggufhub.report.render.words import counts, verdict_words
from viewer import commands, present


def get_inspection(request: HttpRequest, inspection_id: UUID) -> Inspection:
    """The inspection, or 404: one that belongs to others does not exist for this user."""
    try:
        return selectors.get_inspection(request.user, inspection_id)
    except Inspection.DoesNotExist:
        raise Http404("There is no such inspection.") from None


def owner(request: HttpRequest) -> AbstractBaseUser | None:
    """Who submits: the signed-in user, or nobody in open mode."""
    return request.user if request.user.is_authenticated else None


def render_report(
    request: HttpRequest, row: Inspection, current: str, context: dict[str, Any], template: str = ""
) -> HttpResponse:
    """A report page: head, facts and tabs around ``viewer/<template>.html``.

    ``current`` is the tab that is open, '' the overview; it names the template unless one is given.
    """
    document = selectors.document(row.report)
    frame = {
        "inspection": row,
        "doc": document,
        "title": document["summary"].get("name") or document["name"],
        "verdict": verdict_words(document),
        "about": present.about(document),
        "counts": counts(document["findings"]) or "no findings",
        "facts": present.facts(document),
        "tabs": present.tabs(row.pk, document, current),
        "every_byte": commands.every_byte(row, document),
        "took": sum(document["seconds"].values()) if document["seconds"] else None,
    }
    name = template or current or "overview"
    response = render(request, f"viewer/{name}.html", frame | context)
    return private(response)


def private(response: HttpResponse) -> HttpResponse:
    """Keep an owner's page out of every cache."""
    response["Cache-Control"] = "private, no-store"
    return response
