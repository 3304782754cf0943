"""Orders of audits: begin one, stop one, repeat one. The steps of the work are ``audit_steps``."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from ggufhub.audit.groups import Filter
from ggufhub.errors import UsageError
from ggufhub.hub import audit_log, queue
from ggufhub.hub.audit_models import OPEN_AUDITS, Audit, AuditState, ItemState, Schedule
from ggufhub.hub.links import URL_LENGTH, parse_source
from ggufhub.hub.models import OPEN_STATES, Inspection, State
from ggufhub.hub.owners import owned
from ggufhub.limits import HEADER, LIST_BYTES
from ggufhub.names import LINKS
from ggufhub.rules.profiles import DEFAULT_PROFILE

MOST_SCHEDULES = 50
"""Of one user."""

MOST_PATTERNS, PATTERN_LENGTH = 50, 255
"""Globs, or tags, of one filter, and characters of each: as long as the name of a file."""

PERIODS = {
    Schedule.Every.HOUR: timedelta(hours=1),
    Schedule.Every.DAY: timedelta(days=1),
    Schedule.Every.WEEK: timedelta(weeks=1),
}

_WANTED = frozenset(Filter.__slots__)


def order(
    *,
    source: str = "",
    links: str = "",
    wanted: Mapping[str, Any] | None = None,
    profile: str = DEFAULT_PROFILE,
    policy: Mapping[str, Any] | None = None,
    depth: str = HEADER,
) -> dict[str, Any]:
    """The fields of a row that say what to audit and how.

    ``source`` is a repository, organisation, collection, index page, list or a folder of this
    server; or ``links`` is a list of links, a line each. ``UsageError`` for neither, or both.
    """
    if bool(source.strip()) == bool(links.strip()):
        raise UsageError("Give either a source or a list of links.")
    if links.strip():
        if len(links.encode("utf-8", "replace")) > LIST_BYTES:
            raise UsageError(f"A list has at most {LIST_BYTES:,} bytes.")
        target, locator = LINKS + links.replace("\0", ""), _count(links)
    else:
        target, locator = _source(source)
    unknown = set(wanted or {}) - _WANTED
    if unknown:
        raise UsageError(f"There is no filter {sorted(unknown)[0]}.")
    for part in ("globs", "tags"):
        _check_patterns(part, (wanted or {}).get(part, ()))
    return {
        "target": target,
        "locator": locator,
        "wanted": dict(wanted or {}),
        "profile": profile,
        "policy": dict(policy or {}),
        "depth": depth,
    }


def _check_patterns(part: str, given: Sequence[str]) -> None:
    if len(given) > MOST_PATTERNS or any(len(one) > PATTERN_LENGTH or "\0" in one for one in given):
        raise UsageError(
            f"A filter has at most {MOST_PATTERNS} {part} of at most {PATTERN_LENGTH} plain "
            "characters each."
        )


def _count(links: str) -> str:
    lines = sum(1 for line in links.splitlines() if line.strip() and not line.startswith("#"))
    return f"a list of {lines:,} link{'' if lines == 1 else 's'}"


def _source(text: str) -> tuple[str, str]:
    """The source and what is shown of it. Whether a folder may be read is the worker's to know;
    its path may hold spaces."""
    text = text.strip()
    if text.startswith("/") and settings.ROOTS:
        if len(text) > URL_LENGTH or not text.isprintable():
            raise UsageError("A folder has a plain, absolute path.")
        return text, text
    link = parse_source(text)
    return link.target, link.locator


@transaction.atomic
def start(owner: Any, fields: Mapping[str, Any]) -> Audit:
    """Queue an audit that somebody asks for now."""
    made = _queue(owner, fields)
    audit_log.note("audit.begun", made.pk)
    return made


def _queue(owner: Any, fields: Mapping[str, Any], schedule: Schedule | None = None) -> Audit:
    """It is compared with the last finished one of the same order."""
    made = Audit.objects.create(owner=owner, **fields, schedule=schedule)
    made.previous = last_of(made)
    made.save(update_fields=["previous"])
    transaction.on_commit(lambda: queue.send_audits())
    return made


def last_of(audit: Audit) -> Audit | None:
    """The newest finished audit of the same owner that asked for the same."""
    same = {name: value for name, value in audit.order().items() if name != "owner"}
    rows = Audit.objects.filter(owner=audit.owner_id, state=AuditState.DONE, **same)
    return rows.exclude(pk=audit.pk).order_by("-created").first()


@transaction.atomic
def cancel(audit: Audit) -> bool:
    """Stop an audit; False if it was final. What is inspected right now is cancelled too, what
    waits stays as it is, so that each model says what became of it."""
    changed = Audit.objects.filter(pk=audit.pk, state__in=OPEN_AUDITS).update(
        state=AuditState.CANCELLED, finished=timezone.now(), lease_until=None
    )
    if changed:
        Inspection.objects.filter(
            audit_items__audit=audit.pk,
            audit_items__state=ItemState.RUNNING,
            state__in=OPEN_STATES,
        ).update(state=State.CANCELLED, finished=timezone.now(), lease_until=None)
        audit_log.note("audit.cancelled", audit.pk)
    return bool(changed)


@transaction.atomic
def repeat(owner: Any, fields: Mapping[str, Any], every: str, now: datetime) -> Audit:
    """Make a schedule and begin its first audit. ``UsageError`` for too many of them."""
    if Schedule.objects.filter(owner=owner).count() >= MOST_SCHEDULES:
        raise UsageError(f"A user has at most {MOST_SCHEDULES} schedules. Delete one first.")
    following = now + PERIODS[Schedule.Every(every)]
    schedule = Schedule.objects.create(owner=owner, **fields, every=every, next_at=following)
    audit_log.note("schedule.made", schedule.pk)
    return _queue(owner, fields, schedule)


@transaction.atomic
def end(schedule: Schedule) -> None:
    """Repeat no more; the audits it began stay."""
    audit_log.note("schedule.deleted", schedule.pk)
    schedule.delete()


def begin_due(now: datetime) -> list[Audit]:
    """Begin what schedules ask for now; a time that was missed is not made up for. One audit of
    a schedule runs at a time: where the last one still does, this turn is left out."""
    made = []
    for schedule in Schedule.objects.filter(next_at__lte=now):
        following = next_time(schedule, now)
        taken = Schedule.objects.filter(pk=schedule.pk, next_at=schedule.next_at)
        if not taken.update(next_at=following):
            continue  # another worker begins it
        if not schedule.audits.filter(state__in=OPEN_AUDITS).exists():
            fields = {k: v for k, v in schedule.order().items() if k != "owner"}
            with transaction.atomic():
                made.append(_queue(schedule.owner, fields, schedule))
    return made


def next_time(schedule: Schedule, now: datetime) -> datetime:
    """The first time after ``now`` in the rhythm of the schedule."""
    period = PERIODS[Schedule.Every(schedule.every)]
    missed = (now - schedule.next_at) // period
    return schedule.next_at + period * (missed + 1)


def of(user: Any) -> Any:
    """The audits ``user`` may see."""
    return owned(Audit.objects.defer("head"), user, superuser=True)


def schedules_of(user: Any) -> Any:
    """The schedules ``user`` may see."""
    return owned(Schedule.objects.all(), user, superuser=True)
