"""The page of a report: its frame, and how pages are kept.

A report never changes, so a page of it alone is drawn once and kept a while. Whether the user may
see it is asked of the database each time, and the token of its forms, which no two answers share,
is put in last.
"""

import hashlib
import secrets
from collections.abc import Callable
from functools import partial, wraps
from http import HTTPStatus
from threading import Lock
from typing import Any
from uuid import UUID

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render

from ggufhub.hub import selectors
from ggufhub.hub.models import Inspection, Report
from ggufhub.report.render.words import counts, verdict_words
from viewer import commands, present
from viewer.views.common import private

View = Callable[..., HttpResponse]

TOKEN = secrets.token_hex(16)
"""Stands for the token of forms in a page that is kept. No file can hold it: no answer does, and
every process has its own."""

LARGEST = 256 * 1024
"""Bytes of a page that is kept: those of 200 keys or tokens have some 60,000."""

RENDER = "render"
"""The parameter of a page on which a conversation is at work."""

MEMORY = "memory"
"""The tab that offers what else there is, to load it beside the model."""

_drawing = tuple(Lock() for _ in range(256))
"""Of the pages whose names begin alike. One that many ask for at the same moment is drawn once."""


def kept(view: View) -> View:
    """``view`` of one inspection, which is asked only for pages that are not kept."""

    @wraps(view)
    def show(request: HttpRequest, inspection_id: UUID, **place: str) -> HttpResponse:
        draw = partial(view, request, inspection_id, **place)
        name = _name(request, inspection_id)
        changes = place.get("name") == MEMORY or RENDER in request.GET
        answer = draw() if name is None or changes else _drawn_once(name, draw)
        answer.content = answer.content.replace(TOKEN.encode(), get_token(request).encode())
        return private(answer)

    return show


def _drawn_once(name: str, draw: Callable[[], HttpResponse]) -> HttpResponse:
    """The kept page of that name; where there is none, what ``draw`` gives."""
    page = cache.get(name)
    if page is None:
        with _drawing[int(name[:2], 16)]:
            page = cache.get(name)
            if page is None:
                answer = draw()
                if answer.status_code == HTTPStatus.OK and len(answer.content) <= LARGEST:
                    cache.set(name, answer.content)
                return answer
    return HttpResponse(page)


def _name(request: HttpRequest, inspection_id: UUID) -> str | None:
    """Of the page this user sees of the report at this address; None while there is no report, or
    for somebody else's."""
    try:
        report = selectors.get_report(request.user, inspection_id)
    except Report.DoesNotExist:
        return None
    parts = (str(request.user.pk), report.digest, request.build_absolute_uri())
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def render_report(
    request: HttpRequest, row: Inspection, current: str, context: dict[str, Any], template: str = ""
) -> HttpResponse:
    """A report page: head, facts and tabs around ``viewer/<template>.html``.

    ``current`` is the tab that is open, '' the overview; it names the template unless one is given.
    For views that are ``kept``.
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
        "csrf_token": TOKEN,
    }
    name = template or current or "overview"
    return render(request, f"viewer/{name}.html", frame | context)
