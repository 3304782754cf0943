"""What the head of an HTTP answer says about the file: range, validators, digests, refusal."""

import base64
import binascii
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from email.message import Message
from email.utils import parsedate_to_datetime

from ggufhub.errors import SourceChanged, SourceError
from ggufhub.sources.base import Digest

LONGEST_WAIT = 86_400.0
"""Seconds. A server asking for more is answered by giving up, not by waiting."""

_CONTENT_RANGE = re.compile(r"bytes (?:([0-9]{1,19})-([0-9]{1,19})|\*)/([0-9]{1,19}|\*)")
_SHA256 = re.compile(r'(?:W/)?"?(?:sha256:)?([0-9a-f]{64})(?:-gzip)?"?')
_RATE_LIMIT_RESET = re.compile(r";\s*t=([0-9]{1,9})")

_VERSION_HEADERS = ("x-amz-version-id", "x-goog-generation", "x-ms-version-id")
"""How S3, Cloud Storage and Blob Storage name a version; S3 says "null" for a bucket without."""

_REFUSALS = {
    400: ("bad_request", "The server did not accept the request (400)."),
    401: ("unauthorized", "The server asks for a sign-in: the file is private or does not exist."),
    403: ("forbidden", "The server refuses access to this file (403)."),
    404: ("not_found", "There is no such file on the server (404)."),
    410: ("not_found", "The file is no longer on the server (410)."),
    429: ("rate_limited", "The server asks us to slow down (429)."),
    503: ("busy", "The server is too busy to answer (503)."),
}

_HUB_REFUSALS = {
    "GatedRepo": (
        "gated",
        "The repository is gated: accept its terms on the hub, then give a token in HF_TOKEN.",
    ),
    "RepoNotFound": (
        "not_found",
        "There is no such repository, or it is private and HF_TOKEN does not open it.",
    ),
    "RevisionNotFound": ("not_found", "There is no such revision in the repository."),
    "EntryNotFound": ("not_found", "There is no such file in the repository."),
}


@dataclass(frozen=True, slots=True)
class ContentRange:
    """``bytes first-last/total``: no ``total`` if unknown, no ``first`` in ``bytes */total``."""

    first: int | None
    last: int
    total: int | None


@dataclass(frozen=True, slots=True)
class Validators:
    """What must stay the same while one file is read by several requests.

    If-Range and If-Match are not used: servers are known to ignore both and answer from the new
    file, so the answers themselves are compared.
    """

    etag: str | None
    last_modified: str | None
    size: int | None
    version: str | None = None

    def compare(self, later: "Validators") -> None:
        """``SourceChanged`` if ``later`` is surely about other bytes."""
        if None not in (self.version, later.version) and self.version != later.version:
            raise SourceChanged("The store holds another version of the file by now.")
        if None not in (self.size, later.size) and self.size != later.size:
            raise SourceChanged(f"The file's size changed from {self.size} to {later.size} bytes.")
        if self.etag and later.etag:
            changed = self.etag.removeprefix("W/") != later.etag.removeprefix("W/")
        else:
            dates = (self.last_modified, later.last_modified)
            changed = None not in dates and dates[0] != dates[1]
        if changed:
            raise SourceChanged

    def notes(self) -> tuple[str, ...]:
        return () if self.version is None else (f"The store calls this version {self.version}.",)


def version(headers: Message) -> str | None:
    """The version an object store keeps this content under; None where it keeps none."""
    for name in _VERSION_HEADERS:
        text = (headers.get(name) or "").strip()
        if re.fullmatch(r"[\x21-\x7e]{1,128}", text) and text != "null":
            return text
    return None


def content_range(headers: Message) -> ContentRange | None:
    """The Content-Range header, None if absent. ``SourceError('bad_range')`` if nonsense."""
    text = headers.get("Content-Range")
    if text is None:
        return None
    match = _CONTENT_RANGE.fullmatch(text.strip())
    if match is None:
        raise SourceError("bad_range", "The server's Content-Range is not valid.")
    total = None if match[3] == "*" else int(match[3])
    if match[1] is None:
        return ContentRange(None, -1, total)
    answer = ContentRange(int(match[1]), int(match[2]), total)
    if int(match[1]) > answer.last or (total is not None and answer.last >= total):
        raise SourceError("bad_range", "The server's Content-Range contradicts itself.")
    return answer


def whole_number(headers: Message, name: str) -> int | None:
    """The value of a header that must be a plain number, None if absent or something else."""
    text = (headers.get(name) or "").strip()
    return int(text) if re.fullmatch(r"[0-9]{1,19}", text) else None


def check_encoding(headers: Message) -> None:
    """Refuse bodies that are not the plain bytes: offsets would count something else."""
    encoding = (headers.get("Content-Encoding") or "identity").strip().lower()
    transfer = (headers.get("Transfer-Encoding") or "chunked").strip().lower()
    if encoding != "identity" or transfer != "chunked":
        raise SourceError("encoded", "The server sent the file compressed although told not to.")
    if (headers.get("Content-Type") or "").strip().lower().startswith("multipart/byteranges"):
        raise SourceError("bad_range", "The server answered one range with several.")


def refusal(status: int, headers: Message) -> SourceError:
    """The error for a status that brings no bytes; hubs name the reason in a header."""
    unknown = ("http_status", f"The server answered {status}.")
    hub_reason = headers.get("X-Error-Code") or ""
    code, message = _HUB_REFUSALS.get(hub_reason, _REFUSALS.get(status, unknown))
    return SourceError(code, message, retry_after(headers) if status in (429, 503) else None)


def retry_after(headers: Message) -> float | None:
    """Seconds to wait, by RateLimit (``"name";r=0;t=seconds``) or Retry-After (seconds or date)."""
    reset = _RATE_LIMIT_RESET.search(headers.get("RateLimit") or "")
    text = reset[1] if reset else (headers.get("Retry-After") or "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        seconds = float(text)
    else:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return min(max(seconds, 0.0), LONGEST_WAIT)


def linked_digests(hops: Iterable[Message]) -> list[Digest]:
    """The hub names the file's SHA-256 on its redirect; the last host's ETag is another value."""
    for headers in hops:
        match = _SHA256.fullmatch((headers.get("X-Linked-Etag") or "").strip())
        if match:
            return [Digest("sha256", match[1], "declared by hub")]
    return []


def server_digests(headers: Message, whole: bool) -> list[Digest]:
    """Digests of the whole file that the last host declares.

    ``whole`` says that the answer brings the whole file; Content-MD5 and the bucket checksum
    may otherwise be of the part only.
    """
    found = []
    if whole:
        found.append(_from_base64("md5", headers.get("Content-MD5"), 16))
    if whole or headers.get("x-amz-checksum-type") == "FULL_OBJECT":
        # A composite checksum ends in "-parts" and is no digest of the bytes; base64 refuses it.
        found.append(_from_base64("sha256", headers.get("x-amz-checksum-sha256"), 32))
    for item in ",".join(headers.get_all("x-goog-hash", [])).split(","):
        name, _, value = item.strip().partition("=")
        if name in ("md5", "crc32c"):
            found.append(_from_base64(name, value, 16 if name == "md5" else 4))
    return [digest for digest in found if digest is not None]


def _from_base64(algorithm: str, text: str | None, length: int) -> Digest | None:
    try:
        value = base64.b64decode((text or "").strip(), validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(value) != length:
        return None
    return Digest(algorithm, value.hex(), "declared by server")
