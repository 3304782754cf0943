"""The names people give to files on model hubs: ``hf://``, pasted pages, ``org/repo``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

from ggufhub.errors import SourceError, UsageError

ENDPOINT = "https://huggingface.co"
HOSTS = frozenset({"huggingface.co", "www.huggingface.co", "hf.co"})
MODELSCOPE_HOSTS = frozenset({"modelscope.cn", "www.modelscope.cn", "modelscope.ai"})

COMMIT = re.compile(r"[0-9a-f]{40}")

_PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}"
_REPO = re.compile(rf"{_PART}/{_PART}")
_NAME = re.compile(
    rf"(?P<repo>{_PART}/{_PART})"
    r"(?:@(?P<revision>refs/(?:pr|convert)/[\w.-]+|[^/@\s]+))?"
    r"(?::(?P<tag>[A-Za-z0-9_.-]{1,64}))?"
    r"(?:/(?P<path>[^\x00-\x1f]+))?"
)
_PAGES = frozenset({"blob", "resolve", "raw", "tree"})
_NO_OWNERS = frozenset({"api", "datasets", "spaces", "docs", "collections", "papers", "models"})


@dataclass(frozen=True, slots=True)
class HubSettings:
    """Which hub, and the token for it. ``token`` is sent to the origin of ``endpoint`` only."""

    endpoint: str = ENDPOINT
    token: str | None = field(default=None, repr=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "HubSettings":
        """HF_ENDPOINT, and HF_TOKEN or the file HF_TOKEN_FILE names."""
        token = environment.get("HF_TOKEN", "")
        file = environment.get("HF_TOKEN_FILE", "")
        if file and not token:
            try:
                token = Path(file).read_text()
            except (OSError, UnicodeDecodeError) as error:
                raise UsageError(f"HF_TOKEN_FILE: {file} cannot be read.") from error
        token = token.strip()
        if not token.isprintable() or not token.isascii() or " " in token:
            raise UsageError("HF_TOKEN holds a character that no token has.")
        endpoint = environment.get("HF_ENDPOINT", "").strip().rstrip("/") or ENDPOINT
        return cls(endpoint, token or None)


@dataclass(frozen=True, slots=True)
class HubName:
    """A file, or a choice among files, of a repository. ``path`` may name a folder."""

    repo: str
    revision: str = "main"
    path: str = ""
    tag: str = ""


def parse_hub_name(text: str, endpoint: str = ENDPOINT) -> HubName | None:
    """The hub name in ``text``, or None where it is something else.

    ``SourceError('hub_name')`` for what begins as one and goes wrong.
    """
    scheme, slashes, rest = text.partition("://")
    if slashes and scheme.lower() == "hf":
        return _checked(_NAME.fullmatch(rest), text)
    if slashes and scheme.lower() in ("http", "https"):
        return _from_page(text, endpoint)
    host, slash, rest = text.partition("/")
    if slash and host.lower() in HOSTS:
        return _checked(_NAME.fullmatch(rest), text)
    return None if slashes else _bare(text)


def _bare(text: str) -> HubName | None:
    """``org/repo`` or ``org/repo:tag``; what ends like a file is taken for a path."""
    match = _NAME.fullmatch(text)
    if match is None or match["path"] or text.lower().endswith(".gguf"):
        return None
    return _checked(match, text)


def _checked(match: re.Match[str] | None, text: str) -> HubName:
    path = unquote(match["path"] or "").strip("/") if match else ""
    if match is None or ".." in path.split("/") or "//" in path:
        raise SourceError(
            "hub_name", "A hub name looks like hf://owner/repository[@revision][/path]."
        )
    revision = unquote(match["revision"] or "main")
    return HubName(match["repo"], revision, path, match["tag"] or "")


def _from_page(text: str, endpoint: str) -> HubName | None:
    """The file a pasted page or download link of the hub is about."""
    try:
        url = urlsplit(text)
    except ValueError:
        return None
    own = urlsplit(endpoint).netloc.lower()
    if url.netloc.lower() not in HOSTS | {own}:
        return None
    parts = [unquote(part) for part in url.path.split("/") if part]
    if len(parts) < 2 or parts[0] in _NO_OWNERS or not _REPO.fullmatch("/".join(parts[:2])):
        return None
    repo = "/".join(parts[:2])
    if len(parts) == 2:
        return HubName(repo, path=_shown_file(url.query))
    if parts[2] not in _PAGES or len(parts) < 4:
        return None
    after = 6 if parts[3] == "refs" and len(parts) > 5 else 4
    path = "/".join(parts[4:]) if after == 4 else "/".join(parts[6:])
    if ".." in parts:
        raise SourceError("hub_name", "The path in the link leads out of the repository.")
    return HubName(repo, "/".join(parts[3:after]), path or _shown_file(url.query))


def _shown_file(query: str) -> str:
    """The file whose header the hub's own viewer shows on the page of a repository."""
    return parse_qs(query).get("show_file_info", [""])[0]


def modelscope_link(text: str) -> str | None:
    """The download link for a pasted ModelScope file page or API link; None for other texts."""
    try:
        url = urlsplit(text)
    except ValueError:
        return None
    if url.scheme not in ("http", "https") or url.netloc.lower() not in MODELSCOPE_HOSTS:
        return None
    page = re.fullmatch(rf"/models/({_PART}/{_PART})/file/view/([^/]+)/(.+)", url.path)
    if page:
        repo, revision, path = page.groups()
    else:
        call = re.fullmatch(rf"/api/v1/models/({_PART}/{_PART})/repo", url.path)
        query = parse_qs(url.query)
        if call is None or "FilePath" not in query:
            return None
        repo, path = call[1], quote(query["FilePath"][0])
        revision = quote(query.get("Revision", ["master"])[0], safe="")
    return f"https://{url.netloc}/models/{repo}/resolve/{revision}/{path}"
