"""Submitting inspections and following them."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.db import transaction
from django.http import HttpResponseBase
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ggufhub.api import examples, idempotent, waiting
from ggufhub.api.limited import LimitedView
from ggufhub.api.pagination import NewestFirst
from ggufhub.api.parsers import SmallJSONParser, content_length
from ggufhub.api.serializers import (
    InspectionOutput,
    InspectionsOutput,
    ListQuery,
    SubmitInput,
    WaitQuery,
    inspection_dict,
)
from ggufhub.hub import budgets, selectors, services, uploads
from ggufhub.hub.models import Inspection, Upload
from ggufhub.hub.owners import owner_of

FORM_OVERHEAD = 64 * 1024
"""Bytes a form may add around its file: boundaries, names, the other fields."""

PREFER = OpenApiParameter(
    "Prefer", str, OpenApiParameter.HEADER, description="wait=N: hold the answer up to N seconds."
)


def answer(request: Request, row: Inspection, *, made: bool) -> Response:
    """The state of ``row``, held back as long as the client asked for.

    A submission that has not ended yet is 202 with the place to look; all else is 200.
    """
    seconds = waiting.asked(request)
    headers = {"Cache-Control": "no-store"}
    if seconds and waiting.wait(row, seconds):
        if "wait" not in request.query_params:
            headers["Preference-Applied"] = f"wait={seconds}"
        row = selectors.get_inspection(request.user, row.pk)
    status = HTTPStatus.OK
    if made:
        headers["Location"] = reverse("api:inspection", args=[row.pk])
        status = HTTPStatus.OK if row.is_final else HTTPStatus.ACCEPTED
    if not row.is_final:
        headers["Retry-After"] = "1"
    return Response(inspection_dict(row), status, headers=headers)


class Inspections(LimitedView):
    """The list of inspections, and the door for new ones."""

    budgets = {"POST": budgets.SUBMIT}
    parser_classes = (SmallJSONParser, MultiPartParser)

    @extend_schema(
        operation_id="inspections_list",
        parameters=[ListQuery],
        responses=InspectionsOutput,
    )
    def get(self, request: Request) -> Response:
        """Newest first."""
        query = ListQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        rows = selectors.visible(request.user)
        audit = query.validated_data.get("audit")
        rows = rows.filter(audit_items__audit=audit) if audit else rows.filter(audited=False)
        if state := query.validated_data.get("state"):
            rows = rows.filter(state=state)
        if verdict := query.validated_data.get("verdict"):
            rows = rows.filter(report__verdict=verdict)
        page = NewestFirst()
        items = page.paginate_queryset(rows, request, view=self) or []
        return page.get_paginated_response([inspection_dict(row) for row in items])

    @extend_schema(
        operation_id="inspections_create",
        parameters=[WaitQuery, PREFER, idempotent.PARAMETER],
        examples=examples.SUBMITTED,
        request={"application/json": SubmitInput, "multipart/form-data": SubmitInput},
        responses={
            200: OpenApiResponse(InspectionOutput, description="It has ended."),
            202: OpenApiResponse(InspectionOutput, description="It is queued or running."),
        },
    )
    def post(self, request: Request) -> Response:
        """Submit a link, an upload or a file."""
        data = SubmitInput(data=_received(request))
        data.is_valid(raise_exception=True)
        fields = data.validated_data
        row, replayed = idempotent.submit_once(
            request, fields, lambda made: _submit(request.user, fields, made)
        )
        found = answer(request, row, made=True)
        if replayed:
            found.headers[idempotent.REPLAYED] = "true"
        return found


def _received(request: Request) -> Any:
    """The fields of the body. What is too large must not reach the disk first."""
    if content_length(request) > settings.UPLOAD_MAX_BYTES + FORM_OVERHEAD:
        raise uploads.TooLarge(settings.UPLOAD_MAX_BYTES)
    return request.data


def _submit(user: Any, data: Mapping[str, Any], made: Callable[[Inspection], None]) -> Inspection:
    """Queue what ``data`` asks for, and tell ``made`` before anybody else can see it."""
    owner = owner_of(user)
    how = {name: data.get(name) for name in ("profile", "policy", "expected", "depth", "force")}
    sent = [] if "source" in data else _uploads(user, owner, data)
    with transaction.atomic():
        if sent:
            row = services.submit_upload(owner=owner, upload=sent[0], others=sent[1:], **how)
        else:
            row = services.submit_url(owner=owner, url=data["source"], **how)
        made(row)
    return row


def _uploads(user: Any, owner: Any, data: Mapping[str, Any]) -> list[Upload]:
    """What was sent before; or the file that comes with the form."""
    if "uploads" in data:
        return selectors.get_uploads(user, data["uploads"])
    if "upload" in data:
        return [selectors.get_upload(user, data["upload"])]
    return [_from_form(owner, data["file"])]


def _from_form(owner: Any, file: UploadedFile) -> Upload:
    """The upload made of a form's file: Django has it on the disk already, unless it is small."""
    about = {"owner": owner, "name": file.name or "", "size": file.size or 0}
    if isinstance(file, TemporaryUploadedFile):
        return uploads.take_over(**about, path=Path(file.temporary_file_path()))
    upload = uploads.create_upload(**about)
    uploads.append(upload, offset=0, stream=file, length=upload.size)
    return upload


class OneInspection(APIView):
    """One inspection."""

    @extend_schema(
        operation_id="inspections_get",
        parameters=[WaitQuery, PREFER],
        responses=InspectionOutput,
        examples=examples.FOLLOWED,
    )
    def get(self, request: Request, id: UUID) -> HttpResponseBase:
        """Its state; ``needs`` says what a header-only upload must send next."""
        return answer(request, selectors.get_inspection(request.user, id), made=False)

    @extend_schema(operation_id="inspections_cancel", responses={202: InspectionOutput})
    def delete(self, request: Request, id: UUID) -> Response:
        """Cancel it. One that has already ended stays as it is."""
        services.cancel(selectors.get_inspection(request.user, id))
        row = selectors.get_inspection(request.user, id)
        return Response(inspection_dict(row), HTTPStatus.ACCEPTED)
