"""Which models of an audit fit into so much memory, by what their own reports estimate."""

from dataclasses import dataclass
from functools import lru_cache

from ggufhub.errors import UsageError
from ggufhub.estimate.cache import Setting
from ggufhub.estimate.memory import estimator_from
from ggufhub.hub import selectors
from ggufhub.hub.audit_models import AuditItem
from ggufhub.hub.models import Report

CONTEXT = 8_192
"""Tokens of context that a model is taken to run with; fewer where it was trained for fewer."""

MOST_REPORTS = 200
"""Reports looked at for one page, at about five milliseconds the first time."""

MOST_KEPT = 4_096
"""Reports whose need is kept: a number each."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a model takes in bytes with ``context`` tokens; None where that is not known."""

    context: int
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Fitting:
    """A model of an audit beside what it needs, and whether that fits; both None where it has no
    report that tells."""

    item: AuditItem
    need: Need | None
    fits: bool | None


@lru_cache(maxsize=MOST_KEPT)
def need_of(report: Report) -> Need | None:
    """Worked out once: a report never changes, and is told from others by its id."""
    stored = selectors.document(report)["memory"]
    if stored is None:
        return None
    context = min(stored["context_length"] or CONTEXT, CONTEXT)
    try:
        estimate = estimator_from(stored).estimate(Setting(max(context, 1)))
    except UsageError:
        return None
    return Need(context, estimate.total)


def needs(families: list[tuple[str, list[AuditItem]]]) -> dict[int, Need]:
    """What the models need by the key of their row, of the first ``MOST_REPORTS`` of them."""
    wanted = [item for _, items in families for item in items if item.inspection_id is not None][
        :MOST_REPORTS
    ]
    reports = Report.objects.in_bulk([item.inspection_id for item in wanted])
    found: dict[int, Need] = {}
    for item in wanted:
        report = reports.get(item.inspection_id)
        need = None if report is None else need_of(report)
        if need is not None:
            found[item.pk] = need
    return found


def fitting(items: list[AuditItem], known: dict[int, Need], limit: int | None) -> list[Fitting]:
    """Every model of a family with what is known of it; nothing fits or not without a limit."""
    found = []
    for item in items:
        need = known.get(item.pk)
        size = None if need is None else need.bytes
        fits = None if limit is None or size is None else size <= limit
        found.append(Fitting(item, need, fits))
    return found


def largest(rows: list[Fitting]) -> Fitting | None:
    """The model that needs the most of those that fit."""
    fits = [row for row in rows if row.fits]
    return max(fits, key=_bytes, default=None)


def _bytes(row: Fitting) -> int:
    return (row.need.bytes if row.need else None) or 0
