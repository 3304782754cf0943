"""Hosts that do not answer, or not now, or not much more: what may be asked of them."""

import math
import time
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

from ggufhub.errors import SourceError
from ggufhub.sources.quota import Left

TRIES = 5
"""Files in a row of one host that could not be reached before the others are left alone."""

HOST_DOWN = "host_down"

SILENT = frozenset({"unreachable", "connection", "timeout", "tls", HOST_DOWN})
"""Codes of errors after which the next file of the host would fare no better."""


BUSY = frozenset({"rate_limited", "busy"})
"""Codes of errors of a host that takes requests again after a while."""

REQUESTS = 3
"""A file may need so many: no header of a published model took more."""


def room(requests: int, reading: int) -> int:
    """Files that may be asked for where so many requests are left, beside the ``reading`` ones."""
    return requests // REQUESTS - reading


def silence(host: str) -> SourceError:
    """Why no file of a host is asked for any more that gave no answer."""
    message = f"{host} did not answer for {TRIES} files in a row; it was not asked again."
    return SourceError(HOST_DOWN, message)


class Hosts:
    """Knows of each host how many files in a row could not be reached, how many are being read,
    and what it last said is left of its quota of requests."""

    def __init__(self) -> None:
        self._failures = Counter[str]()
        self._open = Counter[str]()
        self._left: dict[str, Left] = {}

    def begin(self, locator: str) -> None:
        """A file of the host is going to be read."""
        self._open[host_of(locator)] += 1

    def note(self, locator: str, error: dict[str, Any] | None, left: Left | None = None) -> None:
        """A file of the host ended: with the ``error`` of its report or (None) well. The host said
        what is ``left``."""
        host, code = host_of(locator), error and error["code"]
        self._open[host] -= 1
        if code in SILENT:
            self._failures[host] += 1
        else:
            self._failures[host] = 0
        if left is not None:
            self._left[host] = left.beside(self._left.get(host))
        if error is not None and code in BUSY and error.get("retry_after"):
            self._left[host] = Left(0, time.time() + error["retry_after"])

    def is_full(self, locator: str) -> bool:
        """Whether the files being read may need all that is left: one of them has to end before
        it is known whether there is room for another."""
        host = host_of(locator)
        return self._open[host] > 0 and self._room(host) <= 0

    def closed(self, locator: str) -> SourceError | None:
        """Why no file of this host is tried now; None where it is."""
        host = host_of(locator)
        if host and self._failures[host] >= TRIES:
            return silence(host)
        if self._room(host) <= 0:
            message = f"{host} asked to be left alone for a while."
            return SourceError("rate_limited", message, self._left[host].seconds)
        return None

    def _room(self, host: str) -> float:
        """Files for which there is quota, beside those being read."""
        left = self._left.get(host)
        if left is None or left.seconds <= 0:
            return math.inf
        return room(left.requests, self._open[host])


def host_of(locator: str) -> str:
    """The host a file is fetched from, "" for a file of this machine."""
    try:
        parts = urlsplit(locator)
    except ValueError:
        return ""
    return parts.scheme if parts.scheme in ("hf", "ms") else parts.netloc
