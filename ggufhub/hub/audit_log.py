"""Who did what, in the log and in a table: sign-ins, tokens, webhooks, audits, cancels, admin.

The services call ``note``; who is acting, and from where, comes from the request at hand.
"""

import ipaddress
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.http import HttpRequest

from ggufhub.hub.audit_log_models import SecurityEvent
from ggufhub.hub.values import clip

ACTIONS = (
    *("sign-in", "sign-in.failed", "sign-out"),
    *("token.made", "token.revoked"),
    *("webhook.made", "webhook.rotated", "webhook.deleted"),
    *("inspection.cancelled", "audit.begun", "audit.cancelled"),
    *("schedule.made", "schedule.deleted"),
    *("admin.added", "admin.changed", "admin.deleted", "admin.ran-again"),
)

_request: ContextVar[HttpRequest | None] = ContextVar("request", default=None)

log = logging.getLogger(__name__)


@contextmanager
def acting(request: HttpRequest) -> Iterator[None]:
    """Whatever is noted inside was done by the user of ``request``."""
    token = _request.set(request)
    try:
        yield
    finally:
        _request.reset(token)


def note(action: str, subject: object = "", *, actor: str | None = None, **detail: Any) -> None:
    """Write down that one of ``ACTIONS`` was done to ``subject``.

    ``actor`` is the name of the user where it is not the one of the request. Call it in the
    transaction of the deed: both are kept, or neither.
    """
    if action not in ACTIONS:
        raise ValueError(action)
    request = _request.get()
    fields = {
        "action": action,
        "actor": clip(_name(request) if actor is None else actor, 150),
        "address": _address(request),
        "subject": clip(str(subject), 255),
    }
    SecurityEvent.objects.create(**fields, detail=detail)
    log.info("%s %s", action, fields["subject"], extra={"fields": {**fields, **detail}})


def _name(request: HttpRequest | None) -> str:
    if request is None:
        return "command"
    user = getattr(request, "user", None)
    return str(user.get_username()) if user is not None and user.is_authenticated else ""


def _address(request: HttpRequest | None) -> str | None:
    given = "" if request is None else request.META.get("REMOTE_ADDR", "")
    try:
        return str(ipaddress.ip_address(given))
    except ValueError:  # a unix socket has none
        return None


def prune(now: datetime) -> int:
    """Forget what is older than the operator wants to know; how many events there were."""
    oldest = now - timedelta(days=settings.AUDIT_LOG_DAYS)
    return int(SecurityEvent.objects.filter(at__lt=oldest).delete()[0])


def listen() -> None:
    """Note every sign-in from now on."""
    user_logged_in.connect(_signed_in)
    user_logged_out.connect(_signed_out)
    user_login_failed.connect(_sign_in_failed)


def _signed_in(user: Any, **_: Any) -> None:
    note("sign-in", user.get_username(), actor=user.get_username())


def _signed_out(user: Any, **_: Any) -> None:
    if user is not None:
        note("sign-out", user.get_username(), actor=user.get_username())


def _sign_in_failed(credentials: dict[str, Any], **_: Any) -> None:
    name = str(credentials.get("username", ""))
    # A name that does not exist may be a password in the wrong field: it is not written down.
    known = get_user_model().objects.filter(username=clip(name, 150)).exists()
    note("sign-in.failed", name if known else "", actor="")
