"""Deleting what nobody needs any more."""

from datetime import datetime
from typing import NamedTuple

from ggufhub.hub import (
    audit_log,
    audit_retention,
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
    audited: int


def prune(now: datetime) -> Pruned:
    """Delete uploads nobody has touched for long, arrays and blocks of headers that no report
    holds, deliveries that are over, old security events, audits that were replaced, rendered
    conversations, checkpoints, old keys of submissions, and what servers once said of their quotas.
    """
    idempotency.prune(now)
    renders.prune(now)
    hosts.prune(now)
    checkpoints.prune()
    return Pruned(
        uploads=uploads.prune(now),
        audited=audit_retention.prune(now),
        shared=shared.prune(now),
        deliveries=webhooks.prune(now),
        events=audit_log.prune(now),
    )
