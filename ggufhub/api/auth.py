"""Who may call: the local user in open mode, signed-in users otherwise, no other web site ever."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request


class MayUse(BasePermission):
    """Everyone in open mode (which only a loopback address allows), else signed-in users."""

    message = "Sign in first."

    def has_permission(self, request: Request, view: Any) -> bool:
        return settings.AUTH_MODE == "open" or bool(request.user and request.user.is_authenticated)


class NotCrossSite(BasePermission):
    """Refuses changes that a page of another site asks a browser to make.

    Open mode has no session, hence no CSRF token: without this any page the local user visits
    could send files here. Programs that are no browser send neither header.
    """

    message = "Another web site may not do this."

    def has_permission(self, request: Request, view: Any) -> bool:
        if request.method in SAFE_METHODS:
            return True
        site = request.headers.get("Sec-Fetch-Site", "none")
        origin = request.headers.get("Origin")
        same = origin is None or urlsplit(origin).netloc == request.get_host()
        return same and site in ("none", "same-origin")
