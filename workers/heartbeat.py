"""A step of every worker's consumer that gives a sign of life (see ``ggufhub.web.heartbeat``).

It runs in the process that takes messages, so a sign says that messages are taken: a worker that
is stopped, or cut off from the broker, gives none.
"""

import logging
from typing import Any

from celery import bootsteps
from django.conf import settings
from redis import RedisError

from ggufhub.web import heartbeat
from ggufhub.web.redis_client import connect

log = logging.getLogger(__name__)


class SignOfLife(bootsteps.StartStopStep):
    """Beats at the start, which comes after every reconnection, and on a timer from then on."""

    requires = {"celery.worker.consumer.tasks:Tasks"}

    def __init__(self, consumer: Any, **options: Any) -> None:
        super().__init__(consumer, **options)
        self._client = connect(settings.BROKER_URL)
        self._timer: Any = None

    def start(self, consumer: Any) -> None:
        self._beat(consumer)
        self._timer = consumer.timer.call_repeatedly(
            heartbeat.EVERY_SECONDS, self._beat, (consumer,)
        )

    def stop(self, consumer: Any) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _beat(self, consumer: Any) -> None:
        try:
            heartbeat.beat(self._client, consumer.hostname, consumer.app.amqp.queues.consume_from)
        except (RedisError, OSError) as error:
            log.warning("no sign of life was given, the broker failed: %s", error)
