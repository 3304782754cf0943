"""Resumable uploads: tus 1.0.0, with a header-only mode.

A header-only upload declares the size of the whole file and sends its first bytes only. The
inspection made from it says in ``needs`` which bytes it wants next; they are sent with PATCH.
"""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.conf import settings
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ggufhub.api import tus
from ggufhub.api.problems import Problem
from ggufhub.api.serializers import UploadOutput
from ggufhub.hub import selectors, uploads
from ggufhub.hub.models import LARGEST, Upload
from ggufhub.hub.owners import owner_of


def _header(name: str, kind: Any, text: str = "", required: bool = True) -> OpenApiParameter:
    return OpenApiParameter(
        name, kind, OpenApiParameter.HEADER, required=required, description=text
    )


SIZE = {"type": "integer", "minimum": 0, "maximum": LARGEST}
RESUMABLE = _header("Tus-Resumable", {"type": "string", "enum": [tus.VERSION]}, "The protocol.")


class BytesParser(BaseParser):
    """Names the content type for the schema. The body is streamed by the view, never parsed."""

    media_type = tus.CONTENT_TYPE


class TusView(APIView):
    """Checks the protocol's version and names it in every answer, errors included."""

    parser_classes = (BytesParser,)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method != "OPTIONS":
            tus.check_version(request)

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        answer = super().finalize_response(request, response, *args, **kwargs)
        answer.headers["Tus-Resumable"] = tus.VERSION
        return answer

    def options(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        headers = {
            "Tus-Version": tus.VERSION,
            "Tus-Extension": tus.EXTENSIONS,
            "Tus-Max-Size": str(settings.UPLOAD_MAX_BYTES),
        }
        return Response(status=HTTPStatus.NO_CONTENT, headers=headers)


class Uploads(TusView):
    @extend_schema(
        operation_id="uploads_create",
        request=None,
        parameters=[
            RESUMABLE,
            _header("Upload-Length", SIZE, "Size of the whole file in bytes."),
            _header("Upload-Metadata", str, "filename <base64>, header_only", required=False),
        ],
        responses={201: UploadOutput},
    )
    def post(self, request: Request) -> Response:
        """Make an upload; its bytes follow with PATCH to the address in Location."""
        pairs = tus.metadata(request)
        upload = uploads.create_upload(
            owner=owner_of(request.user),
            name=pairs.get("filename", ""),
            size=tus.number(request, "Upload-Length"),
            header_only=tus.is_set(pairs, "header_only"),
        )
        headers = {
            "Location": request.build_absolute_uri(reverse("api:upload", args=[upload.pk])),
            "Upload-Offset": "0",
        }
        return Response(_upload_dict(upload), HTTPStatus.CREATED, headers=headers)


class OneUpload(TusView):
    def head(self, request: Request, id: UUID) -> Response:
        """How much has arrived: where an interrupted client goes on."""
        upload = selectors.get_upload(request.user, id)
        headers = {
            "Upload-Offset": str(upload.received),
            "Upload-Length": str(upload.size),
            "Cache-Control": "no-store",
        }
        return Response(status=HTTPStatus.OK, headers=headers)

    @extend_schema(
        operation_id="uploads_append",
        parameters=[RESUMABLE, _header("Upload-Offset", SIZE)],
        request={tus.CONTENT_TYPE: OpenApiTypes.BINARY},
        responses={204: None},
    )
    def patch(self, request: Request, id: UUID) -> Response:
        """Append bytes at Upload-Offset."""
        if (request.content_type or "").partition(";")[0].strip() != tus.CONTENT_TYPE:
            raise Problem(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                "unsupported-media-type",
                f"Send the bytes as {tus.CONTENT_TYPE}.",
            )
        upload = selectors.get_upload(request.user, id)
        received = uploads.append(
            upload,
            offset=tus.number(request, "Upload-Offset"),
            # The request itself, not DRF's parsed data: its ``read`` hands on what arrives.
            stream=request._request,
            length=tus.number(request, "Content-Length"),
        )
        headers = {"Upload-Offset": str(received)}
        return Response(status=HTTPStatus.NO_CONTENT, headers=headers)

    @extend_schema(
        operation_id="uploads_delete", parameters=[RESUMABLE], request=None, responses={204: None}
    )
    def delete(self, request: Request, id: UUID) -> Response:
        """Forget the upload and its bytes."""
        uploads.delete_upload(selectors.get_upload(request.user, id))
        return Response(status=HTTPStatus.NO_CONTENT)


def _upload_dict(upload: Upload) -> dict[str, Any]:
    return {
        "id": str(upload.pk),
        "name": upload.name,
        "size": upload.size,
        "received": upload.received,
        "header_only": upload.header_only,
    }
