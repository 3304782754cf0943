"""HttpSource: a file on a web server, read by range.

The first request is already a ranged GET: HEAD hangs, is refused or tells lies on many servers,
and the answer to a range brings size, validators and the first bytes at once.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from email.message import Message
from urllib.parse import quote, unquote

from ggufhub import __version__
from ggufhub.errors import SourceError
from ggufhub.limits import KIB, Limits
from ggufhub.sources import answers
from ggufhub.sources.answers import Validators
from ggufhub.sources.base import ByteSource, Hop, Identity
from ggufhub.sources.dial import Dialer
from ggufhub.sources.exchange import Connections, Reply
from ggufhub.sources.policy import AddressPolicy, Target

REDIRECTS = frozenset({301, 302, 303, 307, 308})

EXPIRED = frozenset({400, 401, 403, 410})
"""What a content-delivery host answers once the signature in a redirect has run out."""

SIBLING_FIRST_READ = 64 * KIB
"""Shards after the first hold a few keys and their tensor table."""

SHORT_ANSWERS = 2
"""Broken bodies forgiven in one read: what came is kept, and only the rest is asked again."""

_SIGNATURE = re.compile(
    r"(?:^|&)(?:x-amz-[^=&]*|x-goog-[^=&]*|signature|sig|se|expires|key-pair-id)=", re.IGNORECASE
)
_CREDENTIAL = re.compile(
    r"(?:^|&)(?:[^=&]*(?:token|secret|passw|auth|api_?key|api-key|session)[^=&]*|key)=",
    re.IGNORECASE,
)


class HttpSource(ByteSource):
    """A file behind an http or https URL.

    ``headers`` (Authorization, Cookie, …) are sent to the origin of ``url`` only, never to where
    it redirects. A server that ignores ranges serves reads from offset 0 alone; other reads
    raise ``SourceError('no_ranges')``. After ``SourceChanged`` a new source must be made.
    """

    def __init__(
        self,
        url: str,
        *,
        policy: AddressPolicy,
        limits: Limits | None = None,
        headers: Mapping[str, str] | None = None,
        dialer: Dialer | None = None,
    ) -> None:
        target = policy.parse(url)
        super().__init__(_safe_locator(target))
        self._policy = policy
        self._limits = limits or Limits()
        self._headers = dict(headers or {})
        self._dialer = dialer or Dialer(policy)
        self._target = target
        self._resolved: Target | None = None
        self._connections = Connections(self._dialer, self._limits, self.reads)
        self._trail: list[tuple[Hop, Message]] = []
        self._identity: Identity | None = None
        self._pinned: Validators | None = None
        self._head = b""
        self._ignores_ranges = False

    @property
    def identity(self) -> Identity:
        return self._start()

    def readinto(self, offset: int, buffer: memoryview) -> int:
        self._start()
        if offset == 0 and self._ignores_ranges and not self._holds(len(buffer)):
            self._read_head(len(buffer))
        filled = self._copy_head(offset, buffer)
        short = 0
        while filled < len(buffer) and not self._ends_at(offset + filled):
            piece = buffer[filled : filled + self._limits.largest_read]
            count, complete = self._fetch(offset + filled, piece)
            filled += count
            short += not complete
            if short > SHORT_ANSWERS:
                raise SourceError("short_body", "The server keeps breaking off its answers.")
        return filled

    def sibling(self, name: str) -> ByteSource:
        """The file ``name`` beside this one. Makes its first request, to learn whether it exists.

        ``SourceError('signed_link')`` if the link's signature is for this one file.
        """
        if _SIGNATURE.search(self._target.query):
            raise SourceError(
                "signed_link", "The link is signed for one file; the other parts need their own."
            )
        if not name or name in (".", "..") or re.search(r"[/\\\x00-\x1f]", name):
            raise SourceError("not_found", "The name of the other part is not a plain file name.")
        folder = self._target.path.rpartition("/")[0]
        first_read = min(self._limits.first_read, SIBLING_FIRST_READ)
        source = HttpSource(
            replace(self._target, path=f"{folder}/{quote(name, safe='')}").url,
            policy=self._policy,
            limits=replace(self._limits, first_read=first_read),
            headers=self._headers,
            dialer=self._dialer,
        )
        try:
            source._start()
        except SourceError:
            source.close()
            raise
        return source

    def close(self) -> None:
        self._connections.close()

    # The first bytes, which the first request brings and which are never asked for again.

    def _start(self) -> Identity:
        if self._identity is None:
            self._read_head(self._limits.first_read)
            if not self._head and not self._ends_at(0):
                raise SourceError("short_body", "The server sent no bytes.")
        assert self._identity is not None
        return self._identity

    def _read_head(self, length: int) -> None:
        buffer = bytearray(length)
        count, _ = self._fetch(0, memoryview(buffer))
        self._head = bytes(buffer[:count])

    def _copy_head(self, offset: int, buffer: memoryview) -> int:
        part = self._head[offset : offset + len(buffer)]
        buffer[: len(part)] = part
        return len(part)

    def _holds(self, length: int) -> bool:
        return length <= len(self._head) or self._ends_at(len(self._head))

    def _ends_at(self, offset: int) -> bool:
        size = self._pinned.size if self._pinned else None
        return size is not None and offset >= size

    # One range.

    def _fetch(self, first: int, view: memoryview) -> tuple[int, bool]:
        """Ask for ``len(view)`` bytes from ``first``: the count received, and whether it is all
        that the answer promised."""
        reply = self._ask(first, first + len(view) - 1)
        try:
            promised = self._judge(reply, first, len(view))
            count = reply.read_into(view if promised is None else view[:promised])
        except SourceError:
            reply.drop()
            raise
        reply.finish()
        if promised is None and count < len(view) and not reply.broken:
            self._pin(reply, count, whole=True)  # a body without a length ends where the file does
        return count, not reply.broken and promised in (None, count)

    def _judge(self, reply: Reply, first: int, wanted: int) -> int | None:
        """How many bytes of ``reply`` to read: None if only its end will tell."""
        headers = reply.headers
        if reply.status == 416:
            return self._judge_past_end(reply, first)
        if reply.status not in (200, 206):
            raise answers.refusal(reply.status, headers)
        answers.check_encoding(headers)
        span = answers.content_range(headers)
        length = answers.whole_number(headers, "Content-Length")
        # Some mirrors answer a range with 200 and a right Content-Range: the header decides.
        if span is not None:
            if span.first != first or span.last >= first + wanted:
                raise SourceError("bad_range", "The server sent another range than asked for.")
            promised = span.last - first + 1
            if length is not None and length != promised:
                raise SourceError("bad_range", "The server's lengths contradict each other.")
            self._pin(reply, span.total, whole=promised == span.total)
            return promised
        if reply.status == 206:
            raise SourceError("bad_range", "The server sent a range without saying which.")
        self._pin(reply, length, whole=True)
        if first > 0:
            raise SourceError(
                "no_ranges", "The server does not answer range requests, only whole files."
            )
        self._ignores_ranges = True
        return None if length is None else min(length, wanted)

    def _judge_past_end(self, reply: Reply, first: int) -> int:
        span = answers.content_range(reply.headers)
        total = 0 if first == 0 else None
        if span is not None and span.first is None and span.total is not None:
            total = span.total
        reply.discard()
        if total is None or total > first:
            raise SourceError("bad_range", "The server refuses a range that lies in the file.")
        self._pin(reply, total, whole=False)
        return 0

    def _pin(self, reply: Reply, size: int | None, whole: bool) -> None:
        """Remember the first answer's validators; hold every later answer against them."""
        headers = reply.headers
        seen = Validators(headers.get("ETag"), headers.get("Last-Modified"), size)
        if self._pinned is None or self._identity is None:
            linked = [sent for _, sent in self._trail]
            if size is None:
                sizes = (answers.whole_number(sent, "X-Linked-Size") for sent in linked)
                size = next((found for found in sizes if found is not None), None)
            self._pinned = replace(seen, size=size)
            self._identity = Identity(
                locator=self.locator,
                name=_file_name(self._target),
                size=size,
                etag=seen.etag,
                last_modified=seen.last_modified,
                hops=tuple(hop for hop, _ in self._trail),
                digests=(
                    *answers.linked_digests(linked),
                    *answers.server_digests(headers, whole),
                ),
            )
            return
        self._pinned.compare(seen)
        if self._pinned.size is None and size is not None:
            self._pinned = replace(self._pinned, size=size)
            self._identity = replace(self._identity, size=size)

    # Redirects.

    def _ask(self, first: int, last: int) -> Reply:
        """The answer of the last host. The redirect is not asked for again until it expires."""
        if self._resolved is not None:
            reply = self._follow(self._resolved, first, last)
            if reply.status not in EXPIRED:
                return reply
            reply.discard()
        return self._follow(self._target, first, last)

    def _follow(self, target: Target, first: int, last: int) -> Reply:
        trail: list[tuple[Hop, Message]] = []
        for _ in range(self._limits.redirects + 1):
            reply = self._connections.get(target, self._request_headers(target, first, last))
            trail.append((Hop(target.host, reply.status), reply.headers))
            if reply.status not in REDIRECTS:
                self._trail = trail
                self._resolved = target if target != self._target else None
                return reply
            reply.discard()
            target = self._policy.redirect(target, _location(reply.headers))
        raise SourceError("redirects", f"The server redirects more than {len(trail) - 1} times.")

    def _request_headers(self, target: Target, first: int, last: int) -> dict[str, str]:
        """Built anew for each host, so that nothing meant for one reaches another."""
        own = self._headers if target.origin == self._target.origin else {}
        return {
            "User-Agent": f"ggufhub/{__version__}",
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            **own,
            "Range": f"bytes={first}-{last}",
        }


def _location(headers: Message) -> str:
    text = headers.get("Location")
    if not text:
        raise SourceError("redirects", "The server redirects without saying where to.")
    try:
        return text.encode("latin-1").decode("utf-8")  # http.client reads header bytes as latin-1
    except UnicodeError:
        return text


def _safe_locator(target: Target) -> str:
    """The URL as it may be stored and shown: a query that holds a secret is left out."""
    secret = _SIGNATURE.search(target.query) or _CREDENTIAL.search(target.query)
    return replace(target, query="").url if secret else target.url


def _file_name(target: Target) -> str:
    return unquote(target.path.rpartition("/")[2], errors="replace") or target.host
