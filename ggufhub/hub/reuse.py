"""Which inspections ask for the same, so that one report may serve them all.

The database can only say that the same was asked. Whether the file is still the same is for the
worker to find out, who may reach it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from ggufhub.hub.models import Inspection, Report, State
from ggufhub.limits import HEADER

ASKED = ("profile", "policy", "expected", "depth")
"""What a report depends on besides the file and the rules."""

COPIED = ("owner", "source_kind", "locator", "target", "name", "upload", "size", "subject", *ASKED)
"""What an inspection takes over from the one whose header it judges again."""

BATCH = 500


def subject_of(fields: Mapping[str, Any], files: Sequence[tuple[str, int]]) -> str:
    """A digest (SHA-256, hex) of what ``fields`` of an inspection ask for.

    ``files`` are the names and sizes of its uploads. Of a link it is the whole of it, query
    included: two queries may stand for two files, and the signature in one for a right.
    """
    asked = [fields.get("target", ""), *sorted(files), [fields[name] for name in ASKED]]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def find(row: Inspection) -> Report | None:
    """The newest report of the same owner about the same subject, if it could be read at all."""
    if not row.subject:
        return None
    rows = Report.objects.filter(
        inspection__subject=row.subject,
        inspection__owner=row.owner_id,
        inspection__state=State.DONE,
    )
    return rows.exclude(verdict="unreadable").order_by("-inspection__created").first()


def outdated(rule_set: str) -> Any:
    """The newest inspection of each subject and owner, where other rules than ``rule_set`` judged
    it and its header is kept. At depth ``full`` a header is not enough to judge by."""
    done = Inspection.objects.filter(state=State.DONE, depth=HEADER, report__header__isnull=False)
    newest = Inspection.objects.exclude(subject="").order_by("owner", "subject", "-created")
    last: dict[tuple[Any, str], Any] = {}
    for owner, subject, id in newest.values_list("owner", "subject", "pk").iterator():
        last.setdefault((owner, subject), id)
    return [
        row
        for row in done.exclude(report__rule_set=rule_set).order_by("created").iterator()
        if last.get((row.owner_id, row.subject)) == row.pk
    ]


def judge_again(rule_set: str) -> list[Inspection]:
    """New, queued inspections of everything ``outdated``; the reconciler sends their messages.

    Reports never change: the new judgement is a new report, and the old one stays.
    """
    made: list[Inspection] = []
    with transaction.atomic():
        for row in outdated(rule_set):
            taken = {name: getattr(row, name) for name in COPIED}
            made.append(Inspection(**taken, again=row, created=timezone.now()))
        Inspection.objects.bulk_create(made, batch_size=BATCH)
    return made
