"""Old audits that later ones have replaced: what is repeated every night is not kept for ever."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from ggufhub.hub.audit_models import Audit, AuditItem, AuditState
from ggufhub.hub.models import Inspection

BATCH = 100
"""Models deleted at a time, with all that hangs on them: a tenth of a second of the write lock."""

MOST = 50_000
"""Models deleted in a round: about a minute, after which others have the worker."""


def prune(now: datetime) -> int:
    """Delete audits that ended ``AUDIT_KEEP_DAYS`` ago and were replaced; how many models.

    Inspections that a later audit took over, because nothing had changed, stay.
    """
    if not settings.AUDIT_KEEP_DAYS:
        return 0
    deleted = 0
    for audit in list(_replaced(now - timedelta(days=settings.AUDIT_KEEP_DAYS))):
        deleted += _forget(audit, MOST - deleted)
        if deleted >= MOST:
            break
    return deleted


def _replaced(before: datetime) -> Any:
    """Audits that ended before then and will not be compared with: a later one of the same order
    is done, or they belong to a schedule and gave no result themselves."""
    later = Exists(Audit.objects.filter(previous=OuterRef("pk"), state=AuditState.DONE))
    fruitless = Q(state__in=(AuditState.FAILED, AuditState.CANCELLED), schedule__isnull=False)
    return Audit.objects.filter(later | fruitless, finished__lt=before).only("pk")


def _forget(audit: Audit, most: int) -> int:
    """Delete at most so many models of the audit, and the audit after its last one."""
    deleted = 0
    items = AuditItem.objects.filter(audit=audit)
    while deleted < most:
        part = dict(items.values_list("pk", "inspection")[: min(BATCH, most - deleted)])
        if not part:
            audit.delete()
            break
        with transaction.atomic():
            items.filter(pk__in=list(part)).delete()
            own = Inspection.objects.filter(pk__in=part.values(), audited=True, audit_items=None)
            own.delete()
        deleted += len(part)
    return deleted
