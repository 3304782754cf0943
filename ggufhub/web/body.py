"""A request's body on its way from the event loop to the thread that reads it.

The loop takes in what arrives, no faster than the thread reads and no slower than a minimum; the
thread reads it like a file.
"""

import asyncio
import io
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

KIB = 1024

RATE = 32 * KIB
"""Bytes a second that a client must send on average: as many as a fetched link must bring."""

PERIOD_SECONDS = 30.0
"""The average is taken over the bytes of this long at a time. Who sends nothing at all is cut off
after it, as the server cuts off a header that does not end."""

AHEAD = 64 * KIB
"""A body of up to this many bytes is complete before it takes a thread, and a longer one flows. A
thousand clients that never get on hold 64 MiB."""

MOST_WAITING = 1024 * KIB
"""Bytes that may wait for the thread; beyond it nothing is read from the client."""


class TooSlow(Exception):
    """The client sent less than the minimum."""


class Gone(Exception):
    """The client ended the connection before its body was complete."""


class Body(io.IOBase):
    """The next ``length`` bytes of a request. ``start`` and ``feed`` belong to the event loop,
    ``read`` to one thread."""

    def __init__(self, receive: Receive, length: int) -> None:
        self._receive = receive
        self._missing = length  # not come yet
        self._unread = length  # not handed out yet
        self._waiting: deque[bytes] = deque()
        self._failed: Exception | None = None
        self._changed = threading.Condition()
        self._room = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._seconds_left, self._came = PERIOD_SECONDS, 0

    @property
    def complete(self) -> bool:
        """Whether every byte has come."""
        return not self._missing

    @property
    def too_slow(self) -> bool:
        """Whether it was cut off for being slow."""
        return isinstance(self._failed, TooSlow)

    async def start(self) -> None:
        """Take in the first ``AHEAD`` bytes. Raises ``TooSlow`` and ``Gone``."""
        while self._missing and self._held < AHEAD:
            await self._take_in()

    async def feed(self) -> None:
        """Take in the rest as it is read. Whatever ends it too early is told to the reader, who
        would wait for ever."""
        end: Exception = Gone()
        try:
            while self._missing:
                self._room.clear()
                if self._held < MOST_WAITING:
                    await self._take_in()
                else:
                    await self._room.wait()
        except (TooSlow, Gone) as error:
            end = error
        finally:
            with self._changed:
                self._failed = end if self._missing else None
                self._changed.notify()

    @property
    def _held(self) -> int:
        return self._unread - self._missing

    async def _take_in(self) -> None:
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._seconds_left):
                message = await self._receive()
        except TimeoutError:
            raise TooSlow from None
        data = message.get("body", b"")
        if message["type"] != "http.request" or not (data or message.get("more_body")):
            raise Gone
        self._seconds_left -= time.monotonic() - began
        self._came += len(data)
        if self._came >= RATE * PERIOD_SECONDS:
            self._seconds_left, self._came = PERIOD_SECONDS, 0
        if data:
            with self._changed:
                self._waiting.append(data)
                self._missing -= len(data)
                self._changed.notify()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """``size`` bytes, or fewer at the end of the body; all that is left without a size.

        Raises ``ConnectionError`` where the body ended early. Who reads it piece by piece gets the
        last piece before that; who asks for all that is left gets no part for the whole.
        """
        wanted = self._unread if size < 0 else min(size, self._unread)
        all_of_it = wanted == self._unread
        pieces: list[bytes] = []
        while wanted and (piece := self._next(wanted)):
            pieces.append(piece)
            wanted -= len(piece)
        if wanted and (all_of_it or not pieces):
            raise ConnectionError("The request ended too early.")
        return b"".join(pieces)

    def _next(self, most: int) -> bytes:
        """Wait for bytes and hand out at most so many; b'' where no more will come."""
        with self._changed:
            while not self._waiting:
                if self._failed is not None:
                    return b""
                self._changed.wait()
            data = self._waiting.popleft()
            if len(data) > most:
                self._waiting.appendleft(data[most:])
                data = data[:most]
            self._unread -= len(data)
        self._loop.call_soon_threadsafe(self._room.set)
        return data
