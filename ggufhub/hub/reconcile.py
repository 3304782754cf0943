"""Repairs what messages and processes lost: the database says what has to run, not the broker."""

from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from ggufhub.hub import queue, services
from ggufhub.hub.clock import clock
from ggufhub.hub.models import Inspection, State

GRACE = timedelta(seconds=5)
"""A row this young is being sent by whoever made it."""

DRAINED_AFTER = timedelta(seconds=15)
"""With an empty queue, a row sent that long ago and still queued has lost its message."""

FORGOTTEN_AFTER = timedelta(minutes=10)
"""On a busy queue nobody can tell; sending twice is harmless, sending every minute is not."""

BYTES_WITHIN = timedelta(hours=1)
BATCH = 500


def reconcile(now: datetime | None = None) -> int:
    """One round of repair, safe to run anywhere and twice at once; returns how many were sent.

    Rows of dead workers are queued again or given up, header-only uploads that stopped sending
    are failed, and queued rows without a message get a new one.
    """
    now = now or timezone.now()
    if not clock.jumped():  # live workers renew their leases by the new time before the next round
        services.expire(now)
    _give_up_waiting(now)
    return sum(_resend(now, lane) for lane in queue.ROUTES)


def _give_up_waiting(now: datetime) -> None:
    waiting = Inspection.objects.filter(state=State.QUEUED, needs_until__isnull=False)
    silent = Q(needs_upload=None) | Q(needs_upload__touched__lt=now - BYTES_WITHIN)
    for row in waiting.filter(silent):
        services.abandon(row)


def _resend(now: datetime, lane: str) -> int:
    waiting = queue.waiting(lane)
    if waiting is None:
        return 0
    patience = FORGOTTEN_AFTER if waiting else DRAINED_AFTER
    unsent = Q(sent_at=None, created__lt=now - GRACE)
    rows = services.due(now).filter(lane=lane)
    due = rows.filter(unsent | Q(sent_at__lt=now - patience)).order_by("created")
    sent = 0
    for inspection_id in due.values_list("pk", flat=True)[:BATCH]:
        if not services.send(inspection_id, lane):
            break
        sent += 1
    return sent
