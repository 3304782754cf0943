"""How often something may be asked: token buckets in the broker, shared by all web processes.

One script takes and counts in one step, so that two requests never take the same turn. Where the
broker is down everybody is let in: it is a guard against floods, not a lock.
"""

import logging
from dataclasses import dataclass
from functools import cache

import redis
from django.conf import settings

from ggufhub.web.redis_client import connect

MINUTE_MS = 60_000
_TAKE = """
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
local most, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local kept = redis.call('HMGET', KEYS[1], 'left', 'at')
local left = tonumber(kept[1]) or most
local elapsed = math.max(0, now - (tonumber(kept[2]) or now))
left = math.min(most, left + elapsed * most / window)
local allowed = 0
if left >= 1 then
  left = left - 1
  allowed = 1
end
redis.call('HSET', KEYS[1], 'left', tostring(left), 'at', now)
redis.call('PEXPIRE', KEYS[1], window)
return {allowed, math.floor(left), math.ceil((1 - math.min(left, 1)) * window / most)}
"""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Budget:
    """``most`` turns a minute, all of which may be taken at once. 0 turns: no limit."""

    name: str
    most: int


@dataclass(frozen=True, slots=True)
class Turn:
    """What taking a turn gave: ``left`` turns, the next one in ``wait`` seconds (0: now)."""

    budget: Budget
    allowed: bool
    left: int
    wait: int


SUBMIT = Budget("submit", settings.SUBMIT_PER_MINUTE)
CREATE_TOKEN = Budget("tokens", 5)
PING = Budget("ping", 10)
SIGN_IN = Budget("signin", 5)


def caller(user: object, address: str) -> str:
    """Whose turn it is: the user's, or that of the address where nobody is signed in."""
    key = getattr(user, "pk", None)
    return f"address:{address}" if key is None else f"user:{key}"


def take(budget: Budget, who: str) -> Turn | None:
    """Take a turn of ``who``; None where nothing is counted."""
    if budget.most == 0:
        return None
    key = f"ggufhub:budget:{budget.name}:{who}"
    try:
        allowed, left, wait_ms = _script()(keys=[key], args=[budget.most, MINUTE_MS])
    except (redis.RedisError, OSError) as error:
        log.warning("the budget %s was not counted, the broker failed: %s", budget.name, error)
        return None
    return Turn(budget, bool(allowed), int(left), -(-int(wait_ms) // 1000))


@cache
def _script() -> redis.commands.core.Script:
    return connect(settings.BROKER_URL).register_script(_TAKE)
