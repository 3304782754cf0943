"""A plain connection to the broker, for counters and signs of life beside the queues."""

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

TIMEOUT_SECONDS = 0.5
"""A request waits no longer for a broker that says nothing."""


def connect(url: str) -> redis.Redis:
    """A client of the broker at ``url``, which is written as the queue's library wants it."""
    # That library has names of its own for a unix socket and for the database on it.
    url = url.replace("redis+socket:", "unix:", 1).replace("virtual_host=", "db=", 1)
    return redis.Redis.from_url(
        url,
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
        # Once more at once: the broker may have been restarted since the last call.
        retry=Retry(NoBackoff(), 1),
    )
