"""A web server on loopback that serves ranges well, and behaves badly where it is told to."""

import contextlib
import gzip
import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import quote, unquote, urlsplit

from ggufhub.sources.policy import AddressPolicy

LOOPBACK = AddressPolicy(allowed_networks=("127.0.0.0/8",))

PIECE = 65_536

Behaviour = Callable[["Handler", bytes], None]


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    headers: Mapping[str, str]
    method: str = "GET"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "_Server"

    def setup(self) -> None:
        super().setup()
        with self.server.owner.lock:
            self.server.owner.connections += 1

    def do_HEAD(self) -> None:
        """Hang, as some servers do: whoever asks has lost."""
        self.server.owner.requests.append(Request(self.path, {}, "HEAD"))
        self.server.owner.stopping.wait()

    def do_GET(self) -> None:
        owner = self.server.owner
        headers = {name.lower(): value for name, value in self.headers.items()}
        owner.requests.append(Request(self.path, headers))
        name = unquote(urlsplit(self.path).path.lstrip("/"))
        behaviour = owner.behaviours.get(name)
        data = owner.files.get(name)
        # Clients that have what they want hang up; that is no fault of a test.
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            if behaviour is not None:
                behaviour(self, data or b"")
            elif data is None:
                self.answer(404, b"no such file")
            else:
                self.serve(data)

    def serve(self, data: bytes, **headers: str) -> None:
        """Answer as a good server does: the range, or 416 past the end."""
        first, last = self.wanted(len(data))
        if first >= len(data):
            self.answer(416, **{"Content-Range": f"bytes */{len(data)}"})
        else:
            span = f"bytes {first}-{last}/{len(data)}"
            headers = {"ETag": '"one"', **headers, "Content-Range": span}
            self.answer(206, data[first : last + 1], **headers)

    def wanted(self, size: int) -> tuple[int, int]:
        """First and last byte asked for, cut to ``size``."""
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"])
        assert match is not None
        return int(match[1]), min(int(match[2]), size - 1)

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        headers.setdefault("Content-Length", str(len(body)))
        self.start(status, **headers)
        self.put(body)

    def start(self, status: int, **headers: str) -> None:
        """Send the head only. A header set to "" is left out."""
        self.send_response(status)
        for name, value in headers.items():
            if value:
                self.send_header(name, value)
        self.end_headers()

    def put(self, data: bytes) -> None:
        """Send ``data`` in pieces, each counted before it can be seen by the client."""
        for start in range(0, len(data), PIECE):
            piece = data[start : start + PIECE]
            with self.server.owner.lock:
                self.server.owner.bytes_sent += len(piece)
            self.wfile.write(piece)

    def hang_up(self) -> None:
        self.close_connection = True

    def pause(self, seconds: float) -> bool:
        """Wait; true while the server is still meant to run."""
        return not self.server.owner.stopping.wait(seconds)

    def log_message(self, *arguments: object) -> None:
        """Keep quiet."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    owner: "RangeServer"

    def handle_error(self, *arguments: object) -> None:
        """Keep quiet about clients that hung up."""


class RangeServer:
    """Serves ``files`` (name to bytes) by range and counts what that costs.

    ``behaviours`` maps a name to a function that answers in its place.
    """

    def __init__(
        self,
        files: Mapping[str, bytes] | None = None,
        behaviours: Mapping[str, Behaviour] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.files = dict(files or {})
        self.behaviours = dict(behaviours or {})
        self.requests: list[Request] = []
        self.connections = 0
        self.bytes_sent = 0
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.owner = self
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{quote(name)}"

    def ranges(self) -> list[str]:
        return [request.headers["range"].removeprefix("bytes=") for request in self.requests]


class OnOneServer:
    """A service made of one ``server``, with which it starts and ends."""

    server: RangeServer

    def __enter__(self) -> Self:
        self.server.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.__exit__(*error)

    @property
    def endpoint(self) -> str:
        return self.server.url("").rstrip("/")


# Behaviours: each answers one request.


def ignore_range(handler: Handler, data: bytes) -> None:
    handler.answer(200, data, ETag='"one"')


def ignore_range_chunked(handler: Handler, data: bytes) -> None:
    handler.start(200, **{"Transfer-Encoding": "chunked"})
    for start in range(0, len(data), 1000):
        piece = data[start : start + 1000]
        handler.put(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    handler.put(b"0\r\n\r\n")


def broken_chunks(handler: Handler, data: bytes) -> None:
    """The whole file in chunks, but the second half never comes."""
    handler.start(200, **{"Transfer-Encoding": "chunked"})
    piece = data[: len(data) // 2]
    handler.put(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    handler.hang_up()


def chunked_range(handler: Handler, data: bytes) -> None:
    first, last = handler.wanted(len(data))
    span = f"bytes {first}-{last}/{len(data)}"
    handler.start(206, **{"Transfer-Encoding": "chunked", "Content-Range": span})
    piece = data[first : last + 1]
    handler.put(f"{len(piece):x}\r\n".encode() + piece + b"\r\n0\r\n\r\n")


def status_200_with_content_range(handler: Handler, data: bytes) -> None:
    first, last = handler.wanted(len(data))
    span = f"bytes {first}-{last}/{len(data)}"
    handler.answer(200, data[first : last + 1], **{"Content-Range": span})


def unknown_total(handler: Handler, data: bytes) -> None:
    first, last = handler.wanted(len(data))
    if first >= len(data):
        handler.answer(416, **{"Content-Range": f"bytes */{len(data)}"})
    else:
        handler.answer(206, data[first : last + 1], **{"Content-Range": f"bytes {first}-{last}/*"})


def short_ranges(handler: Handler, data: bytes) -> None:
    """Never more than 10,000 bytes an answer, and an honest Content-Range."""
    first, last = handler.wanted(len(data))
    last = min(last, first + 9_999)
    span = f"bytes {first}-{last}/{len(data)}"
    handler.answer(206, data[first : last + 1], **{"Content-Range": span})


def in_blocks(block: int) -> Behaviour:
    """A cache that answers with all blocks the range touches, and says so."""

    def serve(handler: Handler, data: bytes) -> None:
        first, last = handler.wanted(len(data))
        first -= first % block
        last = min(last + block - last % block, len(data)) - 1
        span = f"bytes {first}-{last}/{len(data)}"
        handler.answer(206, data[first : last + 1], **{"Content-Range": span})

    return serve


def _half(handler: Handler, data: bytes) -> None:
    """Promise the range and send half of it."""
    first, last = handler.wanted(len(data))
    length = last - first + 1
    span = f"bytes {first}-{last}/{len(data)}"
    handler.start(206, **{"Content-Range": span, "Content-Length": str(length)})
    handler.put(data[first : first + length // 2])


def reset(handler: Handler, data: bytes) -> None:
    """Send half of the range, and reset the connection instead of closing it."""
    _half(handler, data)
    linger = struct.pack("ii", 1, 0)  # on, for no time: the kernel sends RST and forgets the rest
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    handler.hang_up()
    handler.rfile.close()
    handler.connection.close()


def fixed(status: int, body: bytes = b"", **headers: str) -> Behaviour:
    """Always the same answer. ``_`` in header names stands for ``-``."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, data: handler.answer(status, body, **named)


def gzipped(handler: Handler, data: bytes) -> None:
    handler.answer(200, gzip.compress(data), **{"Content-Encoding": "gzip"})


def redirect(location: str, status: int = 302, **headers: str) -> Behaviour:
    return fixed(status, b"moved", Location=location, **headers)


def slow_headers(handler: Handler, data: bytes) -> None:
    handler.put(b"HTTP/1.1 206 Partial Content\r\nX-Slow: ")
    while handler.pause(0.02):
        handler.put(b"a")


def slow_body(handler: Handler, data: bytes) -> None:
    first, last = handler.wanted(len(data))
    span = f"bytes {first}-{last}/{len(data)}"
    handler.start(206, **{"Content-Range": span, "Content-Length": str(last - first + 1)})
    while handler.pause(0.02):
        handler.put(b"a")


def silent(handler: Handler, data: bytes) -> None:
    while handler.pause(1):
        """Say nothing."""


def interim_flood(handler: Handler, data: bytes) -> None:
    while handler.pause(0):
        handler.put(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)


def huge_header(handler: Handler, data: bytes) -> None:
    handler.put(b"HTTP/1.1 206 Partial Content\r\nX-Huge: ")
    for _ in range(128):
        handler.put(b"a" * 65536)


def large_head(handler: Handler, data: bytes) -> None:
    """Every line is short enough and there are few enough, but the sum is too much."""
    handler.start(206, **{f"X-{number}": "a" * 2000 for number in range(90)})


def many_headers(handler: Handler, data: bytes) -> None:
    handler.start(206, **{f"X-{number}": "a" for number in range(20_000)})


def endless_body(handler: Handler, data: bytes) -> None:
    handler.start(200, ETag='"endless"', Connection="close")
    while handler.pause(0):
        handler.put(b"a" * 65536)


def endless_chunk(handler: Handler, data: bytes) -> None:
    handler.start(200, **{"Transfer-Encoding": "chunked"})
    handler.put(b"ffffffffffffffff\r\n")
    while handler.pause(0):
        handler.put(b"a" * 65536)


def truncated(handler: Handler, data: bytes) -> None:
    """Send half of the range, and hang up."""
    _half(handler, data)
    handler.hang_up()


def cut_head(text: str) -> Behaviour:
    """Send ``text``, the beginning of a head, and hang up."""

    def behaviour(handler: Handler, data: bytes) -> None:
        handler.put(text.encode())
        handler.hang_up()

    return behaviour


def not_http(handler: Handler, data: bytes) -> None:
    handler.put(b"GGUF" + bytes(100))
    handler.hang_up()


def sequence(*behaviours: Behaviour) -> Behaviour:
    """One behaviour after the other, the last one for ever."""
    waiting: Iterator[Behaviour] = iter(behaviours[:-1])
    return lambda handler, data: next(waiting, behaviours[-1])(handler, data)


def good(handler: Handler, data: bytes) -> None:
    handler.serve(data)


def good_then_closes(handler: Handler, data: bytes) -> None:
    """A good answer on a connection that is closed without a word."""
    handler.serve(data)
    handler.hang_up()
