"""Reads of audits: counts, the head of the document, and models by the page."""

import json
import zlib
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Q, QuerySet, Sum
from django.utils import timezone

from ggufhub.audit.judge import Judgement
from ggufhub.audit.result import AuditResult, Totals, make_head
from ggufhub.hub.audit_models import Audit, AuditItem, ItemState
from ggufhub.hub.audit_steps import rows_of
from ggufhub.report.codec import Json
from ggufhub.report.document import VERDICTS

SORTS = {"path": "path", "size": "size", "bits": "bits_per_weight", "errors": "errors"}
"""What models may be sorted by, and the columns; a leading ``-`` reverses."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an audit is. ``left`` is the time it takes yet, None while nobody can tell."""

    total: int
    waiting: int
    running: int
    settled: int
    reused: int
    verdicts: dict[str, int]
    left: timedelta | None


def progress(audit: Audit) -> Progress:
    """Counted from the items, so that it adds up whatever happened to workers."""
    counts = Counter[str]()
    verdicts = dict.fromkeys(VERDICTS, 0)
    rows = AuditItem.objects.filter(audit=audit).values_list("state", "verdict")
    for state, verdict, count in rows.annotate(Count("id")):
        counts[state] += count
        if verdict in verdicts:
            verdicts[verdict] += count
    reused = AuditItem.objects.filter(audit=audit, reused=True).count()
    return Progress(
        total=sum(counts.values()),
        waiting=counts[ItemState.WAITING],
        running=counts[ItemState.RUNNING],
        settled=counts[ItemState.SETTLED],
        reused=reused,
        verdicts=verdicts,
        left=_left(audit, counts, reused),
    )


def _left(audit: Audit, counts: Counter[str], reused: int) -> timedelta | None:
    """At the pace so far; what was reused took no time and says nothing about the rest."""
    done = counts[ItemState.SETTLED] - reused
    open_ = counts[ItemState.WAITING] + counts[ItemState.RUNNING]
    if audit.is_final or not audit.listed or audit.started is None or done < 5:
        return None
    return (timezone.now() - audit.started) / done * open_


def head(audit: Audit) -> dict[str, Json]:
    """The document without its models; before the end, and after a cancel, without findings."""
    stored = Audit.objects.values_list("head", flat=True).get(pk=audit.pk)
    if stored is not None:
        found: dict[str, Json] = json.loads(zlib.decompress(bytes(stored)))
        return found
    totals = Totals()
    counted = progress(audit)
    totals.verdicts.update(counted.verdicts)
    totals.files = counted.settled
    totals.bytes = AuditItem.objects.filter(audit=audit).aggregate(Sum("size"))["size__sum"] or 0
    return make_head(
        source=audit.locator,
        profile=audit.profile,
        totals=totals,
        judgement=Judgement(),
        places=[],
        problems=[],
        changes=None,
    )


def result(audit: Audit) -> AuditResult:
    """What the renders take; the rows are read from the database as they go."""
    return AuditResult(head(audit), lambda: rows_of(audit))


def models(
    audit: Audit,
    *,
    q: str = "",
    verdict: str = "",
    family: str = "",
    rule: str = "",
    sort: str = "",
) -> QuerySet[AuditItem]:
    """The models that match every filter given, in the order asked for."""
    rows = AuditItem.objects.filter(audit=audit).defer("files", "row")
    if q:
        rows = rows.filter(path__icontains=q)
    if verdict:
        rows = rows.filter(verdict=verdict)
    if family:
        rows = rows.filter(family=family)
    if rule:
        found = Q(inspection__report__finding_rows__rule=rule)
        rows = rows.filter(found).distinct()
    column = SORTS.get(sort.removeprefix("-"), "path")
    return rows.order_by(f"-{column}" if sort.startswith("-") else column, "id")


def rules(audit: Audit, limit: int = 40) -> list[tuple[str, int]]:
    """The rules that found something, with the number of models, the most common first."""
    rows = AuditItem.objects.filter(audit=audit, inspection__report__finding_rows__isnull=False)
    found = rows.values_list("inspection__report__finding_rows__rule")
    counted = found.annotate(count=Count("id", distinct=True)).order_by("-count")
    return [(rule, count) for rule, count in counted[:limit]]


def severities(items: list[AuditItem], wanted: list[str]) -> dict[int, dict[str, str]]:
    """For each item the worst severity by rule, of the rules in ``wanted``."""
    order = ("error", "warning", "info")
    found: dict[int, dict[str, str]] = {item.pk: {} for item in items}
    rows = AuditItem.objects.filter(
        pk__in=list(found), inspection__report__finding_rows__rule__in=wanted
    ).values_list(
        "pk",
        "inspection__report__finding_rows__rule",
        "inspection__report__finding_rows__severity",
    )
    for key, rule, severity in rows.distinct():
        known = found[key].get(rule)
        if known is None or order.index(severity) < order.index(known):
            found[key][rule] = severity
    return found


def families(audit: Audit, limit: int = 50) -> list[tuple[str, list[AuditItem]]]:
    """The families with several quants, each with its models by size."""
    several = (
        AuditItem.objects.filter(audit=audit, role="model")
        .values_list("family")
        .annotate(count=Count("id"))
        .filter(count__gt=1)
        .order_by("family")
    )
    names = [family for family, _ in several[:limit]]
    found: dict[str, list[AuditItem]] = {name: [] for name in names}
    rows = AuditItem.objects.filter(audit=audit, role="model", family__in=names)
    for item in rows.defer("files", "row").order_by("size"):
        found[item.family].append(item)
    return list(found.items())
