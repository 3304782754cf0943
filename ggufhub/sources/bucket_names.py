"""Names in object stores, ``s3://bucket/key``, and which buckets the operator opens."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from ggufhub.errors import SourceError, UsageError

VARIABLE = "GGUFHUB_BUCKETS"

LONGEST_KEY = 1024
"""Bytes of a key in UTF-8: the limit of S3, Cloud Storage and Blob Storage alike."""

_NAME = re.compile(r"(s3|gs|az)://([^/]*)(?:/(.*))?", re.IGNORECASE | re.DOTALL)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,221}")
"""The union of what the stores allow; names after a domain on Cloud Storage are the longest."""


@dataclass(frozen=True, slots=True)
class ObjectName:
    """An object, or a folder of a bucket. ``scheme`` is ``s3``, ``gs`` or ``az``; ``key`` has no
    slash at either end and is "" for the whole bucket."""

    scheme: str
    bucket: str
    key: str = ""

    @property
    def locator(self) -> str:
        return f"{self.scheme}://{self.bucket}/{quote(self.key)}"

    @property
    def folder(self) -> str:
        """The folder of the object, "" or with a slash at its end."""
        return self.key[: self.key.rfind("/") + 1]

    def below(self, other: "ObjectName") -> bool:
        """Whether this lies in ``other``, or is it."""
        same = (self.scheme, self.bucket) == (other.scheme, other.bucket)
        return same and (not other.key or f"{self.key}/".startswith(f"{other.key}/"))


def parse_object_name(text: str) -> ObjectName | None:
    """The name in ``text``, None where it is something else.

    ``SourceError('object_name')`` for what begins as one and goes wrong.
    """
    match = _NAME.fullmatch(text)
    if match is None:
        return None
    key = unquote(match[3] or "").strip("/")  # what is no UTF-8 becomes U+FFFD, which is in no key
    if not _BUCKET.fullmatch(match[2]) or (key and not _is_key(key)):
        raise SourceError(
            "object_name", "A name in an object store looks like s3://bucket/folder/model.gguf."
        )
    return ObjectName(match[1].lower(), match[2], key)


def _is_key(key: str) -> bool:
    """Whether ``key`` is sound and names one place only, whoever reads it."""
    parts = key.split("/")
    return (
        len(key.encode(errors="replace")) <= LONGEST_KEY
        and key.isprintable()
        and "\ufffd" not in key
        and not {"", ".", ".."} & set(parts)
    )


def opened_buckets(environment: Mapping[str, str]) -> tuple[ObjectName, ...]:
    """GGUFHUB_BUCKETS: buckets or folders of them, separated by commas. Nothing else is read."""
    found = []
    for item in environment.get(VARIABLE, "").split(","):
        if not item.strip():
            continue
        try:
            name = parse_object_name(item.strip())
        except SourceError:
            name = None
        if name is None:
            raise UsageError(f"{VARIABLE}: {item.strip()!r} is no bucket such as s3://models.")
        found.append(name)
    return tuple(found)


def check_opened(name: ObjectName, environment: Mapping[str, str]) -> None:
    """``SourceError('bucket')`` unless the operator opened the place ``name`` lies in."""
    if not any(name.below(place) for place in opened_buckets(environment)):
        raise SourceError(
            "bucket",
            f"This bucket may not be read from here; {VARIABLE} lists those that may.",
        )
