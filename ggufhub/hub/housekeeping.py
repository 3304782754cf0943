"""Deleting what nobody needs any more."""

from datetime import datetime
from typing import NamedTuple

from ggufhub.hub import idempotency, renders, shared, uploads, webhooks


class Pruned(NamedTuple):
    """How many of each were deleted."""

    uploads: int
    shared: int
    deliveries: int


def prune(now: datetime) -> Pruned:
    """Delete uploads nobody has touched for long, arrays and blocks of headers that no report
    holds, deliveries that are over, rendered conversations, and old keys of submissions."""
    idempotency.prune(now)
    renders.prune(now)
    return Pruned(uploads.prune(now), shared.prune(now), webhooks.prune(now))
