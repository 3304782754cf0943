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

from django.conf import settings
from django.utils import timezone

from ggufhub.errors import UsageError
from ggufhub.hub.models import OPEN_STATES, Delivery, Inspection, Webhook
from ggufhub.hub.services import URL_LENGTH, parse_link
from ggufhub.hub.values import clip

SECRET_PREFIX = "whsec_"
MOST_PER_USER = 20

RETRY_AFTER = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
)
"""Pauses between attempts, as the Standard Webhooks specification proposes them."""

ANNOUNCED_WITHIN = timedelta(days=1)
"""How long after the end of an inspection it is still news, if no worker ran meanwhile."""

BATCH = 200


def create(*, owner: Any, url: str) -> Webhook:
    """A new webhook with its secret. ``UsageError`` for what is no link, or too many of them.

    Whether the address may be reached is the worker's decision, at the moment it connects.
    """
    url = url.strip()
    if len(url) > URL_LENGTH or not url.isprintable() or " " in url:
        raise UsageError(f"A link has at most {URL_LENGTH} characters, none of them a space.")
    locator, _ = parse_link(url)
    if Webhook.objects.filter(owner=owner).count() >= MOST_PER_USER:
        raise UsageError(f"A user has at most {MOST_PER_USER} webhooks. Delete one first.")
    secret = SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
    return Webhook.objects.create(owner=owner, url=url, locator=locator, secret=secret)


def of(user: Any) -> Any:
    """The webhooks of ``user``; all of them in open mode."""
    if settings.AUTH_MODE == "open":
        return Webhook.objects.all()
    if user is None or not user.is_authenticated:
        return Webhook.objects.none()
    return Webhook.objects.filter(owner=user)


def announce(now: datetime) -> int:
    """Write a delivery for every inspection that ended since its owner's webhook was made."""
    made = 0
    for webhook in Webhook.objects.all():
        since = max(webhook.created, now - ANNOUNCED_WITHIN)
        ended = (
            Inspection.objects.filter(owner=webhook.owner_id, finished__gte=since)
            .exclude(state__in=OPEN_STATES)
            .exclude(deliveries__webhook=webhook)
        )
        rows = [Delivery(webhook=webhook, inspection=one) for one in ended[:BATCH]]
        made += len(rows)
        # Another worker may do the same at this moment: the second row of a pair is dropped.
        Delivery.objects.bulk_create(rows, ignore_conflicts=True)
    return made


def due(now: datetime) -> list[Delivery]:
    """The deliveries to attempt now, those that wait longest first."""
    rows = Delivery.objects.select_related("webhook", "inspection", "inspection__report")
    return list(
        rows.defer("inspection__report__document")
        .filter(next_at__lte=now)
        .order_by("next_at")[:BATCH]
    )


def claim(delivery: Delivery, now: datetime) -> bool:
    """Count an attempt and set the time of the next before this one begins; False if another
    worker has it. A worker that dies during the attempt therefore delays it, no more."""
    attempt = delivery.attempts
    again = now + RETRY_AFTER[attempt] if attempt < len(RETRY_AFTER) else None
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
    row = delivery.inspection
    report = getattr(row, "report", None)
    data = {
        "id": str(row.pk),
        "state": row.state,
        "name": row.name,
        "locator": row.locator,
        "verdict": None if report is None else report.verdict,
        "error": {"code": row.error_code, "message": row.error_message} if row.error_code else None,
    }
    finished = None if row.finished is None else row.finished.isoformat()
    body = {"type": f"inspection.{row.state}", "timestamp": finished, "data": data}
    return json.dumps(body, separators=(",", ":")).encode()


def signed(delivery: Delivery, body: bytes, now: datetime) -> dict[str, str]:
    """The three headers of Standard Webhooks, by which the receiver knows who sent ``body``."""
    name, at = f"msg_{delivery.pk.hex}", str(int(now.timestamp()))
    key = base64.b64decode(delivery.webhook.secret.removeprefix(SECRET_PREFIX))
    digest = hmac.new(key, f"{name}.{at}.".encode() + body, hashlib.sha256).digest()
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {"webhook-id": name, "webhook-timestamp": at, "webhook-signature": signature}
