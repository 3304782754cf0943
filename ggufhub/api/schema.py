"""What the generator of the OpenAPI description cannot see by itself: tokens and problems."""

from http import HTTPStatus
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from ggufhub.api.problems import CONTENT_TYPE

ALWAYS = (401, 403, 404, 503)
ASKING = (400,)
"""Of every operation with parameters or a body."""

SENDING = (400, 408, 409, 413, 415, 422, 429)
"""Of every operation that takes a body."""

UPLOADING = (400, 408, 409, 412, 413, 415, 423, 507)
"""Of the resumable uploads."""

PARTS = {"/memory": 422, "/bytes": 416, "/ping": 429}
"""What single operations may answer with besides."""

PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "An error (RFC 9457). `type` is stable, `detail` is for people.",
    "required": ["type", "title", "status", "detail", "instance", "request_id"],
    "properties": {
        "type": {"type": "string", "example": "/problems/not-found"},
        "title": {"type": "string", "example": "Not Found"},
        "status": {"type": "integer", "example": 404},
        "detail": {"type": "string", "example": "There is no such thing here."},
        "instance": {"type": "string", "description": "The path that was asked for."},
        "request_id": {"type": "string", "description": "Finds the request in the log."},
        "errors": {
            "type": "array",
            "description": "What is wrong with which field.",
            "items": {
                "type": "object",
                "required": ["pointer", "detail"],
                "properties": {"pointer": {"type": "string"}, "detail": {"type": "string"}},
            },
        },
    },
}


class BearerScheme(OpenApiAuthenticationExtension):
    """How a token is sent."""

    target_class = "ggufhub.api.auth.BearerToken"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "`ggh_…`, made on the tokens page, by POST /tokens or the operator.",
        }


def add_problems(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A post-processing hook: every operation names the problems it may answer with."""
    result["components"].setdefault("schemas", {})["Problem"] = PROBLEM
    for path, operations in result["paths"].items():
        for operation in operations.values():
            for status in _statuses(path, operation):
                operation["responses"].setdefault(str(status), _problem(status))
    return result


def require_bodies(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A post-processing hook: no body that an operation takes may be left out. The generator says
    so only of bodies with required fields."""
    for operations in result["paths"].values():
        for operation in operations.values():
            if "requestBody" in operation:
                operation["requestBody"]["required"] = True
    return result


def _statuses(path: str, operation: dict[str, Any]) -> list[int]:
    found = set(ALWAYS)
    if "/uploads" in path:
        found.update(UPLOADING)
    if operation.get("parameters"):
        found.update(ASKING)
    if "requestBody" in operation:
        found.update(SENDING)
    found.update(status for end, status in PARTS.items() if path.endswith(end))
    return sorted(found)


def _problem(status: int) -> dict[str, Any]:
    content = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {"description": HTTPStatus(status).phrase, "content": content}
