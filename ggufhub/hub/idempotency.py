"""Submissions that may be sent again: a key chosen by the client stands for one inspection.

A key is first reserved, then bound to its inspection in the transaction that makes it. What a
crash leaves in between is a reservation that lapses by itself.
"""

from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from ggufhub.errors import GgufHubError
from ggufhub.hub.models import IdempotencyKey, Inspection

KEPT = timedelta(hours=24)

RESERVED = timedelta(minutes=10)
"""The longest a submission takes: its file is copied after the key is reserved."""


class KeyReused(GgufHubError):
    """The key stands for another request."""

    def __init__(self) -> None:
        super().__init__("key_reused", "This Idempotency-Key was used for another request.")


class KeyInUse(GgufHubError):
    """The first request with this key has not been answered yet."""

    def __init__(self) -> None:
        super().__init__("key_in_use", "The first request with this Idempotency-Key is running.")


def reserve(caller: str, key: str, digest: str) -> Inspection | None:
    """The inspection ``key`` already stands for; None if it is reserved for this request now.

    ``caller`` names whose key it is, ``digest`` is the SHA-256 (hex) of what is asked. Raises
    ``KeyReused`` where that differs from the first request, ``KeyInUse`` while that one runs.
    """
    prune(timezone.now())
    rows = IdempotencyKey.objects.select_related("inspection__report", "inspection__needs_upload")
    row, created = rows.get_or_create(caller=caller, key=key, defaults={"digest": digest})
    if created:
        return None
    if row.digest != digest:
        raise KeyReused
    if row.inspection is None:
        raise KeyInUse
    return row.inspection


def bind(caller: str, key: str, inspection: Inspection) -> None:
    """Let the reserved ``key`` stand for ``inspection``, in the transaction that makes it."""
    IdempotencyKey.objects.filter(caller=caller, key=key).update(inspection=inspection)


def release(caller: str, key: str) -> None:
    """Give a reservation back: the request failed and may be corrected."""
    IdempotencyKey.objects.filter(caller=caller, key=key, inspection=None).delete()


def prune(now: datetime) -> None:
    """Forget keys older than a day, and reservations nobody can hold any more."""
    lapsed = Q(inspection=None, created__lt=now - RESERVED)
    IdempotencyKey.objects.filter(lapsed | Q(created__lt=now - KEPT)).delete()
