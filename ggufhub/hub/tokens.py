"""Tokens for programs: made once, shown once, kept as a digest."""

import hashlib
import hmac
import logging
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import Q
from django.utils import timezone

from ggufhub.errors import UsageError
from ggufhub.hub import audit_log
from ggufhub.hub.models import ApiToken
from ggufhub.hub.owners import own
from ggufhub.hub.values import clip

SCOPES = ("read", "submit", "admin")
"""Each includes those before it: who may submit may read what came of it."""

PREFIX = "ggh"
MOST_PER_USER = 100
MOST_DAYS = 3650
NOTED_EVERY = timedelta(minutes=1)
"""``last_used`` is no more exact than this: a write for every read would be one too many."""

log = logging.getLogger(__name__)


@transaction.atomic
def create(
    *, owner: Any, name: str, scopes: Collection[str], days: int | None = None
) -> tuple[ApiToken, str]:
    """A new token and its text, which is never to be had again. ``days`` of validity; None: no end.

    ``UsageError`` for no name, no or unknown scopes, days out of range, or too many tokens.
    """
    name = clip(name.strip(), 100)
    if not name:
        raise UsageError("A token needs a name.")
    if not scopes or not set(scopes) <= set(SCOPES):
        raise UsageError(f"The scopes of a token are one or more of {', '.join(SCOPES)}.")
    if days is not None and not 1 <= days <= MOST_DAYS:
        raise UsageError(f"A token is valid for 1 to {MOST_DAYS} days, or without end.")
    if ApiToken.objects.filter(owner=owner).count() >= MOST_PER_USER:
        raise UsageError(f"A user has at most {MOST_PER_USER} tokens. Revoke one first.")
    secret = secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        id=secrets.token_hex(6),
        owner=owner,
        name=name,
        digest=_digest(secret),
        scopes=[scope for scope in SCOPES if scope in scopes],
        expires=None if days is None else timezone.now() + timedelta(days=days),
    )
    audit_log.note("token.made", token.pk, owner=owner.get_username(), scopes=token.scopes)
    return token, f"{PREFIX}_{token.pk}_{secret}"


def find(text: str) -> ApiToken | None:
    """The valid token of an active user that ``text`` is, its use noted; else None."""
    prefix, _, rest = text.partition("_")
    token_id, _, secret = rest.partition("_")
    if prefix != PREFIX or not secret or not rest.isascii():
        return None
    token = valid(timezone.now()).select_related("owner").filter(pk=token_id).first()
    if token is None or not hmac.compare_digest(token.digest, _digest(secret)):
        return None
    _note_use(token)
    return token


def valid(now: datetime) -> Any:
    """The tokens that open anything at ``now``."""
    running = Q(expires=None) | Q(expires__gt=now)
    return ApiToken.objects.filter(running, owner__is_active=True)


def allows(token: ApiToken, scope: str) -> bool:
    """Whether ``token`` may do what needs ``scope``."""
    return any(SCOPES.index(own) >= SCOPES.index(scope) for own in token.scopes)


def of(owner: Any) -> Any:
    """The tokens of ``owner``, newest first; none for nobody."""
    return own(ApiToken.objects.all(), owner)


@transaction.atomic
def revoke(token: ApiToken) -> None:
    """From now on it opens nothing."""
    audit_log.note("token.revoked", token.pk, owner=token.owner.get_username())
    token.delete()


def _digest(secret: str) -> str:
    """A plain SHA-256 will do: 256 random bits cannot be guessed, however quick the hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _note_use(token: ApiToken) -> None:
    now = timezone.now()
    if token.last_used is None or token.last_used < now - NOTED_EVERY:
        try:
            ApiToken.objects.filter(pk=token.pk).update(last_used=now)
        except DatabaseError as error:
            # A database that is full can still be read.
            log.warning("the use of a token was not noted: %s", error)
