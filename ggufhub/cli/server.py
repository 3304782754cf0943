"""`--server`: let a ggufhub server judge a model. Of a local file only the header is sent.

The upload is resumable (tus 1.0): the server says which bytes it still needs, and after a broken
connection how many have arrived.
"""

import base64
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ggufhub.cli.exchange import Answer, Connection
from ggufhub.errors import ServerError, SourceError, UsageError
from ggufhub.limits import MIB
from ggufhub.report.build import unreadable
from ggufhub.rules.policy import Policy
from ggufhub.rules.policy_file import policy_values
from ggufhub.sources.open import is_remote

Document = dict[str, Any]

FIRST_BYTES = 1 * MIB
"""Sent before the server asks for more: most headers fit."""

POLL_SECONDS = 20
"""The server holds an answer back this long; it is asked again until the time is up."""

RETRIES = 5


class Server:
    """A ggufhub server at ``url``; every model may take ``timeout`` seconds."""

    def __init__(self, url: str, token: str | None, timeout: float) -> None:
        self._connection = Connection(url, token)
        self._timeout = timeout

    def inspect(self, source: str, *, profile: str, policy: Policy | None) -> Document:
        """The server's report on one source.

        ``ServerError`` where it cannot be reached or is too slow, ``UsageError`` where it refuses.
        """
        deadline = time.monotonic() + self._timeout
        order: Document = {"profile": profile}
        if policy is not None:
            order["policy"] = policy_values(policy)
        if is_remote(source):
            return self._follow(source, {**order, "source": source}, None, deadline)
        try:
            with Path(source).open("rb") as file:
                upload = self._create(file, Path(source).name, deadline)
                self._send(upload, file, 0, FIRST_BYTES, deadline)
                return self._follow(source, {**order, "upload": upload}, file, deadline)
        except OSError as error:
            problem = SourceError("not_found", f"{source} cannot be read: {error.strerror}")
            return unreadable(source, problem, profile).document

    def _create(self, file: BinaryIO, name: str, deadline: float) -> str:
        size = os.fstat(file.fileno()).st_size
        encoded = base64.b64encode(name.encode("utf-8", "surrogateescape")).decode()
        headers = {
            "Upload-Length": str(size),
            "Upload-Metadata": f"filename {encoded},header_only",
        }
        answer = self._call("POST", "uploads", deadline, headers=headers)
        upload: str = answer.json()["id"]
        return upload

    def _send(self, upload: str, file: BinaryIO, start: int, end: int, deadline: float) -> None:
        """Send ``[start, end)``, or what the file has of it; go on from where the server says."""
        end = min(end, os.fstat(file.fileno()).st_size)
        place, failures = f"uploads/{upload}", 0
        while start < end:
            file.seek(start)
            headers = {
                "Upload-Offset": str(start),
                "Content-Type": "application/offset+octet-stream",
            }
            answer = self._connection.call(
                "PATCH", place, deadline, body=file.read(end - start), headers=headers
            )
            if answer is not None and answer.status == 204:
                start = int(answer.headers["Upload-Offset"])
                continue
            failures += 1
            if answer is not None and not answer.may_try_again:
                raise refusal(answer)
            if failures > RETRIES:
                raise ServerError("the server broke off the upload too often")
            start = int(self._call("HEAD", place, deadline).headers["Upload-Offset"])

    def _follow(
        self, source: str, order: Document, file: BinaryIO | None, deadline: float
    ) -> Document:
        """Submit, feed the server what it needs, and fetch the report."""
        for state in self._states(order, deadline):
            if state["needs"] and file is not None:
                start = state["needs"]["offset"]
                end = start + state["needs"]["length"]
                self._send(order["upload"], file, start, end, deadline)
            if state["state"] == "done":
                answer = self._call("GET", f"reports/{state['id']}", deadline)
                return {**answer.json(), "source": source}
            if state["error"] or state["state"] in ("failed", "cancelled"):
                error = state["error"] or {"code": "cancelled", "message": "It was cancelled."}
                problem = SourceError(error["code"], error["message"])
                return unreadable(source, problem, order["profile"]).document
        raise ServerError(f"{source}: the server was not ready within {self._timeout:g} s")

    def _states(self, order: Document, deadline: float) -> Iterator[Document]:
        """The state of a new inspection, again and again until the time is up."""
        body = json.dumps(order).encode()
        headers = {"Content-Type": "application/json"}
        answer = self._call("POST", "inspections", deadline, body=body, headers=headers)
        while True:
            state: Document = answer.json()
            yield state
            left = deadline - time.monotonic()
            if left <= 0:
                return
            path = f"inspections/{state['id']}?wait={int(min(POLL_SECONDS, left))}"
            answer = self._call("GET", path, deadline)

    def _call(
        self,
        method: str,
        path: str,
        deadline: float,
        *,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """A good answer. A busy server is asked again; a broken connection is an error."""
        attempt = 0
        while True:
            answer = self._connection.call(method, path, deadline, body=body, headers=headers)
            if answer is None:
                raise ServerError(f"{self._connection.host} cannot be reached or does not answer")
            if answer.status < 300:
                return answer
            if not answer.may_try_again or attempt == RETRIES:
                raise refusal(answer)
            time.sleep(max(0.0, min(answer.retry_after(attempt), deadline - time.monotonic())))
            attempt += 1


def refusal(answer: Answer) -> ServerError | UsageError:
    """What the server said when it refused: its own trouble, or ours."""
    if answer.status >= 500 or answer.may_try_again:
        return ServerError(f"the server answered {answer.status}: {answer.reason()}")
    return UsageError(f"the server refused ({answer.status}): {answer.reason()}")
