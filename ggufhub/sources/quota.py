"""What a server says is left of its quota of requests."""

import re
import time
from dataclasses import dataclass
from email.message import Message

from ggufhub.sources.answers import LONGEST_WAIT, retry_after

_LEFT = re.compile(r";\s*r=([0-9]{1,9})")
_RESET = re.compile(r";\s*t=([0-9]{1,9})")
"""Requests left and seconds to the next window, in any order (``RateLimit: "api";r=12;t=55``, draft
09 of the header)."""


@dataclass(frozen=True, slots=True)
class Left:
    """``requests`` that a server still takes before the time of day ``until`` (seconds of
    ``time.time``, which all processes share); after it nothing is known."""

    requests: int
    until: float

    @classmethod
    def told(cls, status: int, headers: Message) -> "Left | None":
        """What an answer says of it; None where it says nothing. Of several quotas, parted by
        commas, the one with the least left counts."""
        now = time.time()
        told = []
        for quota in (headers.get("RateLimit") or "").split(","):
            requests, seconds = _LEFT.search(quota), _RESET.search(quota)
            if requests and seconds:
                told.append(cls(int(requests[1]), now + min(float(seconds[1]), LONGEST_WAIT)))
        if told:
            return min(told, key=lambda left: left.requests)
        wait = retry_after(headers) if status in (429, 503) else None
        return None if wait is None else cls(0, now + wait)

    @property
    def seconds(self) -> float:
        """To the next window; nothing or less once that has begun."""
        return self.until - time.time()

    def beside(self, other: "Left | None") -> "Left":
        """The one of two with less left, for answers that came at about the same time: each counts
        the requests before it, and they may be heard in another order."""
        if other is None or other.seconds <= 0:
            return self
        return min(self, other, key=lambda left: left.requests)
