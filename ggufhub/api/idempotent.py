"""``Idempotency-Key``: a submission that may be sent again without being done again."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from ggufhub.errors import UsageError
from ggufhub.hub import idempotency
from ggufhub.hub.models import Inspection

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
LONGEST = 255

PARAMETER = OpenApiParameter(
    HEADER,
    {"type": "string", "pattern": f"^[ -~]{{1,{LONGEST}}}$"},
    OpenApiParameter.HEADER,
    description=(
        "Up to 255 characters of your choice. The same request with the same key within 24 hours "
        f"is answered with the same inspection, as it stands then, and {REPLAYED}: true."
    ),
)

Submit = Callable[[Callable[[Inspection], None]], Inspection]
"""Makes an inspection and calls what it is given, in one transaction."""


def submit_once(
    request: Request, data: Mapping[str, Any], submit: Submit
) -> tuple[Inspection, bool]:
    """What ``submit`` makes, and False; or what it made for the same key before, and True.

    ``data`` is the checked request, which must be the same under the same key. Raises
    ``UsageError`` for what is no key, ``KeyReused`` and ``KeyInUse``.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return submit(lambda row: None), False
    if not (1 <= len(key) <= LONGEST and key.isascii() and key.isprintable()):
        raise UsageError(f"{HEADER} holds 1 to {LONGEST} printable ASCII characters.")
    caller = str(request.user.pk or "")
    known = idempotency.reserve(caller, key, _digest(data))
    if known is not None:
        return known, True
    try:
        return submit(lambda row: idempotency.bind(caller, key, row)), False
    except BaseException:
        idempotency.release(caller, key)
        raise


def _digest(data: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of every field; of a file its name and all of its bytes."""
    fields = {name: value for name, value in data.items() if not isinstance(value, UploadedFile)}
    digest = hashlib.sha256(json.dumps(fields, sort_keys=True, default=str).encode())
    for value in data.values():
        if isinstance(value, UploadedFile):
            digest.update(json.dumps(value.name).encode())
            for chunk in value.chunks():
                digest.update(chunk)
            value.seek(0)
    return digest.hexdigest()
