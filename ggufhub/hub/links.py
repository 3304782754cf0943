"""Links and names as people give them: what is asked for, and what of it may be shown."""

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

from django.conf import settings

from ggufhub.errors import UsageError

URL_LENGTH = 4096

_MODEL_NAME = re.compile(
    r"(?:hf|ms|ollama|oci|s3|gs|az)://[^/].*"
    r"|(?:(?:hf|huggingface)\.co/)?[\w.-]+/[\w.-]+(?::[\w.-]+)?",
    re.ASCII,
)
"""Names on a hub, in a registry or an object store; the worker knows better whether there is such
a thing."""


class Link(NamedTuple):
    """``target`` as given, which may carry a signature; ``locator`` as shown; the file's name."""

    target: str
    locator: str
    name: str


def parse_source(text: str) -> Link:
    """A link, a name such as ``hf://…``, ``ollama://…``, ``owner/repository``, or the path of a
    file below GGUFHUB_ROOTS.

    ``UsageError`` for what is none of them. Whether a path lies below a root is for the worker
    to find out, who opens it.
    """
    target = _clean(text)
    if target.startswith("/") and settings.ROOTS:
        return Link(target, target, target.rpartition("/")[2])
    if _MODEL_NAME.fullmatch(target):
        return Link(target, target, unquote(target.rstrip("/").rpartition("/")[2]))
    return parse_link(target)


def _clean(text: str) -> str:
    target = text.strip()
    if len(target) > URL_LENGTH:
        raise UsageError(f"A link may have at most {URL_LENGTH} characters.")
    if not target.isprintable() or " " in target:
        raise UsageError("A link holds no spaces and no control characters.")
    return target


def parse_link(text: str) -> Link:
    """An http(s) link. ``UsageError`` for what is none."""
    target = _clean(text)
    try:
        parts = urlsplit(target)
        known = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        known = False
    if not known:
        raise UsageError(
            "Give a link that starts with https:// or http://, or a name such as "
            "hf://owner/repository or ollama://model."
        )
    if "@" in parts.netloc:
        raise UsageError("A link with a user name or password in it is not accepted.")
    shown = urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
    name = unquote(parts.path.rstrip("/").rpartition("/")[2]) or str(parts.hostname)
    # A query may be a signature: who sees the report must not receive the right to the file.
    return Link(target, shown + ("?…" if parts.query else ""), name)
