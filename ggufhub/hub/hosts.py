"""What servers say is left of their quotas of requests, known to all workers.

A quota is an address's or an account's, so audits and single inspections use up the same one.
"""

from datetime import UTC, datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from ggufhub.audit import hosts
from ggufhub.hub.audit_models import Host

LONGEST_WINDOW = timedelta(hours=1)
"""A word for longer is not waited for; the quotas of the hub last five minutes. Nor does a clock
that was set back make a window longer than this."""


def note(name: str, requests: int, until: float) -> None:
    """A server said that it takes so many ``requests`` before ``until`` (seconds of ``time.time``).

    Of what it said at about the same time the least counts: answers are heard in another order
    than they were given.
    """
    if not _current(name).filter(requests__lte=requests).exists():
        told = {"requests": requests, "until": datetime.fromtimestamp(until, UTC)}
        Host.objects.update_or_create(name=name, defaults=told)


def room(name: str, reading: int) -> int | None:
    """Files that may be asked for beside the ``reading`` ones; None where nothing is known."""
    requests = _current(name).values_list("requests", flat=True).first()
    return None if requests is None else hosts.room(requests, reading)


def _current(name: str) -> QuerySet[Host]:
    now = timezone.now()
    return Host.objects.filter(pk=name, until__gt=now, until__lt=now + LONGEST_WINDOW)


def prune(now: datetime) -> None:
    """Delete what is known of windows that are long over."""
    Host.objects.filter(until__lt=now - LONGEST_WINDOW).delete()
