"""Probes: is the process up, and can it do its work."""

from http import HTTPStatus

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from ggufhub.hub import queue


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """200 as long as this process answers; it asks nobody else."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """200 if the database and the broker answer, else 503; ``checks`` says which one does not."""
    checks = {"database": _database(), "broker": queue.waiting() is not None}
    ready = all(checks.values())
    body = {
        "status": "ok" if ready else "unavailable",
        "checks": {name: "ok" if fine else "unavailable" for name, fine in checks.items()},
    }
    return JsonResponse(body, status=HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE)


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True
