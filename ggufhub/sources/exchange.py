"""One HTTP request and its answer, over connections kept open for the job."""

import contextlib
import http.client
import io
import socket
import ssl
import time
from collections.abc import Iterator, Mapping

from ggufhub.errors import LimitExceeded, SourceError
from ggufhub.limits import KIB, Limits
from ggufhub.sources.base import Reads
from ggufhub.sources.dial import (
    Dialer,
    Guard,
    GuardedSocket,
    GuardedTlsSocket,
    ReplyCut,
    ReplyTooLarge,
)
from ggufhub.sources.policy import NOT_REACHABLE, Target

SLICE = 256 * KIB
"""Bytes between two progress reports."""

DRAIN = 16 * KIB
"""Up to this an unwanted body is read, which is cheaper than a new connection."""


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what sockets and http.client raise into ``SourceError``."""
    try:
        yield
    except TimeoutError as error:
        raise SourceError("timeout", "The server took too long to answer.") from error
    except http.client.RemoteDisconnected as error:
        raise SourceError("connection", "The server closed the connection.") from error
    except ReplyTooLarge as error:
        raise SourceError("bad_answer", "The head of the server's answer is too large.") from error
    except ReplyCut as error:
        raise SourceError("bad_answer", "The server broke off the head of its answer.") from error
    except (http.client.HTTPException, ValueError) as error:
        raise SourceError("bad_answer", "The server's answer is not valid HTTP.") from error
    except OSError as error:
        raise SourceError("connection", "The connection to the server broke.") from error


class Reply:
    """The answer to one request: ``status`` and ``headers``, and a body still to come.

    ``broken`` tells after reading that the connection ended before the body did.
    """

    def __init__(
        self,
        target: Target,
        response: http.client.HTTPResponse,
        connections: "Connections",
        guard: Guard,
    ) -> None:
        self.target = target
        self.status = response.status
        self.headers = response.headers
        self.broken = False
        self._response = response
        self._connections = connections
        self._guard = guard

    def renew(self) -> None:
        """Give a body that is read in several goes the time of a new request."""
        self._guard.restart(self._connections.request_end())

    def read_into(self, view: memoryview) -> int:
        """Fill ``view`` from the body; return the count, short if the body ends or breaks."""
        filled = 0
        with plain_errors():
            while filled < len(view) and not self.broken:
                count = self._read_slice(view[filled : filled + SLICE])
                if not count:
                    break
                filled += count
                self._connections.reads.add(count, requests=0)
        return filled

    def _read_slice(self, view: memoryview) -> int:
        try:
            return self._response.readinto(view)
        except http.client.IncompleteRead as error:
            self.broken = True
            return len(error.partial)
        except (ConnectionError, ssl.SSLError):
            self.broken = True
            return 0

    def finish(self) -> None:
        """Keep the connection if the body was read to its end, else drop it with the rest."""
        if not self._response.isclosed() or self.broken:
            self.drop()

    def drop(self) -> None:
        self._response.close()
        self._connections.drop(self.target)

    def discard(self) -> None:
        """Give up the body."""
        length = self._response.length
        if length is not None and length <= DRAIN:
            self.read_into(memoryview(bytearray(length)))
        self.finish()


class Connections:
    """One kept-alive connection for each origin, and the budgets of all requests over them."""

    def __init__(self, dialer: Dialer, limits: Limits, reads: Reads) -> None:
        self.reads = reads
        self._dialer = dialer
        self._limits = limits
        self._open: dict[tuple[str, str, int], http.client.HTTPConnection] = {}
        self._end: float | None = None
        self._spent = 0

    def get(self, target: Target, headers: Mapping[str, str]) -> Reply:
        """Ask for ``target``. Spends one request; raises ``SourceError``."""
        guard = self._guard()
        reused = target.origin in self._open
        try:
            return self._exchange(target, headers, guard)
        except SourceError as error:
            # A server may close an idle connection at any time, which shows only on its next
            # use. That says nothing about the server, so ask once more on a new connection.
            if not reused or error.code != "connection":
                raise
        return self._exchange(target, headers, self._guard())

    def post(self, target: Target, headers: Mapping[str, str], body: bytes) -> Reply:
        """Send ``body`` to ``target``, once: a server may take it in and then break off.

        Spends one request; raises ``SourceError``.
        """
        return self._exchange(target, headers, self._guard(), body)

    def drop(self, target: Target) -> None:
        connection = self._open.pop(target.origin, None)
        if connection is not None:
            connection.close()

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def request_end(self) -> float:
        """When a request that starts now must be over, as a ``time.monotonic`` time."""
        limits = self._limits
        now = time.monotonic()
        if self._end is None:
            self._end = now + limits.seconds
        if now >= self._end:
            message = f"The limit of {limits.seconds:g} seconds for one file was reached."
            raise SourceError("limit", message, limit=LimitExceeded("seconds", limits.seconds))
        return min(self._end, now + limits.request_seconds)

    def _guard(self) -> Guard:
        """Spend one request and put an end to it."""
        limits = self._limits
        if self._spent >= limits.requests:
            message = f"The limit of {limits.requests} requests for one file was reached."
            raise SourceError("limit", message, limit=LimitExceeded("requests", limits.requests))
        self._spent += 1
        self.reads.add(0)
        return Guard(self.request_end(), limits.operation_seconds, limits.lowest_rate)

    def _exchange(
        self,
        target: Target,
        headers: Mapping[str, str],
        guard: Guard,
        body: bytes | None = None,
    ) -> Reply:
        connection = self._connection(target, guard)
        try:
            with plain_errors():
                response = self._ask(connection, target, headers, guard, body)
                return Reply(target, response, self, guard)
        except SourceError:
            self.drop(target)
            raise

    def _connection(self, target: Target, guard: Guard) -> http.client.HTTPConnection:
        connection = self._open.get(target.origin)
        if connection is None:
            connection = http.client.HTTPConnection(target.host, target.port)
            connection.auto_open = 0  # only the dialer may connect
            connection.sock = self._dial(target, guard)
            self._open[target.origin] = connection
        assert isinstance(connection.sock, GuardedSocket | GuardedTlsSocket)
        connection.sock.guard = guard
        return connection

    def _dial(self, target: Target, guard: Guard) -> socket.socket:
        try:
            return self._dialer.dial(target, guard, self._limits.connect_seconds)
        except SourceError as error:
            if error.code == "tls":
                raise
            # The detailed code would tell which inner names exist and which ports are open.
            raise SourceError("unreachable", NOT_REACHABLE) from error

    def _ask(
        self,
        connection: http.client.HTTPConnection,
        target: Target,
        headers: Mapping[str, str],
        guard: Guard,
        body: bytes | None,
    ) -> http.client.HTTPResponse:
        method = "GET" if body is None else "POST"
        connection.putrequest(method, target.resource, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", target.authority)
        for name, value in headers.items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        # The reader's buffer may hold the start of the body as well.
        guard.head_bytes = self._limits.reply_header_bytes + io.DEFAULT_BUFFER_SIZE
        response = connection.getresponse()
        guard.head_bytes = None
        if len(response.headers) > self._limits.reply_header_lines:
            raise http.client.HTTPException("too many header lines")
        if response.will_close:
            # http.client has let go of the connection; the answer alone still holds the socket.
            self._open.pop(target.origin, None)
        if response.status < 200:
            raise http.client.HTTPException("an interim answer that is not followed by another")
        return response
