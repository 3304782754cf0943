"""Deleting what nobody needs any more."""

from datetime import datetime
from typing import NamedTuple

from ggufhub.hub import (
    audit_log,
    checkpoints,
    hosts,
    idempotency,
    renders,
    shared,
    uploads,
    webhooks,
)


class Pruned(NamedTuple):
    """How many of each were deleted."""

    uploads: int
    shared: int
    deliveries: int
    events: int


def prune(now: datetime) -> Pruned:
    """Delete uploads nobody has touched for long, arrays and blocks of headers that no report
    holds, deliveries that are over, old security events, rendered conversations, checkpoints,
    old keys of submissions, and what servers once said of their quotas."""
    idempotency.prune(now)
    renders.prune(now)
    hosts.prune(now)
    checkpoints.prune()
    events = audit_log.prune(now)
    return Pruned(uploads.prune(now), shared.prune(now), webhooks.prune(now), events)
