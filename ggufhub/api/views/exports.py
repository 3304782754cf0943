"""Whole reports: as JSON or in another format, as a badge, and compared with one another."""

import hashlib
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase
from django.utils.cache import patch_vary_headers
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ggufhub import __version__
from ggufhub.api.serializers import CompareQuery, FormatQuery
from ggufhub.api.views.reports import IMMUTABLE, conditional, find_report
from ggufhub.hub import selectors
from ggufhub.hub.models import Report
from ggufhub.report.compare import compare
from ggufhub.report.render.badge import badge
from ggufhub.report.render.comparison import comparison_markdown, comparison_text
from ggufhub.report.render.formats import FORMATS, render

REVALIDATE = "private, no-cache"
"""A report never changes, but how it is rendered does with the version of this program."""

_COMPARISONS: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "markdown": ("text/markdown", comparison_markdown),
    "text": ("text/plain", comparison_text),
}

_RENDERED = {
    (200, media_type): OpenApiTypes.OBJECT if media_type.endswith("json") else OpenApiTypes.STR
    for media_type in dict.fromkeys(form.media_type for form in FORMATS.values())
}


def asked_format(request: Request) -> str:
    """From ``?format=``, else the first known media type of the Accept header, else JSON.

    A browser accepts ``application/xml`` after ``text/html``: it gets JSON, as for ``*/*``.
    """
    query = FormatQuery(data=request.query_params)
    query.is_valid(raise_exception=True)
    if "format" in query.validated_data:
        return str(query.validated_data["format"])
    known = {form.media_type: name for name, form in reversed(FORMATS.items())}
    known |= {"text/html": "json", "*/*": "json", "application/*": "json"}
    for media_type in _accepted(request.headers.get("Accept", "")):
        if media_type in known:
            return known[media_type]
    return "json"


def _accepted(header: str) -> list[str]:
    """The media types of an Accept header, the most wanted first."""
    weighted = []
    for part in header.casefold().split(","):
        media_type, *parameters = (piece.strip() for piece in part.split(";"))
        weights = [text[2:] for text in parameters if text.startswith("q=")]
        try:
            weight = float(weights[0]) if weights else 1.0
        except ValueError:
            weight = 0.0
        if weight > 0:
            weighted.append((weight, media_type))
    return [media_type for _, media_type in sorted(weighted, key=lambda pair: -pair[0])]


def _text(media_type: str, text: str) -> HttpResponse:
    return HttpResponse(text, content_type=f"{media_type}; charset=utf-8")


def render_etag(*facts: str) -> str:
    """Of a render: the documents, the format and the program that renders."""
    return f'"{hashlib.sha256(" ".join([*facts, __version__]).encode()).hexdigest()}"'


class Document(APIView):
    @extend_schema(
        operation_id="reports_get",
        parameters=[FormatQuery],
        responses={**_RENDERED, (200, "application/json"): OpenApiTypes.OBJECT},
    )
    def get(self, request: Request, id: UUID) -> HttpResponseBase:
        """The whole document, schema ``ggufhub.report/1``, or one of its renders."""
        report = find_report(request.user, id)
        name = asked_format(request)
        if name == "json":
            etag, cache = f'"{report.digest}"', IMMUTABLE
        else:
            etag, cache = render_etag(report.digest, name), REVALIDATE
        answer = conditional(request, etag, cache, lambda: self._made(report, name))
        patch_vary_headers(answer, ["Accept"])
        return answer

    def _made(self, report: Report, name: str) -> HttpResponseBase:
        if name == "json":
            return HttpResponse(selectors.document_json(report), content_type="application/json")
        return _text(FORMATS[name].media_type, render(name, [selectors.document(report)]))


class Badge(APIView):
    @extend_schema(
        operation_id="reports_badge", responses={(200, "image/svg+xml"): OpenApiTypes.STR}
    )
    def get(self, request: Request, id: UUID) -> HttpResponseBase:
        """The verdict as a small picture; for whoever may see the report."""
        report = find_report(request.user, id)
        return conditional(
            request,
            render_etag(report.digest, "badge"),
            REVALIDATE,
            lambda: _text("image/svg+xml", badge(selectors.document(report))),
        )


class Compare(APIView):
    @extend_schema(
        operation_id="reports_compare",
        parameters=[CompareQuery],
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            (200, "text/markdown"): OpenApiTypes.STR,
            (200, "text/plain"): OpenApiTypes.STR,
        },
    )
    def get(self, request: Request, id: UUID, other: UUID) -> HttpResponseBase:
        """What changed from the first report to the second, schema ``ggufhub.compare/1``."""
        query = CompareQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        name = query.validated_data["format"]
        before, after = find_report(request.user, id), find_report(request.user, other)
        etag = render_etag(before.digest, after.digest, name)
        return conditional(request, etag, REVALIDATE, lambda: self._made(before, after, name))

    def _made(self, before: Report, after: Report, name: str) -> HttpResponseBase:
        document = compare(selectors.document(before), selectors.document(after))
        if name == "json":
            return Response(document)
        media_type, made = _COMPARISONS[name]
        return _text(media_type, made(document))
