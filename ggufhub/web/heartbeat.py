"""Signs of life: every worker writes its name and its queues into the broker, where they fade."""

from collections import Counter
from collections.abc import Iterable

import redis

EVERY_SECONDS = 10.0
FADES_SECONDS = 35
"""Three signs may fail to come before a worker counts as dead, for it may only be busy."""

PREFIX = "ggufhub:worker:"


def beat(client: redis.Redis, node: str, queues: Iterable[str]) -> None:
    """Note that the worker ``node`` lives and takes from ``queues``. Raises ``RedisError``."""
    client.set(PREFIX + node, ",".join(sorted(queues)), ex=FADES_SECONDS)


def lives(client: redis.Redis, node: str) -> bool:
    """Whether the worker ``node`` gave a sign lately. Raises ``RedisError``."""
    return bool(client.exists(PREFIX + node))


def served(client: redis.Redis) -> Counter[str]:
    """How many living workers take from each queue. Raises ``RedisError``."""
    found: Counter[str] = Counter()
    for key in client.scan_iter(match=f"{PREFIX}*", count=1000):
        # It may have faded since.
        found.update(name.decode() for name in (client.get(key) or b"").split(b",") if name)
    return found
