"""The headers of the tus 1.0.0 resumable upload protocol."""

import base64
import binascii
from http import HTTPStatus

from rest_framework.request import Request

from ggufhub.api.problems import Problem
from ggufhub.errors import UsageError

VERSION = "1.0.0"
EXTENSIONS = "creation,termination"
CONTENT_TYPE = "application/offset+octet-stream"
DIGITS = 19
"""More would not fit a signed 64-bit number."""


def check_version(request: Request) -> None:
    """Refuse a client that speaks another version, as the protocol demands."""
    if request.headers.get("Tus-Resumable") != VERSION:
        raise Problem(
            HTTPStatus.PRECONDITION_FAILED,
            "tus-version",
            f"Send Tus-Resumable: {VERSION}.",
            {"Tus-Version": VERSION},
        )


def number(request: Request, name: str) -> int:
    """A header that holds a whole number of bytes."""
    value = request.headers.get(name, "")
    if not (value.isascii() and value.isdigit() and len(value) <= DIGITS):
        raise UsageError(f"The header {name} must be a whole number of bytes.")
    return int(value)


def metadata(request: Request) -> dict[str, str]:
    """``Upload-Metadata``: names with base64 values, the values decoded."""
    pairs: dict[str, str] = {}
    for part in request.headers.get("Upload-Metadata", "").split(","):
        name, _, value = part.strip().partition(" ")
        try:
            decoded = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise UsageError("Upload-Metadata holds a value that is not base64.") from None
        if name:
            pairs[name] = decoded.decode("utf-8", "replace")
    return pairs


def is_set(pairs: dict[str, str], name: str) -> bool:
    """Whether a flag is there and not switched off; a name without a value is on."""
    return name in pairs and pairs[name].casefold() not in ("0", "false", "no")
