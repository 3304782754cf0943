"""Walker: one request, redirects followed by hand, headers built anew for each origin."""

import time
from collections.abc import Mapping
from email.message import Message

from ggufhub import __version__
from ggufhub.errors import SourceError
from ggufhub.sources.base import Hop
from ggufhub.sources.exchange import Connections, Reply
from ggufhub.sources.policy import AddressPolicy, Target

REDIRECTS = frozenset({301, 302, 303, 307, 308})

Trail = list[tuple[Hop, Message]]
"""Every host on the way with the headers it sent: the hub tells digests on its redirect only."""


class Walker:
    """Gets targets over ``connections``; ``headers`` go to ``origin`` only.

    Every client library tried forwards at least some headers to where a server redirects. Here
    nothing meant for one origin can reach another, because each request's headers are new.
    """

    def __init__(
        self,
        policy: AddressPolicy,
        connections: Connections,
        redirects: int,
        origin: tuple[str, str, int],
        headers: Mapping[str, str],
    ) -> None:
        self._policy = policy
        self._connections = connections
        self._redirects = redirects
        self._origin = origin
        self._headers = dict(headers)

    def get(self, target: Target, extra: Mapping[str, str]) -> tuple[Reply, Trail]:
        """The answer of the last host, and the way to it. ``extra`` goes to every host."""
        trail: Trail = []
        for _ in range(self._redirects + 1):
            began = time.monotonic()
            reply = self._connections.get(target, self._built(target, extra))
            seconds = round(time.monotonic() - began, 4)
            trail.append((Hop(target.host, reply.status, seconds), reply.headers))
            if reply.status not in REDIRECTS:
                return reply, trail
            reply.discard()
            target = self._policy.redirect(target, _location(reply.headers))
        raise SourceError("redirects", f"The server redirects more than {self._redirects} times.")

    def _built(self, target: Target, extra: Mapping[str, str]) -> dict[str, str]:
        own = self._headers if target.origin == self._origin else {}
        return {
            "User-Agent": f"ggufhub/{__version__}",
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            **own,
            **extra,
        }


def _location(headers: Message) -> str:
    text = headers.get("Location")
    if not text:
        raise SourceError("redirects", "The server redirects without saying where to.")
    try:
        return text.encode("latin-1").decode("utf-8")  # http.client reads header bytes as latin-1
    except UnicodeError:
        return text
