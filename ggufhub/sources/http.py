"""HttpSource: a file on a web server, read by range.

The first request is already a ranged GET: HEAD hangs, is refused or tells lies on many servers,
and the answer to a range brings size, validators and the first bytes at once.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.message import Message
from urllib.parse import quote, unquote

from ggufhub.errors import SourceError
from ggufhub.limits import KIB, MIB, Limits
from ggufhub.sources import answers
from ggufhub.sources.answers import Validators
from ggufhub.sources.base import ByteSource, Digest, Identity, Layer, Reads
from ggufhub.sources.dial import Dialer
from ggufhub.sources.exchange import Connections, Reply
from ggufhub.sources.policy import AddressPolicy, Target
from ggufhub.sources.quota import Left
from ggufhub.sources.walk import Trail, Walker
from ggufhub.sources.whole import WholeBody

EXPIRED = frozenset({400, 401, 403, 410})
"""What a content-delivery host answers once the signature in a redirect has run out."""

RANGE_REFUSED = frozenset({403, 405, 501})
"""What some proxies answer to any request with a Range header; without one it may succeed."""

SIBLING_FIRST_READ = 64 * KIB
"""Shards after the first hold a few keys and their tensor table."""

MOST_EARLY = 1 * MIB
"""Bytes before the range asked for that are read past: caches that work by blocks start theirs
at the block's edge, and no block of theirs known here is larger."""

SHORT_ANSWERS = 2
"""Broken bodies forgiven in one read: what came is kept, and only the rest is asked again."""

_SIGNATURE = re.compile(
    r"(?:^|&)(?:x-amz-[^=&]*|x-goog-[^=&]*|signature|sig|se|expires|key-pair-id)=", re.IGNORECASE
)
_CREDENTIAL = re.compile(
    r"(?:^|&)(?:[^=&]*(?:token|secret|passw|auth|api_?key|api-key|session)[^=&]*|key)=",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Declared:
    """What a hub or registry says about a file before any byte of it is read."""

    locator: str
    name: str
    size: int | None = None
    digests: tuple[Digest, ...] = ()
    notes: tuple[str, ...] = ()
    layers: tuple[Layer, ...] = ()


@dataclass(frozen=True, slots=True)
class _Part:
    """What of a body is wanted: ``length`` bytes, after ``early`` ones that nobody asked for."""

    early: int
    length: int


class HttpSource(ByteSource):
    """A file behind an http or https URL.

    ``headers`` (Authorization, Cookie, …) are sent to the origin of ``url`` only, never to where
    it redirects. From a server that ignores or refuses ranges the file is streamed from its
    beginning, as far as it is needed; reads past the header budget then raise
    ``SourceError('no_ranges')``. ``declared`` names the file better than its URL does.
    """

    def __init__(
        self,
        url: str,
        *,
        policy: AddressPolicy,
        limits: Limits | None = None,
        headers: Mapping[str, str] | None = None,
        dialer: Dialer | None = None,
        declared: Declared | None = None,
        reads: Reads | None = None,
    ) -> None:
        target = policy.parse(url)
        self._declared = declared or Declared(_safe_locator(target), _file_name(target))
        super().__init__(self._declared.locator)
        self.reads = reads or self.reads
        self._policy = policy
        self._limits = limits or Limits()
        self._headers = dict(headers or {})
        self._dialer = dialer or Dialer(policy)
        self._target = target
        self._connections = Connections(self._dialer, self._limits, self.reads)
        self._walker = Walker(
            policy, self._connections, self._limits.redirects, target.origin, self._headers
        )
        self._whole: WholeBody | None = None
        self._forget()

    def _forget(self) -> None:
        if self._whole is not None:
            self._whole.close()
        self._whole = None
        self._resolved: Target | None = None
        self._moved = False
        self._trail: Trail = []
        self._identity: Identity | None = None
        self._pinned: Validators | None = None
        self._head = b""

    @property
    def identity(self) -> Identity:
        return self._start()

    def readinto(self, offset: int, buffer: memoryview) -> int:
        self._start()
        filled = self._copy_head(offset, buffer)
        short = 0
        while filled < len(buffer) and not self._ends_at(offset + filled):
            if self._whole is not None:
                return self._copy_whole(offset, buffer)
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
        source = HttpSource(
            replace(self._target, path=f"{folder}/{quote(name, safe='')}").url,
            policy=self._policy,
            limits=sibling_limits(self._limits),
            headers=self._headers,
            dialer=self._dialer,
            reads=self.reads,
        )
        return source.started()

    def started(self) -> "HttpSource":
        """This source with its first request made; closed again where that fails."""
        try:
            self._start()
        except SourceError:
            self.close()
            raise
        return self

    def reset(self) -> None:
        self._forget()

    def close(self) -> None:
        if self._whole is not None:
            self._whole.close()
        self._connections.close()

    # The first bytes, which the first request brings and which are never asked for again.

    def _start(self) -> Identity:
        if self._identity is None:
            buffer = bytearray(self._limits.first_read)
            count, _ = self._fetch(0, memoryview(buffer))
            self._head = bytes(memoryview(buffer)[:count])
            if not self._head and not self._ends_at(0):
                raise SourceError("short_body", "The server sent no bytes.")
        assert self._identity is not None
        return self._identity

    def _copy_head(self, offset: int, buffer: memoryview) -> int:
        part = self._head[offset : offset + len(buffer)]
        buffer[: len(part)] = part
        return len(part)

    def _ends_at(self, offset: int) -> bool:
        size = self._pinned.size if self._pinned else None
        return size is not None and offset >= size

    # One range.

    def _fetch(self, first: int, view: memoryview) -> tuple[int, bool]:
        """Ask for ``len(view)`` bytes from ``first``: the count received, and whether it is all
        that the answer promised."""
        reply = self._ask(first, first + len(view) - 1)
        try:
            part = self._judge(reply, first, len(view))
            if part is None:
                return self._stream(reply, first, view), True
            reply.read_into(memoryview(bytearray(part.early)))
            count = reply.read_into(view[: part.length])
        except SourceError:
            reply.drop()
            raise
        reply.finish()
        return count, not reply.broken and count == part.length

    def _judge(self, reply: Reply, first: int, wanted: int) -> "_Part | None":
        """Which bytes of ``reply`` to read; None where it brings the whole file instead."""
        headers = reply.headers
        if reply.status == 416:
            return self._judge_past_end(reply, first)
        if reply.status in RANGE_REFUSED and self._identity is None:
            return None
        if reply.status not in (200, 206):
            raise answers.refusal(reply.status, headers)
        answers.check_encoding(headers)
        span = answers.content_range(headers)
        # Some mirrors answer a range with 200 and a right Content-Range: the header decides.
        if span is not None:
            if span.first is None or not 0 <= first - span.first <= MOST_EARLY or span.last < first:
                raise SourceError("bad_range", "The server sent another range than asked for.")
            promised = span.last - span.first + 1
            length = answers.whole_number(headers, "Content-Length")
            if length is not None and length != promised:
                raise SourceError("bad_range", "The server's lengths contradict each other.")
            self._pin(reply, span.total, whole=promised == span.total)
            return _Part(first - span.first, min(span.last - first + 1, wanted))
        if reply.status == 206:
            raise SourceError("bad_range", "The server sent a range without saying which.")
        return None

    def _judge_past_end(self, reply: Reply, first: int) -> "_Part":
        total = _total_past_end(reply.headers)
        if total is None and first == 0:
            total = 0
        reply.discard()
        if total is None or total > first:
            raise SourceError("bad_range", "The server refuses a range that lies in the file.")
        self._pin(reply, total, whole=False)
        return _Part(0, 0)

    # Whole files, from servers that answer nothing else.

    def _stream(self, reply: Reply, first: int, view: memoryview) -> int:
        """Go over to one pass from the beginning; fill ``view`` with what came from ``first``."""
        if reply.status != 200 or first > 0:
            if first + len(view) > self._limits.header_bytes:
                raise SourceError(
                    "no_ranges", "The server does not answer range requests, only whole files."
                )
            reply.drop()
            reply = self._plain()
        answers.check_encoding(reply.headers)
        length = answers.whole_number(reply.headers, "Content-Length")
        self._pin(reply, length, whole=True)
        self._whole = WholeBody(reply, length, self._limits.header_bytes)
        end = first + len(view)
        self._whole.read_to(end if length is None else min(end, length))
        self._learn_size()
        if first > 0:
            return self._whole.copy(first, view)
        return self._whole.copy(0, view[: self._whole.held])

    def _plain(self) -> Reply:
        reply, self._trail = self._walk(self._target, {})
        if reply.status == 200:
            return reply
        reply.drop()
        raise answers.refusal(reply.status, reply.headers)

    def _copy_whole(self, offset: int, buffer: memoryview) -> int:
        assert self._whole is not None
        count = self._whole.copy(offset, buffer)
        self._learn_size()
        return count

    def _learn_size(self) -> None:
        """A body without a length ends where the file does."""
        assert self._whole is not None and self._pinned is not None and self._identity is not None
        if self._pinned.size is None and self._whole.size is not None:
            self._pinned = replace(self._pinned, size=self._whole.size)
            self._identity = replace(self._identity, size=self._whole.size)

    # Who the file is.

    def _pin(self, reply: Reply, size: int | None, whole: bool) -> None:
        """Remember the first answer's validators; hold every later answer against them."""
        headers = reply.headers
        seen = Validators(
            headers.get("ETag"), headers.get("Last-Modified"), size, answers.version(headers)
        )
        if self._pinned is None or self._identity is None:
            linked = [sent for _, sent in self._trail]
            size = _agreed_size(size, self._declared.size, linked)
            self._pinned = replace(seen, size=size)
            digests = (
                *self._declared.digests,
                *answers.linked_digests(linked),
                *answers.server_digests(headers, whole),
            )
            self._identity = Identity(
                locator=self.locator,
                name=self._declared.name,
                size=size,
                etag=seen.etag,
                last_modified=seen.last_modified,
                hops=tuple(hop for hop, _ in self._trail),
                digests=tuple(dict.fromkeys(digests)),
                notes=(*self._declared.notes, *seen.notes()),
                layers=self._declared.layers,
            )
            return
        self._hold_against_pinned(seen)
        if self._pinned.size is None and size is not None:
            self._pinned = replace(self._pinned, size=size)
            self._identity = replace(self._identity, size=size)

    def _hold_against_pinned(self, seen: Validators) -> None:
        """``SourceChanged`` if ``seen`` is about other bytes than the first answer.

        Delivery hosts have ETags of their own. Where a hub leads to another one than before, its
        own digest of the file says whether it is the same.
        """
        assert self._pinned is not None and self._identity is not None
        linked = answers.linked_digests(sent for _, sent in self._trail)
        if self._moved and linked and set(linked) <= set(self._identity.digests):
            self._pinned.compare(Validators(None, None, seen.size))
            self._pinned = replace(seen, size=self._pinned.size)
        self._pinned.compare(seen)
        self._moved = False

    # Redirects.

    def _ask(self, first: int, last: int) -> Reply:
        """The answer to one range; asked once more where a range inside the file is refused,
        which edges of content-delivery networks do at times."""
        reply = self._ask_once(first, last)
        if reply.status == 416 and (_total_past_end(reply.headers) or 0) > first:
            reply.discard()
            reply = self._ask_once(first, last)
        return reply

    def _ask_once(self, first: int, last: int) -> Reply:
        """The answer of the last host. The redirect is not asked for again until it expires."""
        extra = {"Range": f"bytes={first}-{last}"}
        known = self._resolved
        if known is not None:
            reply, _ = self._walk(known, extra)
            if reply.status not in EXPIRED:
                return reply
            reply.discard()
        reply, self._trail = self._walk(self._target, extra)
        self._moved = known is not None and reply.target.origin != known.origin
        self._resolved = reply.target if reply.target != self._target else None
        return reply

    def _walk(self, target: Target, extra: Mapping[str, str]) -> tuple[Reply, Trail]:
        """The answer of the last host; what each on the way has left of its quota is kept."""
        reply, trail = self._walker.get(target, extra)
        for hop, headers in trail:
            left = Left.told(hop.status, headers)
            if left is not None:
                self.reads.hear(left)
        return reply, trail


def sibling_limits(limits: Limits) -> Limits:
    """``limits`` with a smaller first read."""
    return replace(limits, first_read=min(limits.first_read, SIBLING_FIRST_READ))


def _agreed_size(size: int | None, declared: int | None, hops: list[Message]) -> int | None:
    """The size all agree on: the last host's, the listing's, and what hops say of the file."""
    linked = [answers.whole_number(sent, "X-Linked-Size") for sent in hops]
    told = [value for value in (size, declared, *linked) if value is not None]
    if len(set(told)) > 1:
        raise SourceError("bad_range", "The servers contradict each other about the file's size.")
    return told[0] if told else None


def _total_past_end(headers: Message) -> int | None:
    """The size told by ``bytes */total``, None where it is not told."""
    span = answers.content_range(headers)
    return span.total if span is not None and span.first is None else None


def _safe_locator(target: Target) -> str:
    """The URL as it may be stored and shown: a query that holds a secret is left out."""
    secret = _SIGNATURE.search(target.query) or _CREDENTIAL.search(target.query)
    return replace(target, query="").url if secret else target.url


def _file_name(target: Target) -> str:
    return unquote(target.path.rpartition("/")[2], errors="replace") or target.host
