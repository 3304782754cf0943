"""Hosts that do not answer, or not now: no file of theirs is worth a request."""

import time
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

from ggufhub.errors import SourceError

TRIES = 5
"""Files in a row of one host that could not be reached before the others are left alone."""

HOST_DOWN = "host_down"

SILENT = frozenset({"unreachable", "connection", "timeout", "tls", HOST_DOWN})
"""Codes of errors after which the next file of the host would fare no better."""


BUSY = frozenset({"rate_limited", "busy"})
"""Codes of errors of a host that takes requests again after a while."""


class Hosts:
    """Knows of each host how many files in a row could not be reached, and until when it wants to
    be left alone."""

    def __init__(self) -> None:
        self._failures = Counter[str]()
        self._until: dict[str, float] = {}

    def note(self, locator: str, error: dict[str, Any] | None) -> None:
        """A file of the host ended: with the ``error`` of its report or (None) well."""
        host, code = host_of(locator), error and error["code"]
        if code in SILENT:
            self._failures[host] += 1
        else:
            self._failures[host] = 0
        if error is not None and code in BUSY and error.get("retry_after"):
            self._until[host] = time.monotonic() + error["retry_after"]

    def closed(self, locator: str) -> SourceError | None:
        """Why no file of this host is tried now; None where it is."""
        host = host_of(locator)
        if host and self._failures[host] >= TRIES:
            message = f"{host} did not answer for {TRIES} files in a row; it was not asked again."
            return SourceError(HOST_DOWN, message)
        left = self._until.get(host, 0.0) - time.monotonic()
        if left > 0:
            message = f"{host} asked to be left alone for a while."
            return SourceError("rate_limited", message, left)
        return None


def host_of(locator: str) -> str:
    """The host a file is fetched from, "" for a file of this machine."""
    try:
        parts = urlsplit(locator)
    except ValueError:
        return ""
    return parts.scheme if parts.scheme in ("hf", "ms") else parts.netloc
