"""Holding an answer back until an inspection has ended, without giving away every web thread."""

import re
import threading
import time

from django.conf import settings
from django.db import connection
from rest_framework.request import Request

from ggufhub.api.serializers import WAIT_SECONDS, WaitQuery
from ggufhub.hub.models import OPEN_STATES, Inspection

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.5

PREFERENCE = re.compile(r'(?:^|[,;\s])wait\s*=\s*"?(\d{1,6})"?', re.IGNORECASE)

_slots = threading.BoundedSemaphore(settings.WEB_THREADS // 2)
"""Half of the threads always stay free for everyone who does not wait."""


def asked(request: Request) -> int:
    """Seconds the client is willing to wait, from ``?wait=`` or ``Prefer: wait=`` (RFC 7240)."""
    query = WaitQuery(data=request.query_params)
    query.is_valid(raise_exception=True)
    if "wait" in query.validated_data:
        return int(query.validated_data["wait"])
    # An unsupported preference is ignored, never refused.
    found = PREFERENCE.search(request.headers.get("Prefer", ""))
    return min(int(found[1]), WAIT_SECONDS) if found else 0


def wait(inspection: Inspection, seconds: int) -> bool:
    """Wait for the end, or for a question to the sender, at most ``seconds``.

    False, at once, if too many others are waiting.
    """
    if not _slots.acquire(blocking=False):
        return False
    try:
        _poll(inspection, time.monotonic() + seconds)
    finally:
        _slots.release()
    return True


def _poll(inspection: Inspection, deadline: float) -> None:
    rows = Inspection.objects.filter(
        pk=inspection.pk, state__in=OPEN_STATES, needs_until__isnull=True
    )
    pause = FIRST_PAUSE
    while rows.exists() and (left := deadline - time.monotonic()) > 0:
        # An idle connection held for a minute is one the database cannot give to others.
        if not connection.in_atomic_block:
            connection.close()
        time.sleep(min(pause, left))
        pause = min(pause * 1.5, LONGEST_PAUSE)
