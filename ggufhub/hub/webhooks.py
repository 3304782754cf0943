"""Telling other programs that an inspection has ended (Standard Webhooks).

What has to be told is read from the inspections themselves, so nothing is lost with a process;
what was told, and when it is tried again, is in the deliveries.
"""

import base64
import hashlib
import hmac
import json
import secrets
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from ggufhub.errors import UsageError
from ggufhub.hub import audit_log, queue
from ggufhub.hub.links import parse_link
from ggufhub.hub.models import OPEN_STATES, Audit, Delivery, Inspection, Webhook
from ggufhub.hub.owners import owned
from ggufhub.hub.values import clip

SECRET_PREFIX = "whsec_"
MOST_PER_USER = 20

BOTH_SIGN = timedelta(hours=24)
"""How long the secret before a rotation still signs."""

RETRY_AFTER = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
)
"""Pauses between attempts, as the Standard Webhooks specification proposes them."""

ANNOUNCED_WITHIN = timedelta(days=1)
"""How long after the end of an inspection it is still news, if no worker ran meanwhile."""

KEPT = timedelta(days=30)
"""How long a delivery is listed. The last attempt is made three days after the first."""

BATCH = 200


@transaction.atomic
def create(*, owner: Any, url: str) -> Webhook:
    """A new webhook with its secret. ``UsageError`` for what is no link, or too many of them.

    Whether the address may be reached is the worker's decision, at the moment it connects.
    """
    link = parse_link(url)
    if Webhook.objects.filter(owner=owner).count() >= MOST_PER_USER:
        raise UsageError(f"A user has at most {MOST_PER_USER} webhooks. Delete one first.")
    webhook = Webhook.objects.create(
        owner=owner, url=link.target, locator=link.locator, secret=_new_secret()
    )
    audit_log.note("webhook.made", webhook.pk, locator=webhook.locator)
    return webhook


def _new_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


@transaction.atomic
def rotate(webhook: Webhook, now: datetime) -> Webhook:
    """Give it a new secret. For a day both sign, so that the receiver may change in peace."""
    webhook.old_secret, webhook.old_until = webhook.secret, now + BOTH_SIGN
    webhook.secret = _new_secret()
    webhook.save(update_fields=["secret", "old_secret", "old_until"])
    audit_log.note("webhook.rotated", webhook.pk)
    return webhook


@transaction.atomic
def delete(webhook: Webhook) -> None:
    """From now on it is told nothing."""
    audit_log.note("webhook.deleted", webhook.pk, locator=webhook.locator)
    webhook.delete()


def ping(webhook: Webhook) -> Delivery:
    """A test message: signed and sent like any other, at once, and only once."""
    delivery = Delivery.objects.create(webhook=webhook)
    transaction.on_commit(queue.send_deliver)
    return delivery


def of(user: Any) -> Any:
    """The webhooks of ``user``; all of them in open mode."""
    return owned(Webhook.objects.all(), user)


def announce(now: datetime) -> int:
    """Write a delivery for every inspection that ended since its owner's webhook was made, and
    for every audit that found something worse than the one before it.

    The inspections of an audit are not told one by one.
    """
    made = 0
    for webhook in Webhook.objects.all():
        since = max(webhook.created, now - ANNOUNCED_WITHIN)
        untold = {"owner": webhook.owner_id, "finished__gte": since}
        ended = (
            Inspection.objects.filter(**untold, audited=False)
            .exclude(state__in=OPEN_STATES)
            .exclude(deliveries__webhook=webhook)
        )
        worse = Audit.objects.filter(**untold, regressed=True).exclude(deliveries__webhook=webhook)
        rows = [Delivery(webhook=webhook, inspection=one) for one in ended[:BATCH]]
        rows += [Delivery(webhook=webhook, audit=one) for one in worse.defer("head")[:BATCH]]
        made += len(rows)
        # Another worker may do the same at this moment: the second row of a pair is dropped.
        Delivery.objects.bulk_create(rows, ignore_conflicts=True)
    return made


def prune(now: datetime) -> int:
    """Forget deliveries that ended long ago; how many there were."""
    ended = Delivery.objects.filter(next_at=None, created__lt=now - KEPT)
    return int(ended.delete()[0])


def due(now: datetime) -> list[Delivery]:
    """The deliveries to attempt now, those that wait longest first."""
    rows = Delivery.objects.select_related("webhook", "inspection__report", "audit")
    return list(rows.defer("audit__head").filter(next_at__lte=now).order_by("next_at")[:BATCH])


def claim(delivery: Delivery, now: datetime) -> bool:
    """Count an attempt and set the time of the next before this one begins; False if another
    worker has it. A worker that dies during the attempt therefore delays it, no more."""
    attempt = delivery.attempts
    again = now + RETRY_AFTER[attempt] if attempt < len(RETRY_AFTER) else None
    if delivery.inspection_id is None and delivery.audit_id is None:
        again = None  # a ping asks whether it works now
    claimed = Delivery.objects.filter(
        pk=delivery.pk, attempts=attempt, next_at=delivery.next_at
    ).update(attempts=attempt + 1, next_at=again)
    return bool(claimed)


def note(delivery: Delivery, *, status: int | None, error: str = "") -> None:
    """Write down what came of an attempt; a 2xx status ends the delivery."""
    changes: dict[str, Any] = {"status": status, "error": clip(error, 500)}
    if status is not None and 200 <= status < 300:
        changes |= {"delivered": timezone.now(), "next_at": None}
    Delivery.objects.filter(pk=delivery.pk).update(**changes)


def message(delivery: Delivery) -> bytes:
    """The body: the same in every attempt, because an inspection that has ended stays as it is."""
    row, audit = delivery.inspection, delivery.audit
    if audit is not None:
        body = {"type": "audit.regressed", "timestamp": _time(audit), "data": _told_audit(audit)}
    elif row is None:
        body = {"type": "ping", "timestamp": delivery.created.isoformat(), "data": {}}
    else:
        body = {"type": f"inspection.{row.state}", "timestamp": _time(row), "data": _told(row)}
    return json.dumps(body, separators=(",", ":")).encode()


def _time(row: Inspection | Audit) -> str | None:
    return None if row.finished is None else row.finished.isoformat()


def _told_audit(audit: Audit) -> dict[str, Any]:
    return {"id": str(audit.pk), "locator": audit.locator, "verdict": audit.verdict}


def _told(row: Inspection) -> dict[str, Any]:
    report = getattr(row, "report", None)
    return {
        "id": str(row.pk),
        "state": row.state,
        "name": row.name,
        "locator": row.locator,
        "verdict": None if report is None else report.verdict,
        "error": {"code": row.error_code, "message": row.error_message} if row.error_code else None,
    }


def signed(delivery: Delivery, body: bytes, now: datetime) -> dict[str, str]:
    """The three headers of Standard Webhooks, by which the receiver knows who sent ``body``.

    While two secrets are valid there are two signatures, with a space between them.
    """
    webhook = delivery.webhook
    name, at = f"msg_{delivery.pk.hex}", str(int(now.timestamp()))
    valid = [webhook.secret]
    if webhook.old_until is not None and now < webhook.old_until:
        valid.append(webhook.old_secret)
    content = f"{name}.{at}.".encode() + body
    signatures = " ".join(_signature(secret, content) for secret in valid)
    return {"webhook-id": name, "webhook-timestamp": at, "webhook-signature": signatures}


def _signature(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    digest = hmac.new(key, content, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"
