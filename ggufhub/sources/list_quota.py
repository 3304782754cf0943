"""The quota of a hub's API: kept by the hub's own word, so that it need not refuse a request."""

import re
import time
from email.message import Message
from typing import Any

from ggufhub.errors import SourceError
from ggufhub.sources.answers import LONGEST_WAIT
from ggufhub.sources.api import MOST_BYTES, Answer, Api

_SPENT = re.compile(r";\s*r=0\s*;\s*t=(\d{1,9})")
"""Nothing is left for so many seconds (``RateLimit: "api";r=0;t=55``, draft 09 of the header)."""


class Quota:
    """What a hub last said is left of a quota. One of them serves all connections to it."""

    def __init__(self) -> None:
        self._until = 0.0

    def note(self, headers: Message) -> None:
        """Take in what an answer says."""
        spent = _SPENT.search(headers.get("RateLimit") or "")
        if spent is not None:
            self._until = time.monotonic() + min(float(spent[1]), LONGEST_WAIT)

    def check(self) -> None:
        """``SourceError('rate_limited')`` with the seconds to wait, where nothing is left."""
        left = self._until - time.monotonic()
        if left > 0:
            raise SourceError("rate_limited", "The hub's quota of requests is used up.", left)


class MeteredApi(Api):
    """An API that is not asked while its ``quota`` is used up."""

    def __init__(self, base: str, *, quota: Quota, **how: Any) -> None:
        super().__init__(base, **how)
        self._quota = quota

    def get(self, place: str, accept: str = "*/*", most: int = MOST_BYTES) -> Answer:
        self._quota.check()
        answer = super().get(place, accept, most)
        self._quota.note(answer.headers)
        return answer
