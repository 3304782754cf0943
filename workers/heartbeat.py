"""A step of every worker's consumer that gives a sign of life (see ``ggufhub.web.heartbeat``).

It runs in the process that takes messages, so a sign says that messages are taken: a worker that
is stopped, or cut off from the broker, gives none.
"""

import logging
from typing import Any

from django.conf import settings
from redis import RedisError

from ggufhub.web import heartbeat
from ggufhub.web.redis_client import connect
from workers.repeated import Repeated

log = logging.getLogger(__name__)


class SignOfLife(Repeated):
    """Beats at the start, which comes after every reconnection, and again and again from then."""

    seconds = heartbeat.EVERY_SECONDS

    def __init__(self, consumer: Any, **options: Any) -> None:
        super().__init__(consumer, **options)
        self._client = connect(settings.BROKER_URL)

    def start(self, consumer: Any) -> None:
        self.act(consumer)
        super().start(consumer)

    def act(self, consumer: Any) -> None:
        try:
            heartbeat.beat(self._client, consumer.hostname, consumer.app.amqp.queues.consume_from)
        except (RedisError, OSError) as error:
            log.warning("no sign of life was given, the broker failed: %s", error)
