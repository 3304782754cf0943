"""The task that delivers webhooks, through the same address policy as everything fetched."""

import os
import time

from django.utils import timezone

from ggufhub import __version__
from ggufhub.errors import SourceError
from ggufhub.hub import queue, webhooks
from ggufhub.hub.models import Delivery
from ggufhub.limits import Limits
from ggufhub.sources.base import Reads
from ggufhub.sources.exchange import Connections
from ggufhub.sources.policy import AddressPolicy
from ggufhub.sources.proxy import make_dialer
from workers.app import app

POLICY = AddressPolicy.from_environment()

LIMITS = Limits(seconds=15.0, request_seconds=10.0)
"""A receiver takes the message in and answers; its work comes after."""

ROUND_SECONDS = 60.0
"""Receivers that hang must not hold up news for longer: the rest is done in the next round."""


@app.task(name=queue.DELIVER)
def deliver() -> None:
    """Write the deliveries of what has ended, and attempt those that are due."""
    end = time.monotonic() + ROUND_SECONDS
    webhooks.announce(timezone.now())
    for delivery in webhooks.due(timezone.now()):
        if time.monotonic() > end:
            return
        if webhooks.claim(delivery, timezone.now()):
            attempt(delivery)


def attempt(delivery: Delivery) -> None:
    """Send one message once, and write down what came of it. Redirects are not followed."""
    try:
        status = _send(delivery)
    except SourceError as error:
        webhooks.note(delivery, status=None, error=error.message)
    else:
        webhooks.note(delivery, status=status, error="" if status < 300 else f"Status {status}.")


def _send(delivery: Delivery) -> int:
    target = POLICY.parse(delivery.webhook.url)
    body = webhooks.message(delivery)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"ggufhub/{__version__}",
        **webhooks.signed(delivery, body, timezone.now()),
    }
    connections = Connections(make_dialer(POLICY, os.environ), LIMITS, Reads())
    try:
        return connections.post(target, headers, body).status
    finally:
        connections.close()
