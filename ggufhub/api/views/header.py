"""The bytes of a header, as they were read for the report."""

import hashlib
from http import HTTPStatus
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from ggufhub.api.part_serializers import BytesQuery
from ggufhub.api.problems import Problem
from ggufhub.api.views.reports import IMMUTABLE, conditional, find_report
from ggufhub.hub import headers, selectors

MEDIA_TYPE = "application/octet-stream"


class HeaderBytes(APIView):
    @extend_schema(
        operation_id="reports_bytes",
        parameters=[BytesQuery],
        responses={(200, MEDIA_TYPE): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, id: UUID) -> HttpResponseBase:
        """Bytes of the file's header, fewer than asked where what was read of it ends. The data of
        tensors is not kept: 416."""
        inspection = find_report(request.user, id).inspection
        query = BytesQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        try:
            raw = selectors.header_bytes(inspection, **query.validated_data)
        except headers.NotKept:
            detail = "No bytes are kept of this file. Inspect it again."
            raise Problem(HTTPStatus.NOT_FOUND, "not-kept", detail) from None
        except headers.NotThere:
            status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
            detail = "This place was not read for the report: only headers are kept."
            raise Problem(status, "not-read", detail) from None
        etag = f'"{hashlib.sha256(raw).hexdigest()}"'
        return conditional(
            request, etag, IMMUTABLE, lambda: HttpResponse(raw, content_type=MEDIA_TYPE)
        )
