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

INSPECT = "workers.inspect"
QUEUE = "inspect"

TRANSPORT_OPTIONS = {
    # A broker that accepts and then says nothing must not hold a web thread for a minute.
    "socket_timeout": 5,
    "socket_connect_timeout": 2,
    "socket_keepalive": True,
    # Longer than any task: a message that is still being worked on must not be handed out twice.
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


def send_inspect(inspection_id: UUID) -> bool:
    """Ask for one inspection; False if the broker cannot take it now. The task id is the row's."""
    name = str(inspection_id)
    try:
        _app().send_task(INSPECT, args=[name], task_id=name, queue=QUEUE)
    except (OperationalError, RedisError, OSError) as error:
        log.warning("inspection %s was not sent, the broker failed: %s", name, error)
        return False
    return True


def waiting() -> int | None:
    """How many messages wait in the queue; None if the broker does not answer."""
    try:
        with _app().connection_for_write() as connection:
            return int(connection.default_channel.client.llen(QUEUE))
    except (OperationalError, RedisError, OSError):
        return None
