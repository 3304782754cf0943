"""From the web server to Django: requests wait on the event loop and are answered on threads.

The server hands over a body as it arrives. A thread, of which there are few, is given to a request
only when its body is complete or flows (``ggufhub.web.body``), so that a client that sends slowly
holds up nobody. Long bodies get a share of the threads; for clients that read slowly there are some
more. Who waits does so where waiting costs nothing, and is refused where it takes too long: a
database that hangs holds every thread there is.
"""

import asyncio
import logging
import threading
import time
import uuid
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    MutableMapping,
)
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import asynccontextmanager
from http import HTTPStatus
from itertools import chain
from typing import Any
from urllib.parse import unquote_to_bytes

from django.core.handlers.wsgi import get_path_info

from ggufhub.web.body import KIB, Body, Gone, Receive, TooSlow
from ggufhub.web.log import subject
from ggufhub.web.metrics import requests
from ggufhub.web.refusal import BUSY, TOO_SLOW, Headers, Refusal, written

Scope = MutableMapping[str, Any]
Send = Callable[[dict[str, Any]], Awaitable[None]]

BLOCK = 64 * KIB
"""Bytes of an answer sent at once: one trip between thread and loop for each."""

ROOM_SECONDS = 5.0
"""How long a request waits for a thread: under any honest load, milliseconds."""

TURN_SECONDS = 30.0
"""How long a long body waits for its turn."""

SLOW_SECONDS = 1.0
"""A client that has not taken a block by then reads slowly. The network holds some for it too."""

SLOW_READERS = 16
"""How many such clients there may be. Each keeps a thread for itself, with a connection to the
database, and leaves the threads of all others alone; the answers of more are broken off."""

STALL_SECONDS = 300.0
"""How long nothing goes out to a slow reader. The kernel takes more only once a third of what it
holds (up to 4 MiB) has been read: 5 KiB a second."""

PROBE = "/healthz"
"""Asks nothing of the database and has a thread of its own: it is answered when all others hang."""

log = logging.getLogger(__name__)


class Busy(Exception):
    """No thread got free in time."""


class Bridge:
    """An ASGI application that runs the WSGI application ``wsgi`` on ``threads`` threads."""

    def __init__(self, wsgi: Callable[..., Iterable[bytes]], threads: int) -> None:
        self._wsgi = wsgi
        self._pool = ThreadPoolExecutor(threads + SLOW_READERS, thread_name_prefix="web")
        self._probes = ThreadPoolExecutor(1, thread_name_prefix="probe")
        self._room = asyncio.Semaphore(threads)
        self._slow = threading.BoundedSemaphore(SLOW_READERS)
        self._turns = asyncio.Semaphore(max(1, threads // 4))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        environ = environment(scope)
        body = Body(receive, _length(environ))
        refusal = BUSY
        try:
            await body.start()
            await self._in_time(environ, body, send)
            return
        except Gone:
            return
        except Busy:
            pass
        except TooSlow:
            refusal = TOO_SLOW
        method, status = environ["REQUEST_METHOD"], refusal.status
        requests.note("refused", method, status, time.perf_counter() - began)
        await refuse(send, environ, refusal)

    async def _in_time(self, environ: dict[str, Any], body: Body, send: Send) -> None:
        if environ["PATH_INFO"] == PROBE:
            await self._answer(environ, body, send, self._probes, Seat())
        elif body.complete:
            async with _turn(self._room, ROOM_SECONDS) as seat:
                await self._answer(environ, body, send, self._pool, seat)
        else:
            async with _turn(self._turns, TURN_SECONDS), _turn(self._room, ROOM_SECONDS) as seat:
                await self._fed(environ, body, send, seat)

    async def _fed(self, environ: dict[str, Any], body: Body, send: Send, seat: "Seat") -> None:
        feeding = asyncio.create_task(body.feed())
        try:
            await self._answer(environ, body, send, self._pool, seat)
        finally:
            # Whoever has refused a body does not want the rest of it.
            feeding.cancel()

    async def _answer(
        self,
        environ: dict[str, Any],
        body: Body,
        send: Send,
        pool: ThreadPoolExecutor,
        seat: "Seat",
    ) -> None:
        environ["wsgi.input"] = body
        loop = asyncio.get_running_loop()
        answer = Answer(send, loop, seat, self._slow)
        whole = await loop.run_in_executor(pool, answer.make, self._wsgi, environ)
        if whole is None:
            return
        if body.too_slow and answer.status >= HTTPStatus.BAD_REQUEST:
            raise TooSlow
        await send(answer.head())
        await send({"type": "http.response.body", "body": whole})


class Seat:
    """One of ``seats``, given back once; without any it is nobody's."""

    def __init__(self, seats: asyncio.Semaphore | None = None) -> None:
        self._seats = seats

    def leave(self) -> None:
        """Let somebody else sit down. Called on the loop."""
        seats, self._seats = self._seats, None
        if seats is not None:
            seats.release()


@asynccontextmanager
async def _turn(seats: asyncio.Semaphore, seconds: float) -> AsyncIterator[Seat]:
    try:
        await asyncio.wait_for(seats.acquire(), seconds)
    except TimeoutError:
        raise Busy from None
    seat = Seat(seats)
    try:
        yield seat
    finally:
        seat.leave()


class Answer:
    """One answer on its way out; ``make`` runs on a thread, the rest on the loop.

    For a client that reads slowly it leaves its ``seat`` and takes one of the ``slow`` ones.
    """

    def __init__(
        self,
        send: Send,
        loop: asyncio.AbstractEventLoop,
        seat: Seat,
        slow: threading.BoundedSemaphore,
    ) -> None:
        self._send = send
        self._loop = loop
        self._seat = seat
        self._slow = slow
        self._is_slow = False
        self.status = 0
        self._headers: Headers = []

    def start(self, status: str, headers: list[tuple[str, str]], _: object = None) -> None:
        """WSGI's ``start_response``."""
        self.status = int(status.partition(" ")[0])
        self._headers = [(name.encode("latin-1"), text.encode("latin-1")) for name, text in headers]

    def head(self) -> dict[str, Any]:
        return {"type": "http.response.start", "status": self.status, "headers": self._headers}

    def make(self, wsgi: Callable[..., Iterable[bytes]], environ: dict[str, Any]) -> bytes | None:
        """The body of a short answer; None for a longer one, which is sent here block by block.

        ``Gone`` where the client stops reading, or reads slowly like too many others.
        """
        result = wsgi(environ, self.start)
        try:
            pieces = blocks(result)
            first, second = next(pieces, b""), next(pieces, None)
            if second is None:
                return first
            self._now(self.head())
            for block in chain((first, second), pieces):
                self._now({"type": "http.response.body", "body": block, "more_body": True})
            self._now({"type": "http.response.body", "body": b""})
            return None
        finally:
            if self._is_slow:
                self._slow.release()
            if hasattr(result, "close"):
                result.close()

    def _now(self, message: dict[str, Any]) -> None:
        """Send from the thread, which waits until the client has taken most of what came before."""
        sending = asyncio.run_coroutine_threadsafe(self._sending(message), self._loop)
        try:
            if not self._is_slow and not wait((sending,), SLOW_SECONDS).done:
                self._move()
            sending.result(STALL_SECONDS)
        except TimeoutError:
            raise Gone from None
        finally:
            sending.cancel()

    def _move(self) -> None:
        """To the slow readers. The server breaks the connection of an answer that ends here."""
        if not self._slow.acquire(blocking=False):
            raise Gone
        self._is_slow = True
        self._loop.call_soon_threadsafe(self._seat.leave)

    async def _sending(self, message: dict[str, Any]) -> None:
        await self._send(message)


def blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks of at least ``BLOCK``, but for the last one."""
    held, size = [], 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= BLOCK:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


async def refuse(send: Send, environ: dict[str, Any], refusal: Refusal) -> None:
    """Answer in place of Django, then note it in the log under the id that the answer names."""
    name, path = uuid.uuid4().hex, get_path_info(environ)
    status, words = refusal.status.value, refusal.words
    headers, body = written(refusal, path, name)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
    with subject(name, "request"):
        # On a thread: the loop does not wait for who reads the log.
        await asyncio.to_thread(log.warning, "Refused: %s (%d) %s", path, status, words)


def environment(scope: Scope) -> dict[str, Any]:
    """The WSGI environment of a request, without its body.

    Header names with ``_`` are left out: they would pass for those with ``-`` that proxies set.
    """
    host, port = scope.get("server") or ("", 0)
    environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": (scope.get("client") or ("", 0))[0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for raw, value in scope["headers"]:
        if b"_" in raw:
            continue
        name = raw.decode("latin-1").upper().replace("-", "_")
        key = name if name in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{name}"
        text = value.decode("latin-1")
        if key in environ:
            text = environ[key] + (";" if key == "HTTP_COOKIE" else ",") + text
        environ[key] = text
    return environ


def _length(environ: dict[str, Any]) -> int:
    """The announced size of the body; 0 without one, for then Django reads nothing."""
    value = environ.get("CONTENT_LENGTH", "")
    return int(value) if value.isascii() and value.isdigit() else 0
