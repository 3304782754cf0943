"""Small middlewares: security headers, a name and a clock for every request, and the door of the
pages."""

import time
import uuid
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, UnreadablePostError

from ggufhub.hub import audit_log
from ggufhub.web.log import subject
from ggufhub.web.metrics import requests

Handler = Callable[[HttpRequest], HttpResponse]

SAME_ORIGIN_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "object-src 'none'",
        "frame-ancestors 'none'",
    )
)
"""Nothing inline, nothing from elsewhere: a name in a file can at worst be shown, never run."""

CONTENT_SECURITY_POLICY = (
    f"{SAME_ORIGIN_POLICY}; require-trusted-types-for 'script'; trusted-types ggufhub"
)
"""Nor does a script of ours turn text into markup or code: the browser refuses it (Trusted Types).
What the policy ``ggufhub`` lets through are the addresses of our workers (``hash.js``)."""

HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""Django's own SecurityMiddleware adds nosniff, the referrer policy and the opener policy."""


def security_headers(get_response: Handler) -> Handler:
    """Every answer carries ``HEADERS``, errors included.

    Django's administration is spared Trusted Types: its jQuery sets ``innerHTML`` as it loads.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if _of_admin(request):
            response.headers.setdefault("Content-Security-Policy", SAME_ORIGIN_POLICY)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return handle


def _of_admin(request: HttpRequest) -> bool:
    """Whether a view of Django's administration answered."""
    return request.resolver_match is not None and "admin" in request.resolver_match.app_names


def request_id(get_response: Handler) -> Handler:
    """Names the request ``request.id``, in its log lines and in the ``X-Request-Id`` answer."""

    def handle(request: HttpRequest) -> HttpResponse:
        request.id = uuid.uuid4().hex
        with subject(request.id, "request"), audit_log.acting(request):
            response = get_response(request)
        response.headers["X-Request-Id"] = request.id
        return response

    return handle


def client_address(get_response: Handler) -> Handler:
    """``REMOTE_ADDR`` is the client's, also behind as many proxies as ``settings.PROXIES`` says.

    What a client itself writes into ``X-Forwarded-For`` stands before what our proxies add.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        if settings.PROXIES:
            passed = request.headers.get("X-Forwarded-For", "").split(",")
            if len(passed) >= settings.PROXIES and (address := passed[-settings.PROXIES].strip()):
                request.META["REMOTE_ADDR"] = address
        return get_response(request)

    return handle


def measured(get_response: Handler) -> Handler:
    """Counts every answer and how long it took, by the name of its view."""

    def handle(request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = get_response(request)
        match = request.resolver_match
        route = match.view_name if match and match.view_name else "other"
        requests.note(route, request.method, response.status_code, time.perf_counter() - began)
        return response

    return handle


def cut_off(get_response: Handler) -> Handler:
    """A form that ends too early is a mistake of the client, and none of ours for the log."""

    def handle(request: HttpRequest) -> HttpResponse:
        return get_response(request)

    def process_exception(_: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, UnreadablePostError):
            return HttpResponse("The request ended too early.\n", "text/plain", 400)
        return None

    handle.process_exception = process_exception
    return handle


PUBLIC_PATHS = ("/healthz", "/readyz", "/metrics", "/api/", "/signin")
"""Probes tell nothing about anyone; figures and the API refuse strangers themselves, as a problem
document."""


def known_users_only(get_response: Handler) -> Handler:
    """Where sign-in is required, no page answers a stranger, whatever its view forgets to ask.

    Who opens one is sent to sign in and comes back to it; who sends a form is refused.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        return get_response(request)

    def process_view(request: HttpRequest, *_: object) -> HttpResponse | None:
        public = request.path.startswith(PUBLIC_PATHS)
        if settings.AUTH_MODE != "required" or public or request.user.is_authenticated:
            return None
        if request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        return redirect_to_login(request.get_full_path())

    handle.process_view = process_view
    return handle
