"""Audits: begun, followed, exported, repeated."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ggufhub.api.audit_serializers import (
    AuditFormatQuery,
    AuditInput,
    AuditModelsOutput,
    AuditOutput,
    AuditsOutput,
    AuditsQuery,
    ModelsQuery,
    SchedulesOutput,
    audit_dict,
    model_dict,
    schedule_dict,
)
from ggufhub.api.limited import LimitedView
from ggufhub.api.pagination import NewestFirst
from ggufhub.api.parsers import LargeJSONParser, LinesParser
from ggufhub.audit.render.formats import AUDIT_FORMATS, Style
from ggufhub.hub import audit_selectors, audits, budgets
from ggufhub.hub.audit_models import Audit
from ggufhub.hub.owners import owner_of

FRESH = {"Cache-Control": "no-store"}

_EXPORTS = {
    (200, media_type): OpenApiTypes.OBJECT if media_type.endswith("json") else OpenApiTypes.STR
    for media_type in dict.fromkeys(form.media_type for form in AUDIT_FORMATS.values())
}


def _answer(audit: Audit, status: HTTPStatus = HTTPStatus.OK, **headers: str) -> Response:
    counted = audit_selectors.progress(audit)
    return Response(audit_dict(audit, counted), status, headers={**FRESH, **headers})


class Audits(LimitedView):
    """The list of audits, and the door for new ones."""

    budgets = {"POST": budgets.SUBMIT}
    parser_classes = (LargeJSONParser, LinesParser)

    @extend_schema(operation_id="audits_list", parameters=[AuditsQuery], responses=AuditsOutput)
    def get(self, request: Request) -> Response:
        """Newest first."""
        query = AuditsQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        rows = audits.of(request.user)
        if state := query.validated_data.get("state"):
            rows = rows.filter(state=state)
        page = NewestFirst()
        found = page.paginate_queryset(rows, request, view=self) or []
        items = [audit_dict(audit, audit_selectors.progress(audit)) for audit in found]
        return page.get_paginated_response(items, FRESH)

    @extend_schema(
        operation_id="audits_create",
        request={"application/json": AuditInput, "application/x-ndjson": OpenApiTypes.STR},
        responses={202: AuditOutput},
    )
    def post(self, request: Request) -> Response:
        """Audit a repository, an organisation, a folder of the server or a list of links."""
        data = AuditInput(data=request.data)
        data.is_valid(raise_exception=True)
        every = data.validated_data.get("schedule")
        owner = owner_of(request.user)
        if every is None:
            audit = audits.start(owner, data.order())
        else:
            audit = audits.repeat(owner, data.order(), every, timezone.now())
        place = reverse("api:audit", args=[audit.pk])
        return _answer(audit, HTTPStatus.ACCEPTED, Location=place)


def find(request: Request, id: UUID) -> Audit:
    """The audit, if the caller may see it; 404 otherwise."""
    audit: Audit = get_object_or_404(audits.of(request.user), pk=id)
    return audit


class OneAudit(APIView):
    """One audit."""

    @extend_schema(
        operation_id="audits_get",
        parameters=[AuditFormatQuery],
        responses=_EXPORTS,
    )
    def get(self, request: Request, id: UUID) -> HttpResponseBase:
        """Its state and counts; with ``format`` the whole audit as json (schema
        ``ggufhub.audit/1``), ndjson, csv, sarif, junit, html, markdown or text."""
        query = AuditFormatQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        audit = find(request, id)
        name = query.validated_data.get("format")
        return _answer(audit) if name is None else export(audit, name)

    @extend_schema(operation_id="audits_cancel", responses={202: AuditOutput})
    def delete(self, request: Request, id: UUID) -> Response:
        """Cancel it. What is inspected already stays; one that has ended stays as it is."""
        audits.cancel(find(request, id))
        return _answer(find(request, id), HTTPStatus.ACCEPTED)


def export(audit: Audit, name: str) -> StreamingHttpResponse:
    """The audit in one of ``AUDIT_FORMATS``, sent as it is made."""
    form = AUDIT_FORMATS[name]
    pieces: Iterator[str] = form.pieces(audit_selectors.result(audit), Style())
    answer = StreamingHttpResponse(pieces, content_type=f"{form.media_type}; charset=utf-8")
    answer["Cache-Control"] = "private, no-cache"
    answer["Content-Disposition"] = f'attachment; filename="audit-{audit.pk}.{_ending(name)}"'
    return answer


def _ending(name: str) -> str:
    return {"junit": "xml", "markdown": "md", "text": "txt"}.get(name, name)


class Models(APIView):
    """The models of one audit."""

    @extend_schema(
        operation_id="audits_models", parameters=[ModelsQuery], responses=AuditModelsOutput
    )
    def get(self, request: Request, id: UUID) -> Response:
        """What became of each model, filtered, sorted and paged."""
        query = ModelsQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        asked = dict(query.validated_data)
        start, limit = asked.pop("start"), asked.pop("limit")
        rows = audit_selectors.models(find(request, id), **asked)
        items = [model_dict(item) for item in rows[start : start + limit]]
        return Response({"total": rows.count(), "start": start, "items": items}, headers=FRESH)


class Findings(APIView):
    """What one audit says about the repository as a whole."""

    @extend_schema(
        operation_id="audits_findings", responses={(200, "application/json"): OpenApiTypes.OBJECT}
    )
    def get(self, request: Request, id: UUID) -> Response:
        """The findings of the rules AUD001 onwards, empty until the audit is done."""
        head = audit_selectors.head(find(request, id))
        parts = ("findings", "not_evaluated", "problems", "places")
        return Response({part: head[part] for part in parts}, headers=FRESH)


class Changes(APIView):
    """What is different from the last audit."""

    @extend_schema(
        operation_id="audits_changes", responses={(200, "application/json"): OpenApiTypes.OBJECT}
    )
    def get(self, request: Request, id: UUID) -> Response:
        """Models new, gone and changed, verdicts, new findings, and ``regressions``; ``changes``
        is null where there is nothing to compare with."""
        audit = find(request, id)
        previous: Any = audit.previous_id and str(audit.previous_id)
        changes = audit_selectors.head(audit)["changes"]
        return Response({"previous": previous, "changes": changes}, headers=FRESH)


class Schedules(APIView):
    """Audits that are repeated."""

    @extend_schema(operation_id="schedules_list", responses=SchedulesOutput)
    def get(self, request: Request) -> Response:
        """Newest first."""
        rows = [schedule_dict(one) for one in audits.schedules_of(request.user)]
        return Response({"items": rows}, headers=FRESH)


class OneSchedule(APIView):
    """One of them."""

    @extend_schema(operation_id="schedules_delete", request=None, responses={204: None})
    def delete(self, request: Request, id: UUID) -> Response:
        """Repeat it no more. Its audits stay."""
        audits.end(get_object_or_404(audits.schedules_of(request.user), pk=id))
        return Response(status=HTTPStatus.NO_CONTENT)
