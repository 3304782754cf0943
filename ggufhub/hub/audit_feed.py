"""Feeding: which models of an audit are queued when, so that it is fair to everybody else."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from ggufhub.audit.hosts import SILENT, TRIES, silence
from ggufhub.audit.stored import unpack_files
from ggufhub.hub import hosts, queue
from ggufhub.hub.audit_models import OPEN_AUDITS, Audit, AuditItem, ItemState
from ggufhub.hub.audit_steps import BATCH, settle, settle_without_report
from ggufhub.hub.models import OPEN_STATES, Inspection, State
from ggufhub.hub.reuse import subject_of
from ggufhub.hub.values import clip
from ggufhub.limits import HEADER
from ggufhub.report.codec import safe_text

IN_FLIGHT = 256
"""Models of one audit that are queued or inspected at a time: enough to keep workers busy between
two rounds, few enough that another audit has its turn."""

HOST_IN_FLIGHT = 8
"""Files of one host at a time, over all audits: what one browser would open, and a little."""


def follow(inspection_id: Any) -> None:
    """After an inspection has ended: settle what has, and queue more of its host. A round every
    few seconds alone would leave workers with nothing to do.

    Half of what may be in flight has to have ended: several at once take a fraction of the
    statements, and the other half keeps the workers busy.
    """
    mine = AuditItem.objects.filter(inspection=inspection_id, state=ItemState.RUNNING)
    for audit_id, host in mine.values_list("audit", "host"):
        if in_flight(audit_id, host) > _most_of(host) // 2:
            continue
        audit = Audit.objects.defer("head", "target").get(pk=audit_id)
        settle(audit)
        if not audit.is_final and not _is_dead(audit, host):
            _feed(audit, [host])


def feed(audit: Audit) -> int:
    """Queue inspections until enough are in flight; how many were queued.

    Hosts that answer nothing are given up, and no host is asked for more than a few files at a
    time, whichever audits they belong to, nor for more than its quota allows.
    """
    waiting = AuditItem.objects.filter(audit=audit, state=ItemState.WAITING)
    names = list(waiting.values_list("host", flat=True).distinct())
    for host in names:
        if _is_dead(audit, host):
            _give_up(waiting.filter(host=host), host)
    return _feed(audit, names)


def _feed(audit: Audit, names: Sequence[str]) -> int:
    """Queue what these hosts have room for."""
    items = AuditItem.objects.filter(audit=audit)
    room = IN_FLIGHT - _in_work(items).count()
    chosen: list[AuditItem] = []
    for host in names:
        free = min(_free(audit, host), room - len(chosen))
        if free > 0:
            rows = items.filter(state=ItemState.WAITING, host=host).order_by("id")
            chosen += rows.defer("row")[:free]
    for start in range(0, len(chosen), BATCH):
        _queue(audit, chosen[start : start + BATCH])
    return len(chosen)


def _free(audit: Audit, host: str) -> int:
    """How many more files of a host may be in flight, by our own measure and by its quota."""
    reading = in_flight(audit.pk, host)
    free = _most_of(host) - reading
    by_quota = hosts.room(host, reading) if host and free > 0 else None
    return free if by_quota is None else min(free, by_quota)


def _most_of(host: str) -> int:
    """How many files of a host may be in flight; those of this machine have none."""
    return HOST_IN_FLIGHT if host else IN_FLIGHT


def in_flight(audit_id: Any, host: str) -> int:
    """Files of a host that are queued or inspected, over all audits; of this machine, those of
    this audit."""
    # Asked by the keys of the open audits, of which there are few: joined with their states, the
    # items of all audits there ever were would be looked at.
    opened = Audit.objects.filter(state__in=OPEN_AUDITS).values_list("pk", flat=True)
    whose = list(opened) if host else [audit_id]
    return int(_in_work(AuditItem.objects.filter(audit__in=whose, host=host)).count())


def _in_work(rows: Any) -> Any:
    """Those of ``rows`` whose inspections have not ended, settled or not."""
    return rows.filter(state=ItemState.RUNNING, inspection__state__in=OPEN_STATES)


def _is_dead(audit: Audit, host: str) -> bool:
    """Whether the last files of a host before the next one to be asked for gave no answer.

    They are asked for in the order of their ids, which an index knows; by the time they ended,
    every one of thousands would have to be looked at.
    """
    items = AuditItem.objects.filter(audit=audit, host=host)
    waiting = items.filter(state=ItemState.WAITING).order_by("id")
    following = waiting.values_list("id", flat=True).first() if host else None
    if following is None:
        return False
    ended = items.filter(state=ItemState.SETTLED, reused=False, id__lt=following)
    codes = list(ended.order_by("-id").values_list("error_code", flat=True)[:TRIES])
    return len(codes) == TRIES and all(code in SILENT for code in codes)


def _give_up(rows: Any, host: str) -> None:
    error = silence(host)
    for item in rows.iterator(chunk_size=BATCH):
        settle_without_report(item, error.code, error.message)


def _queue(audit: Audit, chosen: Sequence[AuditItem]) -> None:
    """Make the inspections of these items, then send their messages with one producer."""
    with transaction.atomic():
        # Another worker may feed the same audit: what it took meanwhile is no longer waiting.
        keys = [item.pk for item in chosen]
        waiting = AuditItem.objects.select_for_update().filter(pk__in=keys)
        items = list(waiting.filter(state=ItemState.WAITING).order_by("id"))
        rows = [_inspection(audit, item) for item in items]
        Inspection.objects.bulk_create(rows, batch_size=BATCH)
        for item, row in zip(items, rows, strict=True):
            item.inspection, item.state = row, ItemState.RUNNING
        AuditItem.objects.bulk_update(items, ["inspection", "state"], batch_size=BATCH)
    sent = queue.send_many([(row.pk, row.lane) for row in rows])
    Inspection.objects.filter(pk__in=sent, state=State.QUEUED).update(sent_at=timezone.now())


def _inspection(audit: Audit, item: AuditItem) -> Inspection:
    first = unpack_files(bytes(item.files))[0]
    fields: dict[str, Any] = {
        "target": safe_text(first.locator),
        "profile": audit.profile,
        "policy": audit.policy,
        "expected": {},
        "depth": audit.depth,
    }
    return Inspection(
        owner_id=audit.owner_id,
        source_kind="listed",
        audited=True,
        locator=item.path,
        name=clip(safe_text(first.name), 255),
        lane=queue.AUDIT_LANE if audit.depth == HEADER else audit.depth,
        subject=subject_of(fields, []),
        **fields,
    )
