"""Api: small documents (JSON, manifests, templates) from one server, whole and capped."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any

from ggufhub.errors import SourceError
from ggufhub.limits import MIB, Limits
from ggufhub.sources import answers
from ggufhub.sources.base import Reads
from ggufhub.sources.dial import Dialer
from ggufhub.sources.exchange import Connections, Reply
from ggufhub.sources.policy import AddressPolicy
from ggufhub.sources.walk import Walker

MOST_BYTES = 8 * MIB
"""One page of a listing holds 1,000 entries of about 300 bytes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer; that of a refusal has no body."""

    status: int
    headers: Message
    body: bytes

    def good(self) -> "Answer":
        """This answer if its status is 200, else the ``SourceError`` for its status."""
        if self.status != 200:
            raise answers.refusal(self.status, self.headers)
        return self

    def json(self) -> Any:
        """The document, or ``SourceError('bad_answer')``."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise SourceError("bad_answer", "The server's answer is not valid JSON.") from error


class Api:
    """Reads documents below ``base``; ``headers`` (a token) go to its origin and nowhere else."""

    def __init__(
        self,
        base: str,
        *,
        policy: AddressPolicy,
        limits: Limits,
        dialer: Dialer,
        reads: Reads,
        headers: Mapping[str, str],
    ) -> None:
        self.base = policy.parse(base)
        self._policy = policy
        self._connections = Connections(dialer, limits, reads)
        self._walker = Walker(
            policy, self._connections, limits.redirects, self.base.origin, headers
        )

    def get(self, place: str, accept: str = "*/*", most: int = MOST_BYTES) -> Answer:
        """The answer to one request for ``place`` (a path, or a URL on the same origin).

        Raises ``SourceError`` for answers larger than ``most`` bytes; any status is returned.
        """
        target = self._policy.redirect(self.base, place)
        if target.origin != self.base.origin:
            raise SourceError("bad_answer", "The server continues its answer on another server.")
        reply, _ = self._walker.get(target, {"Accept": accept})
        try:
            body = b"" if reply.status >= 400 else _body(reply, most)
        except SourceError:
            reply.drop()
            raise
        reply.discard()
        return Answer(reply.status, reply.headers, body)

    def close(self) -> None:
        self._connections.close()


def _body(reply: Reply, most: int) -> bytes:
    answers.check_encoding(reply.headers)
    length = answers.whole_number(reply.headers, "Content-Length")
    if length is not None and length > most:
        raise SourceError("limit", f"The server's answer is larger than {most:,} bytes.")
    buffer = bytearray()
    while len(buffer) <= most:
        piece = bytearray(min(MIB, most + 1 - len(buffer)))
        count = reply.read_into(memoryview(piece))
        buffer += memoryview(piece)[:count]
        if count < len(piece):
            break
    if len(buffer) > most:
        raise SourceError("limit", f"The server's answer is larger than {most:,} bytes.")
    if reply.broken or (length is not None and len(buffer) < length):
        raise SourceError("short_body", "The server broke off its answer.")
    return bytes(buffer)
