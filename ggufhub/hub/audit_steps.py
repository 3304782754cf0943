"""The steps of an audit, each safe to repeat: list, settle, conclude. ``audit_feed`` queues.

Everything that has to be known is in the rows, so a worker that dies loses a step and no model.
Counts are never stored: they are those of the items.
"""

import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from ggufhub.audit.facts import Row, make_row, pack_row, unpack_row
from ggufhub.audit.groups import Item
from ggufhub.audit.hosts import host_of
from ggufhub.audit.stored import pack_files, unpack_files
from ggufhub.hub.audit_models import OPEN_AUDITS, Audit, AuditItem, AuditState, ItemState, Place
from ggufhub.hub.models import OPEN_STATES, Report
from ggufhub.hub.values import clamp, clip
from ggufhub.report.codec import Json, decode_document, safe_text

SETTLED_A_ROUND = 512

LEASE = timedelta(minutes=2)
"""Listing or concluding that says nothing for so long was lost with its worker."""

MOST_ATTEMPTS = 5
"""Times one audit is taken up again after a worker was lost with it."""

BATCH = 500


def lease(audit_id: Any, now: datetime) -> bool:
    """Take the audit for listing or concluding; False if somebody has it, or it has ended."""
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    rows = Audit.objects.filter(free, pk=audit_id, state__in=OPEN_AUDITS)
    # Each condition within the statement that acts on it: whoever holds the audit may give it
    # back at any time.
    _fail(
        rows.filter(attempts__gte=MOST_ATTEMPTS),
        "worker_lost",
        f"{MOST_ATTEMPTS} workers were lost with this audit.",
    )
    taken = rows.update(
        lease_until=now + LEASE,
        attempts=F("attempts") + 1,
        state=AuditState.RUNNING,
        started=Coalesce("started", now),
    )
    return bool(taken)


def renew(audit_id: Any) -> bool:
    """Hold the audit for longer; False if it was cancelled meanwhile."""
    rows = Audit.objects.filter(pk=audit_id, state__in=OPEN_AUDITS)
    return bool(rows.update(lease_until=timezone.now() + LEASE))


def release(audit_id: Any, **changes: Any) -> None:
    """Give the audit back after a step that went well."""
    rows = Audit.objects.filter(pk=audit_id, state__in=OPEN_AUDITS)
    rows.update(lease_until=None, attempts=0, **changes)


def wait(audit_id: Any, seconds: float) -> None:
    """Leave the audit alone until a hub that is too busy takes requests again."""
    until = timezone.now() + timedelta(seconds=max(seconds, 1.0))
    rows = Audit.objects.filter(pk=audit_id, state__in=OPEN_AUDITS)
    rows.update(lease_until=until, attempts=0)


def fail(audit_id: Any, code: str, message: str) -> None:
    """End the audit without a result, because there was nothing to list or workers died."""
    _fail(Audit.objects.filter(pk=audit_id, state__in=OPEN_AUDITS), code, message)


def _fail(rows: Any, code: str, message: str) -> None:
    rows.update(
        state=AuditState.FAILED,
        error_code=clip(code, 64),
        error_message=clip(safe_text(message), 2000),
        finished=timezone.now(),
        lease_until=None,
    )


def add_places(audit: Audit, targets: Sequence[str]) -> None:
    """Write down where to look, once."""
    rows = (Place(audit=audit, position=n, target=text) for n, text in enumerate(targets))
    Place.objects.bulk_create(rows, ignore_conflicts=True, batch_size=BATCH)


def add_items(place: Place, items: Sequence[Item], listing: bytes, rule_set: str) -> None:
    """Write down the models of a place, in slices, and that it is listed.

    A model that the previous audit saw with the same bytes, judged by the same rules, is settled
    at once with what was found then.
    """
    for start in range(0, len(items), BATCH):
        part = items[start : start + BATCH]
        known = _known(place.audit, part, rule_set)
        rows = [_item_row(place, item, known.get(_key(item.path))) for item in part]
        AuditItem.objects.bulk_create(rows, ignore_conflicts=True, batch_size=BATCH)
        if not renew(place.audit_id):
            return
    Place.objects.filter(pk=place.pk).update(listed=True, listing=listing)


def _known(audit: Audit, items: Sequence[Item], rule_set: str) -> dict[str, AuditItem]:
    """What the previous audit keeps of these models, by key, where it may be used again."""
    previous = audit.previous
    if previous is None or previous.rule_set != rule_set:
        return {}
    rows = AuditItem.objects.filter(
        audit=previous, key__in=[_key(item.path) for item in items], error_code=""
    )
    return {row.key: row for row in rows.exclude(row=None).exclude(identity="")}


def _key(path: str) -> str:
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()


_TAKEN_OVER = (
    "inspection_id",
    "verdict",
    "quant",
    "bits_per_weight",
    "errors",
    "warnings",
    "infos",
    "row",
)


def _item_row(place: Place, item: Item, last: AuditItem | None) -> AuditItem:
    row = AuditItem(
        audit_id=place.audit_id,
        place=place,
        key=_key(item.path),
        path=safe_text(item.path),
        family=safe_text(item.family),
        role=clip(item.role, 16),
        host=clip(host_of(item.files[0].locator), 255),
        identity=item.identity or "",
        files=pack_files(item.files),
        size=clamp(item.size),
        quant=clip(item.quant, 32),
    )
    if last is not None and last.identity == row.identity:
        row.state, row.reused, row.settled_at = ItemState.SETTLED, True, timezone.now()
        for name in _TAKEN_OVER:
            setattr(row, name, getattr(last, name))
    return row


def item_of(row: AuditItem) -> Item:
    """The listed model of a row."""
    return Item(unpack_files(bytes(row.files)), row.family, row.role, row.quant)


def settle(audit: Audit) -> int:
    """Take over what ended inspections say; how many there were."""
    rows = AuditItem.objects.filter(audit=audit, state=ItemState.RUNNING)
    ended = rows.filter(Q(inspection=None) | ~Q(inspection__state__in=OPEN_STATES))
    items = list(ended.select_related("inspection").order_by("id")[:SETTLED_A_ROUND])
    wanted = [item.inspection_id for item in items]
    documents = dict(
        Report.objects.filter(pk__in=wanted)
        .values_list("pk", "document__data")
        .iterator(chunk_size=50)
    )
    for item in items:
        stored = documents.get(item.inspection_id)
        if stored is not None:
            settle_with(item, decode_document(bytes(stored)))
        elif item.inspection is None:
            settle_without_report(item, "deleted", "The inspection was deleted.")
        else:
            row = item.inspection
            message = row.error_message or "The inspection was cancelled."
            settle_without_report(item, row.error_code or row.state, message)
    return len(items)


def settle_with(item: AuditItem, document: dict[str, Json]) -> None:
    """The item says what its report says."""
    row = make_row(item_of(item), document)
    error = document["error"]
    _settle(item, row, "" if error is None else error["code"])


def settle_without_report(item: AuditItem, code: str, message: str) -> None:
    """The item ended without a report: the reason is all there is to say."""
    row = make_row(item_of(item), _empty(item, code, message))
    _settle(item, row, code)


def _settle(item: AuditItem, row: Row, code: str) -> None:
    counts, summary = row["counts"], row["report"]["summary"]
    quant = row["facts"]["label"] or item.quant
    AuditItem.objects.filter(pk=item.pk).exclude(state=ItemState.SETTLED).update(
        state=ItemState.SETTLED,
        settled_at=timezone.now(),
        verdict=row["report"]["verdict"],
        error_code=clip(code, 64),
        size=clamp(row["size"]),
        quant=clip(quant, 32),
        bits_per_weight=summary["bits_per_weight"],
        errors=counts["error"],
        warnings=counts["warning"],
        infos=counts["info"],
        row=pack_row(row),
    )


def _empty(item: AuditItem, code: str, message: str) -> dict[str, Json]:
    """A report about nothing but an error."""
    summary = ("name", "architecture", "parameters", "quant", "bits_per_weight")
    summary += ("context_length", "vocabulary", "license", "file_type")
    return {
        "source": item.path,
        "name": item.path.rpartition("/")[2],
        "verdict": "unreadable",
        "error": {"code": code, "message": message},
        "kind": "unknown",
        "format": {"name": "unknown", "version": None, "byte_order": None, "tensor_count": None},
        "summary": dict.fromkeys(summary),
        "files": [],
        "findings": [],
        "not_evaluated": [],
        "ignored": [],
        "seconds": {},
        "rule_set": {"version": "", "reference": "", "evaluated": []},
    }


def rows_of(audit: Audit, place: Place | None = None) -> Iterator[Row]:
    """The rows of everything settled, by path, read in slices."""
    items = AuditItem.objects.filter(audit=audit).exclude(row=None)
    if place is not None:
        items = items.filter(place=place)
    packed = items.order_by("path").values_list("row", "reused").iterator(chunk_size=BATCH)
    for row, reused in packed:
        yield {**unpack_row(bytes(row)), "reused": reused}


def finished_items(audit: Audit) -> bool:
    """Whether every place is listed and no item waits or runs."""
    return audit.listed and not (
        AuditItem.objects.filter(audit=audit).exclude(state=ItemState.SETTLED).exists()
    )


def conclude(audit: Audit, head: dict[str, Json], rule_set: str) -> bool:
    """Store the result, once; False if the audit had ended before."""
    changes = head["changes"]
    done = Audit.objects.filter(pk=audit.pk, state=AuditState.RUNNING).update(
        state=AuditState.DONE,
        finished=timezone.now(),
        lease_until=None,
        rule_set=clip(rule_set, 64),
        verdict=head["verdict"],
        regressed=bool(changes and changes["regressions"]),
        head=zlib.compress(json.dumps(head, separators=(",", ":")).encode(), 6),
    )
    return bool(done)


def postpone(places: Iterable[Place], seconds: float) -> None:
    """Leave places alone until a hub that is too busy takes requests again."""
    keys = [place.pk for place in places]
    until = timezone.now() + timedelta(seconds=max(seconds, 1.0))
    Place.objects.filter(pk__in=keys).update(not_before=until, postponed=F("postponed") + 1)
