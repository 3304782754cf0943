"""Probes and figures: is the process up, can it do its work, how much of it does it do."""

from http import HTTPStatus

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from redis import RedisError
from rest_framework.request import Request
from rest_framework.views import APIView

from ggufhub.api.auth import HasScope, Operator
from ggufhub.hub import gauges, queue
from ggufhub.web import heartbeat, metrics
from ggufhub.web.redis_client import connect

NEEDED = frozenset({queue.QUEUE, queue.HOUSEKEEPING})
"""Without a worker for these nothing is ever inspected or repaired."""


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """200 as long as this process answers; it asks nobody else."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """200 if the database, the broker and the workers are there, else 503; ``checks`` says which
    of them is not."""
    served = _served()
    checks = {
        "database": _database(),
        "broker": served is not None,
        "workers": served is not None and served >= NEEDED,
    }
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


def _served() -> frozenset[str] | None:
    """The queues that living workers take from; None if the broker does not answer."""
    try:
        return frozenset(heartbeat.served(connect(settings.BROKER_URL)))
    except (RedisError, OSError):
        return None


class Metrics(APIView):
    """Figures for Prometheus: open in open mode, else for operators only."""

    permission_classes = (Operator, HasScope)

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        text = metrics.exposition([*metrics.requests.families(), *gauges.families()])
        answer = HttpResponse(text, content_type="text/plain; version=0.0.4; charset=utf-8")
        answer.headers["Cache-Control"] = "no-store"
        return answer
