"""`--server`: let a ggufhub server judge a model. Of local files only the headers are sent, and
those of all shards of a split model together.

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

from ggufhub.cli.exchange import Answer, Connection, stranger
from ggufhub.errors import ServerError, SourceError, UsageError
from ggufhub.formats.naming import shard_name
from ggufhub.limits import MIB, Limits
from ggufhub.report.build import unreadable
from ggufhub.report.document import REPORT_SCHEMA
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

        ``ServerError`` where it cannot be reached, is too slow or is no ggufhub server;
        ``UsageError`` where it refuses.
        """
        try:
            return self._inspect(source, profile, policy)
        except (KeyError, TypeError) as error:  # an answer without what ours always hold
            raise stranger() from error

    def _inspect(self, source: str, profile: str, policy: Policy | None) -> Document:
        deadline = time.monotonic() + self._timeout
        order: Document = {"profile": profile}
        if policy is not None:
            order["policy"] = policy_values(policy)
        if is_remote(source):
            return self._follow(source, {**order, "source": source}, {}, deadline)
        try:
            files: dict[str, Path] = {}
            for path in _shards(Path(source)):
                upload = self._create(path, deadline)
                self._send(upload, path, 0, FIRST_BYTES, deadline)
                files[upload] = path
            return self._follow(source, {**order, "uploads": list(files)}, files, deadline)
        except (OSError, ValueError) as error:  # ValueError: a path that no file can have
            reason = error.strerror if isinstance(error, OSError) else error
            problem = SourceError("not_found", f"{source} cannot be read: {reason}")
            return unreadable(source, problem, profile).document

    def _create(self, path: Path, deadline: float) -> str:
        encoded = base64.b64encode(path.name.encode("utf-8", "surrogateescape")).decode()
        headers = {
            "Upload-Length": str(path.stat().st_size),
            "Upload-Metadata": f"filename {encoded},header_only",
        }
        answer = self._call("POST", "uploads", deadline, headers=headers)
        upload: str = answer.json()["id"]
        return upload

    def _send(self, upload: str, path: Path, start: int, end: int, deadline: float) -> None:
        """Send ``[start, end)``, or what the file has of it; go on from where the server says."""
        with path.open("rb") as file:  # only now: of 512 shards not all are open at once
            self._send_open(upload, file, start, end, deadline)

    def _send_open(
        self, upload: str, file: BinaryIO, start: int, end: int, deadline: float
    ) -> None:
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
                start = answer.offset()
                continue
            failures += 1
            if answer is not None and not answer.may_try_again:
                raise refusal(answer)
            if failures > RETRIES:
                raise ServerError("the server broke off the upload too often")
            start = self._call("HEAD", place, deadline).offset()

    def _follow(
        self, source: str, order: Document, files: dict[str, Path], deadline: float
    ) -> Document:
        """Submit, feed the server what it needs of ``files`` (by upload), and fetch the report."""
        for state in self._states(order, deadline):
            if needs := state["needs"]:
                start, upload = needs["offset"], needs["upload"]
                self._send(upload, files[upload], start, start + needs["length"], deadline)
            if state["state"] == "done":
                report = self._call("GET", f"reports/{state['id']}", deadline).json()
                if report.get("schema") != REPORT_SCHEMA:
                    raise stranger()
                return {**report, "source": source}
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


def _shards(path: Path) -> list[Path]:
    """The shards beside ``path`` that make one model with it, in order; else ``path`` alone."""
    name = shard_name(path.name)
    if name is None or not 1 <= name.number <= name.shards <= Limits().shards:
        return [path]
    names = (name.sibling(number) for number in range(1, name.shards + 1))
    shards = (path.with_name(sibling) for sibling in names)
    return [shard for shard in shards if shard == path or os.path.isfile(shard)]


def refusal(answer: Answer) -> ServerError | UsageError:
    """What the server said when it refused: its own trouble, or ours."""
    if answer.status >= 500 or answer.may_try_again:
        return ServerError(f"the server answered {answer.status}: {answer.reason()}")
    return UsageError(f"the server refused ({answer.status}): {answer.reason()}")
