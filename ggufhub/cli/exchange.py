"""One request to a ggufhub server and its answer, with the standard library alone."""

import http.client
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ggufhub import __version__
from ggufhub.errors import ServerError, UsageError
from ggufhub.limits import MIB

API = "/api/v1/"

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 60.0
"""Longer than the server holds an answer back."""

LARGEST_ANSWER = 256 * MIB
"""A report of as many tensors as are ever read takes a third of it."""

_NUMBER = re.compile(r"[0-9]{1,18}")

_AGAIN = (409, 423, 429, 500, 502, 503, 504)
"""Wrong offset, busy, too many, or trouble that may pass."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def may_try_again(self) -> bool:
        return self.status in _AGAIN

    def json(self) -> dict[str, Any]:
        """The body; ``ServerError`` where it is no JSON object."""
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise stranger() from error
        if not isinstance(document, dict):
            raise stranger()
        return document

    def offset(self) -> int:
        """How many bytes of an upload the server has; ``ServerError`` where it does not say."""
        told = self.headers.get("Upload-Offset", "")
        if not _NUMBER.fullmatch(told):
            raise stranger()
        return int(told)

    def reason(self) -> str:
        """What a problem document says, field by field."""
        try:
            problem = json.loads(self.body)
            fields = [f"{e['pointer']}: {e['detail']}" for e in problem.get("errors", [])]
            return "; ".join(fields) or str(problem["detail"])
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            return http.client.responses.get(self.status, "no reason given")

    def retry_after(self, attempt: int) -> float:
        """Seconds to wait: what the server asks for, or a little more each time."""
        asked = self.headers.get("Retry-After", "")
        return float(asked) if _NUMBER.fullmatch(asked) else 0.3 * 2**attempt


def stranger() -> ServerError:
    """What to say of an answer that no ggufhub server gives."""
    return ServerError("the server does not answer as a ggufhub server does")


class Connection:
    """Where the server is, and who asks."""

    def __init__(self, url: str, token: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"--server takes an http or https address, not {url}")
        try:
            self._port = parts.port
        except ValueError as error:
            raise UsageError(f"--server: {error}") from error
        self._secure = parts.scheme == "https"
        self.host: str = parts.hostname
        self._base = parts.path.rstrip("/") + API
        self._headers = {"Tus-Resumable": "1.0.0", "User-Agent": f"ggufhub/{__version__}"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def call(
        self,
        method: str,
        path: str,
        deadline: float,
        *,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Answer | None:
        """Whatever the server answers; None where the connection fails or breaks.

        ``deadline`` is in seconds of the monotonic clock; ``ServerError`` once it is over.
        """
        left = deadline - time.monotonic()
        if left <= 0:
            raise ServerError(f"{self.host} took too long")
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self.host, self._port, timeout=min(CONNECT_SECONDS, left))
        try:
            connection.connect()
            connection.sock.settimeout(min(ANSWER_SECONDS, left))
            connection.request(
                method, self._base + path, body, {**self._headers, **(headers or {})}
            )
            answer = connection.getresponse()
            content = answer.read(LARGEST_ANSWER)
            return Answer(answer.status, answer.headers, content)
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()
