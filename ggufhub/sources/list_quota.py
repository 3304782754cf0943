"""The quota of a hub's API: kept by the hub's own word, so that it need not refuse a request."""

from typing import Any

from ggufhub.errors import SourceError
from ggufhub.sources.api import MOST_BYTES, Answer, Api
from ggufhub.sources.quota import Left


class Quota:
    """What a hub last said is left of a quota. One of them serves all connections to it."""

    def __init__(self) -> None:
        self._left: Left | None = None

    def note(self, answer: Answer) -> None:
        """Take in what an answer says."""
        self._left = Left.told(answer.status, answer.headers) or self._left

    def check(self) -> None:
        """``SourceError('rate_limited')`` with the seconds to wait, where nothing is left."""
        left = self._left
        if left is not None and left.requests == 0 and left.seconds > 0:
            message = "The hub's quota of requests is used up."
            raise SourceError("rate_limited", message, left.seconds)


class MeteredApi(Api):
    """An API that is not asked while its ``quota`` is used up."""

    def __init__(self, base: str, *, quota: Quota, **how: Any) -> None:
        super().__init__(base, **how)
        self._quota = quota

    def get(self, place: str, accept: str = "*/*", most: int = MOST_BYTES) -> Answer:
        self._quota.check()
        answer = super().get(place, accept, most)
        self._quota.note(answer)
        return answer
