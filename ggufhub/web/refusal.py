"""What the web server itself says, where a request gets no thread or has no whole body: plain words
to a page, the problem document of every other error (``ggufhub.api.problems``) to the API.
"""

import json
from http import HTTPStatus
from typing import NamedTuple

Headers = list[tuple[bytes, bytes]]

API = "/api/"
RETRY_SECONDS = 5
"""What every 503 of the product says."""


class Refusal(NamedTuple):
    """``slug`` is the stable part of the problem's type, ``words`` are for people."""

    status: HTTPStatus
    slug: str
    words: str


TOO_SLOW = Refusal(
    HTTPStatus.REQUEST_TIMEOUT, "too-slow", "The body of the request came too slowly."
)
BUSY = Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", "The server is busy. Try again soon.")


def written(refusal: Refusal, path: str, request_id: str) -> tuple[Headers, bytes]:
    """Headers and body of the answer to a request for ``path``.

    It ends the connection: the rest of the request is not read.
    """
    if path.startswith(API):
        kind, body = b"application/problem+json", _problem(refusal, path, request_id)
    else:
        kind, body = b"text/plain; charset=utf-8", f"{refusal.words}\n"
    headers = [
        (b"content-type", kind),
        (b"x-content-type-options", b"nosniff"),
        (b"x-request-id", request_id.encode()),
        (b"connection", b"close"),
        (b"retry-after", b"%d" % RETRY_SECONDS),
        (b"cache-control", b"no-store"),
    ]
    return headers, body.encode()


def _problem(refusal: Refusal, path: str, request_id: str) -> str:
    return json.dumps(
        {
            "type": f"/problems/{refusal.slug}",
            "title": refusal.status.phrase,
            "status": refusal.status.value,
            "detail": refusal.words,
            "instance": path,
            "request_id": request_id,
        }
    )
