"""From a Target to a connected socket: look up once, check every answer, dial only what passed.

The sockets carry a Guard, which puts an absolute end to every operation on them. A time limit
for each operation alone would let a server live for ever on one byte a second.
"""

import functools
import os
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from ipaddress import ip_address
from typing import Any, cast

from ggufhub.errors import SourceError
from ggufhub.sources.addresses import IPAddress
from ggufhub.sources.policy import NOT_REACHABLE, AddressPolicy, Target

LOOKUP_SECONDS = 5.0
LOOKUP_THREADS = 8
"""A lookup cannot be cancelled: a hostile name server holds a thread until the system gives up."""

MAX_ADDRESSES = 32

RATE_SECONDS = 10.0
"""An answer is not called slow before it has run for this long."""

SocketAddress = tuple[str, int] | tuple[str, int, int, int]
Lookup = Callable[[str, int], Sequence[SocketAddress]]
Connect = Callable[[SocketAddress, "Guard", float], "GuardedSocket"]

_lookup_slots = threading.BoundedSemaphore(LOOKUP_THREADS)


class ReplyTooLarge(Exception):
    """The head of an answer is larger than its budget."""


class ReplyCut(Exception):
    """The connection ended within the head of an answer."""


class Guard:
    """What one request may still spend: seconds, and bytes while the reply's head is read.

    ``end`` is a ``time.monotonic`` time, ``operation_seconds`` the cap of one socket operation,
    ``lowest_rate`` the bytes a second below which a slow answer is given up.
    """

    def __init__(self, end: float, operation_seconds: float, lowest_rate: float = 0.0) -> None:
        self.operation_seconds = operation_seconds
        self.lowest_rate = lowest_rate
        self.head_bytes: int | None = None
        self.restart(end)

    def restart(self, end: float) -> None:
        """Begin a new span of time, and a new average."""
        self.end = end
        self._first: float | None = None
        self._count = 0

    def seconds(self) -> float:
        """Seconds the next socket operation may take; ``TimeoutError`` if none are left."""
        now = time.monotonic()
        left = self.end - now
        if left <= 0:
            raise TimeoutError("the time for this request is used up")
        if self._first is not None:
            spent = now - self._first
            if spent > RATE_SECONDS and self._count < self.lowest_rate * spent:
                raise TimeoutError("the server sends too slowly")
        return min(left, self.operation_seconds)

    def received(self, count: int) -> int:
        """Account for ``count`` bytes just received, and return it.

        Raises ``ReplyTooLarge``, and ``ReplyCut`` because http.client would take the part of a
        head that came for the whole of it: sizes cut short, ranges without their place.
        """
        if self.head_bytes is not None:
            if not count and self._count:
                raise ReplyCut("the connection ended within the head of the answer")
            self.head_bytes -= count
            if self.head_bytes < 0:
                raise ReplyTooLarge("the head of the answer is too large")
        if self._first is None:
            self._first = time.monotonic()
        self._count += count
        return count


class GuardedSocket(socket.socket):
    """A TCP socket that asks its guard before each operation."""

    guard: Guard

    def recv_into(self, *arguments: Any) -> int:
        self.settimeout(self.guard.seconds())
        return self.guard.received(super().recv_into(*arguments))

    def sendall(self, *arguments: Any) -> None:
        self.settimeout(self.guard.seconds())
        super().sendall(*arguments)


class GuardedTlsSocket(ssl.SSLSocket):
    """The same under TLS, where ``recv_into`` is built on ``read`` and ``sendall`` on ``send``."""

    guard: Guard

    def read(self, *arguments: Any) -> Any:
        self.settimeout(self.guard.seconds())
        answer = super().read(*arguments)
        self.guard.received(answer if isinstance(answer, int) else len(answer))
        return answer

    def send(self, *arguments: Any) -> int:
        self.settimeout(self.guard.seconds())
        return super().send(*arguments)

    def do_handshake(self, block: bool = False) -> None:
        self.settimeout(self.guard.seconds())
        super().do_handshake(block)


@functools.cache
def default_tls_context() -> ssl.SSLContext:
    """Verified TLS 1.2 or newer with the system's authorities; built once, as it takes 50 ms.

    The compiled-in paths are used, not the defaults: those follow SSL_CERT_FILE, and whoever
    sets a variable must not thereby choose whom we trust.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    paths = ssl.get_default_verify_paths()
    cafile = paths.openssl_cafile if os.path.isfile(paths.openssl_cafile) else None
    capath = paths.openssl_capath if os.path.isdir(paths.openssl_capath) else None
    if cafile or capath:
        context.load_verify_locations(cafile, capath)
    return guard_tls(context)


def guard_tls(context: ssl.SSLContext) -> ssl.SSLContext:
    """Make ``context`` hand out guarded sockets of TLS 1.2 or newer."""
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.sslsocket_class = GuardedTlsSocket
    return context


def system_lookup(host: str, port: int) -> Sequence[SocketAddress]:
    """Socket addresses of ``host`` by the system's resolver."""
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    # Only a Python built without IPv6 answers in another shape, and it could not connect there.
    return [cast(SocketAddress, answer[4]) for answer in answers]


def connect_socket(address: SocketAddress, guard: Guard, seconds: float) -> GuardedSocket:
    """Connect to ``address`` within ``seconds``, and within what the guard has left."""
    family = socket.AF_INET if len(address) == 2 else socket.AF_INET6
    sock = GuardedSocket(family, socket.SOCK_STREAM)
    try:
        sock.guard = guard
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(min(seconds, guard.seconds()))
        sock.connect(address)
    except BaseException:
        sock.close()
        raise
    return sock


class Dialer:
    """Connects to targets. ``lookup`` and ``connect`` exist to be replaced in tests."""

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        lookup: Lookup = system_lookup,
        connect: Connect = connect_socket,
        tls_context: Callable[[], ssl.SSLContext] = default_tls_context,
    ) -> None:
        self._policy = policy
        self._lookup = lookup
        self._connect = connect
        self._tls_context = tls_context

    def dial(self, target: Target, guard: Guard, connect_seconds: float) -> socket.socket:
        """A connected socket (inside TLS for https), or ``SourceError``.

        Codes: ``dns``, ``dns_timeout``, ``address``, ``host_name``, ``port``, ``connect`` (all
        with one wording) and ``tls``.
        """
        sock = self._reach(target, guard, connect_seconds)
        if target.scheme != "https":
            return sock
        try:
            secure = self._tls_context().wrap_socket(
                sock, server_hostname=target.host, do_handshake_on_connect=False
            )
        except BaseException:
            sock.close()
            raise
        return _handshake(secure, guard)

    def _reach(self, target: Target, guard: Guard, seconds: float) -> GuardedSocket:
        """A connection to ``target``, before any TLS on it."""
        return self._connect_any(self.resolve(target, guard), guard, seconds)

    def resolve(self, target: Target, guard: Guard) -> list[SocketAddress]:
        """The addresses of ``target``, every one of them checked."""
        if target.address is not None:
            answers: Sequence[SocketAddress] = [_socket_address(target.address, target.port)]
        else:
            answers = self._ask(target, guard)
        if not answers or len(answers) > MAX_ADDRESSES:
            raise SourceError("dns", NOT_REACHABLE)
        self._policy.check(target, map(_address, answers))
        return list(answers)

    def _ask(self, target: Target, guard: Guard) -> Sequence[SocketAddress]:
        """Run the lookup in one of a few threads, waiting no longer than the cap."""
        end = min(time.monotonic() + LOOKUP_SECONDS, guard.end)
        if not _lookup_slots.acquire(timeout=max(0.0, end - time.monotonic())):
            raise SourceError("dns_timeout", NOT_REACHABLE)
        answers: queue.SimpleQueue[Sequence[SocketAddress] | Exception] = queue.SimpleQueue()

        def look_up() -> None:
            try:
                answers.put(self._lookup(target.host, target.port))
            except (OSError, UnicodeError) as error:  # handed to the waiting thread
                answers.put(error)
            finally:
                _lookup_slots.release()

        # A daemon, so that a resolver that hangs cannot keep the process from ending.
        threading.Thread(target=look_up, name="lookup", daemon=True).start()
        try:
            answer = answers.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            raise SourceError("dns_timeout", NOT_REACHABLE) from None
        if isinstance(answer, Exception):
            raise SourceError("dns", NOT_REACHABLE) from answer
        return answer

    def _connect_any(
        self, addresses: Iterable[SocketAddress], guard: Guard, seconds: float
    ) -> GuardedSocket:
        """The first of ``addresses`` that answers, each given ``seconds``."""
        failure: OSError | None = None
        for address in addresses:
            try:
                sock = self._connect(address, guard, seconds)
            except OSError as error:
                failure = error
                continue
            if _address(sock.getpeername()) != _address(address):
                sock.close()
                raise SourceError("address", NOT_REACHABLE)
            return sock
        raise SourceError("connect", NOT_REACHABLE) from failure


def _handshake(secure: ssl.SSLSocket, guard: Guard) -> ssl.SSLSocket:
    assert isinstance(secure, GuardedTlsSocket)
    secure.guard = guard
    try:
        secure.do_handshake()
    except ssl.SSLCertVerificationError as error:
        secure.close()
        raise SourceError(
            "tls", f"The server's certificate is not valid: {error.verify_message}."
        ) from error
    except OSError as error:
        secure.close()
        raise SourceError("tls", "No secure connection could be made to the server.") from error
    return secure


def _socket_address(address: IPAddress, port: int) -> SocketAddress:
    return (str(address), port) if address.version == 4 else (str(address), port, 0, 0)


def _address(answer: SocketAddress) -> IPAddress:
    return ip_address(answer[0])
