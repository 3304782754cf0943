"""Reports and their parts, straight from the stored document."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from django.utils.cache import get_conditional_response
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from ggufhub.api import examples
from ggufhub.api.problems import Problem
from ggufhub.api.serializers import (
    ArrayOutput,
    FindingQuery,
    PageOutput,
    RangeQuery,
    SearchQuery,
    TensorQuery,
)
from ggufhub.hub import selectors
from ggufhub.hub.models import Report

IMMUTABLE = "private, max-age=31536000, immutable"
"""A report never changes under its address: a new inspection has a new id."""


def find_report(user: Any, id: UUID) -> Report:
    """The report of an inspection that ``user`` may see; a ``Problem`` where there is none yet."""
    try:
        return selectors.get_report(user, id)
    except Report.DoesNotExist:
        state = selectors.get_inspection(user, id).state
        detail = f"There is no report; the inspection is {state}."
        raise Problem(HTTPStatus.NOT_FOUND, "no-report", detail) from None


def conditional(
    request: Request, etag: str, cache: str, make: Callable[[], HttpResponseBase]
) -> HttpResponseBase:
    """What ``make`` makes, or 304 to whoever has it already; with its validators either way."""
    answer = get_conditional_response(request._request, etag=etag)
    if answer is None:
        answer = make()
    answer.headers["ETag"] = etag
    answer.headers["Cache-Control"] = cache
    return answer


class ReportView(APIView):
    """Finds the report, checks the query, and answers 304 to whoever has it already."""

    query: type[Serializer[Any]] | None = None
    body: Callable[..., Any]
    """Makes the answer's content from the report, the checked query and the address."""

    def answer(self, request: Request, id: UUID, **place: str) -> HttpResponseBase:
        """``body`` for this request, with its validators."""
        report = find_report(request.user, id)
        values: dict[str, Any] = {}
        if self.query is not None:
            query = self.query(data=request.query_params)
            query.is_valid(raise_exception=True)
            values = query.validated_data
        etag, cache = self.validators(report)
        return conditional(
            request, etag, cache, lambda: Response(self.body(report, **values, **place))
        )

    def validators(self, report: Report) -> tuple[str, str]:
        """The ETag and the Cache-Control of what is a part of the document as it is stored."""
        return f'"{report.digest}"', IMMUTABLE


def _page(rows: list[Any], start: int, limit: int) -> dict[str, Any]:
    return {"total": len(rows), "start": start, "items": rows[start : start + limit]}


class Metadata(ReportView):
    query = SearchQuery

    @extend_schema(
        operation_id="reports_metadata",
        parameters=[SearchQuery],
        responses=PageOutput,
        examples=examples.METADATA,
    )
    def get(self, request: Request, id: UUID) -> HttpResponseBase:
        """The keys in file order; long arrays only as their first elements."""
        return self.answer(request, id)

    def body(self, report: Report, *, q: str, start: int, limit: int) -> Any:
        return _page(selectors.metadata(report, q=q), start, limit)


class MetadataArray(ReportView):
    query = SearchQuery

    @extend_schema(
        operation_id="reports_metadata_array",
        parameters=[SearchQuery],
        responses=ArrayOutput,
        examples=examples.ARRAY,
    )
    def get(self, request: Request, id: UUID, key: str) -> HttpResponseBase:
        """One array, by slice; with ``q`` the elements that hold it, each with its index."""
        return self.answer(request, id, key=key)

    def body(self, report: Report, *, key: str, q: str, start: int, limit: int) -> Any:
        if q:
            return selectors.array_search(report, key, q=q, start=start, limit=limit)
        page = selectors.array_page(report, key, start=start, limit=limit)
        return {**page, "total": page["count"]}


class Tensors(ReportView):
    query = TensorQuery

    @extend_schema(
        operation_id="reports_tensors",
        parameters=[TensorQuery],
        responses=PageOutput,
        examples=examples.TENSORS,
    )
    def get(self, request: Request, id: UUID) -> HttpResponseBase:
        """The tensor table, filtered and sorted."""
        return self.answer(request, id)

    def body(self, report: Report, **values: Any) -> Any:
        return selectors.tensors(report, **values)


class Findings(ReportView):
    query = FindingQuery

    @extend_schema(operation_id="reports_findings", parameters=[FindingQuery], responses=PageOutput)
    def get(self, request: Request, id: UUID) -> HttpResponseBase:
        """What the rules found."""
        return self.answer(request, id)

    def body(self, report: Report, *, severity: str, rule: str, start: int, limit: int) -> Any:
        return _page(selectors.findings(report, severity=severity, rule=rule), start, limit)


class Layout(ReportView):
    query = RangeQuery

    @extend_schema(operation_id="reports_layout", parameters=[RangeQuery], responses=PageOutput)
    def get(self, request: Request, id: UUID) -> HttpResponseBase:
        """What lies where in the file, from its first byte to its last."""
        return self.answer(request, id)

    def body(self, report: Report, *, start: int, limit: int) -> Any:
        return _page(selectors.document(report)["layout"], start, limit)
