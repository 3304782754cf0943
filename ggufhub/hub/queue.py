"""Messages to the workers, by task name: the web side imports none of their code.

A message only says "look at this row". Losing one costs time, never a job: ``services.reconcile``
sends it again.
"""

import logging
from collections.abc import Sequence
from functools import cache
from typing import Any
from uuid import UUID

from celery import Celery
from django.conf import settings
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from ggufhub.limits import FULL, HEADER

INSPECT, DIGEST = "workers.inspect", "workers.digest"
DELIVER, REJUDGE = "workers.deliver", "workers.rejudge"
RENDER = "workers.render"
AUDITS, AUDIT_STEP = "workers.audits", "workers.audit_step"
QUEUE, DIGEST_QUEUE, AUDIT_QUEUE = "inspect", "digest", "audit"
HOOKS_QUEUE, HOUSEKEEPING = "hooks", "housekeeping"
QUEUES = (QUEUE, DIGEST_QUEUE, AUDIT_QUEUE, HOOKS_QUEUE, HOUSEKEEPING)

AUDIT_LANE = "audit"

ROUTES = {
    HEADER: (INSPECT, QUEUE),
    FULL: (DIGEST, DIGEST_QUEUE),
    AUDIT_LANE: (INSPECT, AUDIT_QUEUE),
}
"""Task and queue by lane. Reading every byte takes hours and an audit has ten thousand models: a
single header shall wait for neither."""

TRANSPORT_OPTIONS = {
    # A broker that accepts and then says nothing must not hold a web thread for a minute.
    "socket_timeout": 5,
    "socket_connect_timeout": 2,
    "socket_keepalive": True,
    # Longer than any task that reads headers: what is being worked on is not handed out twice. The
    # digest of a large file takes longer; its second message finds a claimed row and ends there.
    "visibility_timeout": 600,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
}
PUBLISH_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.2}

log = logging.getLogger(__name__)


@cache
def _app() -> Celery:
    app = Celery("ggufhub", broker=settings.BROKER_URL, set_as_current=False)
    app.conf.update(
        # The policy twice: publishing and asking for the queue's length each read their own.
        broker_transport_options={**TRANSPORT_OPTIONS, **PUBLISH_POLICY},
        task_ignore_result=True,
        task_publish_retry_policy=PUBLISH_POLICY,
        task_serializer="json",
        accept_content=["json"],
    )
    return app


def send_inspect(inspection_id: UUID, lane: str = HEADER) -> bool:
    """Ask for one inspection; False if the broker cannot take it now. The task id is the row's."""
    name = str(inspection_id)
    task, queue = ROUTES[lane]
    return _send(task, queue, args=[name], task_id=name)


def send_many(rows: Sequence[tuple[UUID, str]]) -> list[UUID]:
    """Ask for many inspections, ``(id, lane)`` each, over one connection; the ids of those that
    the broker took."""
    sent = []
    try:
        with _app().producer_or_acquire() as producer:
            for inspection_id, lane in rows:
                task, queue = ROUTES[lane]
                name = str(inspection_id)
                _app().send_task(task, args=[name], task_id=name, queue=queue, producer=producer)
                sent.append(inspection_id)
    except (OperationalError, RedisError, OSError) as error:
        log.warning("%d of %d were sent, the broker failed: %s", len(sent), len(rows), error)
    return sent


def send_audits() -> bool:
    """Ask for a round over all audits now; without it there is one within seconds."""
    return _send(AUDITS, HOUSEKEEPING)


def send_audit_step(audit_id: UUID) -> bool:
    """Ask for the next long step of an audit: listing or concluding."""
    return _send(AUDIT_STEP, AUDIT_QUEUE, args=[str(audit_id)])


def send_deliver() -> bool:
    """Ask for a round of webhook deliveries now; without it there is one within seconds."""
    return _send(DELIVER, HOOKS_QUEUE)


def send_render(job_id: UUID) -> bool:
    """Ask for one conversation to be rendered. It waits with the headers: both are short."""
    return _send(RENDER, QUEUE, args=[str(job_id)])


def send_rejudge() -> bool:
    """Ask a worker to judge by its rules all that older ones have judged."""
    return _send(REJUDGE, HOUSEKEEPING)


def _send(task: str, queue: str, **message: Any) -> bool:
    try:
        _app().send_task(task, queue=queue, **message)
    except (OperationalError, RedisError, OSError) as error:
        about = message.get("task_id", "")
        log.warning("%s %s was not sent, the broker failed: %s", task, about, error)
        return False
    return True


def waiting(lane: str = HEADER) -> int | None:
    """How many messages wait in the lane's queue; None if the broker does not answer."""
    try:
        with _app().connection_for_write() as connection:
            return int(connection.default_channel.client.llen(ROUTES[lane][1]))
    except (OperationalError, RedisError, OSError):
        return None
