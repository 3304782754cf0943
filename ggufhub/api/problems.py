"""Errors as ``application/problem+json`` (RFC 9457): one shape for everything that goes wrong."""

import logging
from http import HTTPStatus
from typing import Any

from django.core.exceptions import (
    ObjectDoesNotExist,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    ValidationError,
)
from django.db import InterfaceError, OperationalError
from django.http import Http404, UnreadablePostError
from rest_framework import exceptions
from rest_framework.response import Response

from ggufhub.errors import UsageError
from ggufhub.hub.idempotency import KeyInUse, KeyReused
from ggufhub.hub.quotas import QuotaExceeded
from ggufhub.hub.selectors import NoSuchArray
from ggufhub.hub.uploads import Busy, StorageFull, TooLarge, UploadError, WrongOffset

CONTENT_TYPE = "application/problem+json"
RETRY_SECONDS = "5"

UPLOAD_STATUS: dict[type[UploadError], HTTPStatus] = {
    WrongOffset: HTTPStatus.CONFLICT,
    TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    Busy: HTTPStatus.LOCKED,
    StorageFull: HTTPStatus.INSUFFICIENT_STORAGE,
}

log = logging.getLogger(__name__)


class Problem(exceptions.APIException):
    """A problem with its own status, slug and words; ``headers`` go into the answer."""

    def __init__(
        self, status: HTTPStatus, slug: str, detail: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(detail, slug)
        self.status_code = status
        self.slug = slug
        self.headers = headers or {}


def handle(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler: any exception becomes an answer, and unknown ones a log entry."""
    request = context["request"]
    problem = _problem(error)
    status = HTTPStatus(problem.status_code)
    body = {
        "type": f"/problems/{problem.slug}",
        "title": status.phrase,
        "status": status.value,
        "detail": _plain(problem.detail),
        "instance": _plain(request.path),
        "request_id": request.id,
    }
    if isinstance(error, exceptions.ValidationError):
        body["detail"] = "The request is not valid."
        body["errors"] = list(_pointers(error.detail))
    return Response(body, status, headers=problem.headers, content_type=CONTENT_TYPE)


def _problem(error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case exceptions.APIException():
            challenge = getattr(error, "auth_header", None)
            headers = {"WWW-Authenticate": challenge} if challenge else {}
            return Problem(HTTPStatus(error.status_code), _slug(error), str(error.detail), headers)
        case KeyReused():
            return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "key-reused", error.message)
        case KeyInUse():
            headers = {"Retry-After": "1"}
            return Problem(HTTPStatus.CONFLICT, "key-in-use", error.message, headers)
        case UploadError():
            headers = (
                {"Upload-Offset": str(error.received)} if isinstance(error, WrongOffset) else {}
            )
            slug = error.code.replace("_", "-")
            return Problem(UPLOAD_STATUS[type(error)], slug, error.message, headers)
        case UnreadablePostError():
            return Problem(HTTPStatus.BAD_REQUEST, "cut-off", "The request ended too early.")
        case QuotaExceeded():
            wait = error.retry_after
            headers = {} if wait is None else {"Retry-After": str(wait)}
            return Problem(HTTPStatus.TOO_MANY_REQUESTS, "quota-exceeded", error.message, headers)
        case UsageError():
            return Problem(HTTPStatus.BAD_REQUEST, "bad-request", error.message)
        case Http404() | ObjectDoesNotExist() | NoSuchArray() | ValidationError():
            return Problem(HTTPStatus.NOT_FOUND, "not-found", "There is no such thing here.")
        case RequestDataTooBig():
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            return Problem(status, "too-large", "The fields of the form are too large.")
        case SuspiciousOperation():
            return Problem(HTTPStatus.BAD_REQUEST, "bad-request", "The request makes no sense.")
        case PermissionDenied():
            return Problem(HTTPStatus.FORBIDDEN, "forbidden", "This is not allowed.")
        case OperationalError() | InterfaceError():
            log.error("the database failed", exc_info=error)
            headers = {"Retry-After": RETRY_SECONDS}
            detail = "The database does not answer. Try again soon."
            return Problem(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", detail, headers)
    log.error("request failed", exc_info=error)
    detail = "Something went wrong here. The request id finds it in the log."
    return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", detail)


def _slug(error: exceptions.APIException) -> str:
    return str(error.default_code).replace("_", "-")


def _pointers(detail: Any, path: str = "") -> Any:
    """Yield every message with the JSON pointer of the field it is about."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            step = "" if name == "non_field_errors" else f"/{name}"
            yield from _pointers(inner, path + step)
    elif isinstance(detail, list):
        for inner in detail:
            yield from _pointers(inner, path)
    else:
        yield {"pointer": _plain(path), "detail": _plain(detail)}


def _plain(text: Any) -> str:
    """Text that can be sent: JSON may hold half of a surrogate pair, which UTF-8 cannot."""
    return str(text).encode("utf-8", "backslashreplace").decode()
