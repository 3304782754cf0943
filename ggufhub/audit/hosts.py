"""Hosts that do not answer: the rest of an audit must not wait for each of their files."""

from collections import Counter
from urllib.parse import urlsplit

from ggufhub.errors import SourceError

TRIES = 5
"""Files in a row of one host that could not be reached before the others are left alone."""

HOST_DOWN = "host_down"

SILENT = frozenset({"unreachable", "connection", "timeout", "tls", HOST_DOWN})
"""Codes of errors after which the next file of the host would fare no better."""


class Hosts:
    """Counts, for each host, the files in a row that could not be reached."""

    def __init__(self) -> None:
        self._failures = Counter[str]()

    def note(self, locator: str, code: str | None) -> None:
        """A file of the host ended: with an error ``code`` or (None) well."""
        host = host_of(locator)
        if code in SILENT:
            self._failures[host] += 1
        else:
            self._failures[host] = 0

    def dead(self, locator: str) -> SourceError | None:
        """Why a file of this host is not tried any more; None where it is."""
        host = host_of(locator)
        if not host or self._failures[host] < TRIES:
            return None
        message = f"{host} did not answer for {TRIES} files in a row; it was not asked again."
        return SourceError(HOST_DOWN, message)


def host_of(locator: str) -> str:
    """The host a file is fetched from, "" for a file of this machine."""
    try:
        parts = urlsplit(locator)
    except ValueError:
        return ""
    return parts.scheme if parts.scheme in ("hf", "ms") else parts.netloc
