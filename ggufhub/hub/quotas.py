"""What one user may use in all, and how full the disk may get.

They are guards against one user taking everything, so they are exact up to the requests that run
at the same moment: the per-minute limits of ``budgets`` bound those.
"""

import shutil
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Sum
from django.utils import timezone

from ggufhub.errors import UsageError
from ggufhub.hub.models import Inspection, Report, Upload

DAY = timedelta(days=1)


class QuotaExceeded(UsageError):
    """The user has used up what is theirs; ``retry_after`` seconds until there is some again, None
    where only deleting something helps."""

    def __init__(self, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def check_inspection(owner: Any) -> None:
    """Room for one more inspection of ``owner``, or ``QuotaExceeded``.

    The models of an audit do not count: an audit is asked for once, and forgotten once a later
    one has replaced it.
    """
    if owner is None:
        return
    now = timezone.now()
    most = settings.INSPECTIONS_PER_DAY
    own = Inspection.objects.filter(owner=owner)
    today = own.filter(created__gt=now - DAY, audited=False)
    if most and today.count() >= most:
        oldest = today.order_by("-created").values_list("created", flat=True)[most - 1]
        raise QuotaExceeded(f"At most {most} inspections a day.", _until(oldest, now))
    most = settings.REPORTS_PER_USER
    stored = Report.objects.filter(inspection__owner=owner, inspection__audited=False)
    if most and stored.count() >= most:
        raise QuotaExceeded(f"At most {most} stored reports. Ask the operator to delete some.")


def _until(oldest: datetime, now: datetime) -> int:
    """Seconds until the oldest one of the day is no longer of the day."""
    return max(1, int((oldest + DAY - now).total_seconds()) + 1)


def check_upload(owner: Any, size: int) -> None:
    """Room for ``size`` more bytes of uploads of ``owner``, or ``QuotaExceeded``.

    What counts is what open uploads may still become, so that many small beginnings are no way
    around it.
    """
    most = settings.UPLOAD_BYTES_PER_USER
    if owner is None or not most:
        return
    held = Upload.objects.filter(owner=owner)
    whole = held.filter(header_only=False).aggregate(Sum("size"))["size__sum"] or 0
    headers = held.filter(header_only=True).aggregate(Sum("received"))["received__sum"] or 0
    if whole + headers + size > most:
        text = f"At most {most} bytes of uploads are kept for a user. Delete some, or wait."
        raise QuotaExceeded(text)


def disk_has_room(size: int) -> bool:
    """Whether ``size`` more bytes leave the database and the queue the room they must keep."""
    return shutil.disk_usage(settings.UPLOAD_DIR).free - size >= settings.DISK_FLOOR_BYTES
