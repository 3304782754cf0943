"""Who may call: the local user in open mode, signed-in users otherwise, no other web site ever."""

from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated, PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from ggufhub.api.problems import Problem
from ggufhub.hub import tokens
from ggufhub.hub.models import ApiToken


class BearerToken(BaseAuthentication):
    """``Authorization: Bearer ggh_…``. A request that carries one is judged by it alone.

    It comes first, and a token that opens nothing is refused: the session of a browser never
    lends its rights to a request with a token.
    """

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.casefold() != "bearer":
            return None
        token = tokens.find(text.strip())
        if token is None:
            raise AuthenticationFailed("This token is unknown, revoked or expired.")
        return token.owner, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="ggufhub"'


class MayUse(BasePermission):
    """Everyone in open mode (which only a loopback address allows), else signed-in users."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if settings.AUTH_MODE != "open" and not request.user.is_authenticated:
            raise NotAuthenticated("Sign in, or send a token.")
        return True


class SignedIn(BasePermission):
    """A user, in open mode too: what is made here belongs to somebody."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if not request.user.is_authenticated:
            raise NotAuthenticated("This belongs to a user: sign in, or send a token.")
        return True


class Operator(BasePermission):
    """Everyone in open mode, else users who may sign in to the administration."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if settings.AUTH_MODE == "open":
            return True
        if not request.user.is_authenticated:
            raise NotAuthenticated("This is for operators: sign in, or send a token.")
        return bool(request.user.is_staff)


class HasScope(BasePermission):
    """A token may read with any scope and change things with ``submit``.

    A view whose ``scope`` is set needs that one for every method.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        if not isinstance(request.auth, ApiToken):
            return True
        usual = "read" if request.method in SAFE_METHODS else "submit"
        needed = getattr(view, "scope", usual)
        if not tokens.allows(request.auth, needed):
            raise Problem(
                HTTPStatus.FORBIDDEN, "insufficient-scope", f"The token needs the scope {needed}."
            )
        return True


class NotCrossSite(BasePermission):
    """Refuses changes that a page of another site asks a browser to make.

    Open mode has no session, hence no CSRF token: without this any page the local user visits
    could send files here. Programs that are no browser send neither header.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        if request.method in SAFE_METHODS:
            return True
        site = request.headers.get("Sec-Fetch-Site", "none")
        origin = request.headers.get("Origin")
        same = origin is None or _host(origin) == request.get_host()
        if not (same and site in ("none", "same-origin")):
            raise PermissionDenied("Another web site may not do this.")
        return True


def _host(origin: str) -> str | None:
    """The host and port of an origin; None for what is none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None
