"""Messages to the workers, by task name: the web side imports none of their code.

A message only says "look at this row". Losing one costs time, never a job: ``services.reconcile``
sends it again.
"""

import logging
from functools import cache
from uuid import UUID

from celery import Celery
from django.conf import settings
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from ggufhub.limits import FULL, HEADER

INSPECT, DIGEST = "workers.inspect", "workers.digest"
QUEUE, DIGEST_QUEUE = "inspect", "digest"

ROUTES = {HEADER: (INSPECT, QUEUE), FULL: (DIGEST, DIGEST_QUEUE)}
"""Task and queue by depth: reading every byte takes hours, which no header shall wait for."""

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


def send_inspect(inspection_id: UUID, depth: str = HEADER) -> bool:
    """Ask for one inspection; False if the broker cannot take it now. The task id is the row's."""
    name = str(inspection_id)
    task, queue = ROUTES[depth]
    try:
        _app().send_task(task, args=[name], task_id=name, queue=queue)
    except (OperationalError, RedisError, OSError) as error:
        log.warning("inspection %s was not sent, the broker failed: %s", name, error)
        return False
    return True


def waiting(depth: str = HEADER) -> int | None:
    """How many messages wait in the depth's queue; None if the broker does not answer."""
    try:
        with _app().connection_for_write() as connection:
            return int(connection.default_channel.client.llen(ROUTES[depth][1]))
    except (OperationalError, RedisError, OSError):
        return None
