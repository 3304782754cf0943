"""The names people give to models on hubs and in registries, and to nothing else.

``hf://owner/repository[@revision][/path]``, ``owner/repository[:tag]``, pasted pages of the hub,
and ``ollama://[host/][namespace/]model[:tag]``. Only the grammar is here, so that whoever takes
such names from people can use it; what is behind a name ``ggufhub.sources`` finds out.
"""

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from ggufhub.errors import SourceError

LINKS = "links:"
"""How a source begins that is itself a list of links, a line each."""

ENDPOINT = "https://huggingface.co"
HOSTS = frozenset({"huggingface.co", "www.huggingface.co", "hf.co"})
COMMIT = re.compile(r"[0-9a-f]{40}")

PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}"
_REPO = re.compile(rf"{PART}/{PART}")
_NAME = re.compile(
    rf"(?P<repo>{PART}/{PART})"
    r"(?:@(?P<revision>refs/(?:pr|convert)/[\w.-]+|[^/@\s]+))?"
    r"(?::(?P<tag>[A-Za-z0-9_.-]{1,64}))?"
    r"(?:/(?P<path>[^\x00-\x1f]+))?"
)
_PAGES = frozenset({"blob", "resolve", "raw", "tree"})
_NO_OWNERS = frozenset({"api", "datasets", "spaces", "docs", "collections", "papers", "models"})

REGISTRY = "https://registry.ollama.ai"

_REGISTRY_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_REGISTRY_HOST = re.compile(r"[A-Za-z0-9.-]+(?::[0-9]{1,5})?")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_REGISTRY_PAGE = re.compile(r"https?://(?:www\.)?ollama\.com/library/([^/?#]+)/?(?:[?#].*)?")


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
        return _checked(_NAME.fullmatch(rest))
    if slashes and scheme.lower() in ("http", "https"):
        return _from_page(text, endpoint)
    host, slash, rest = text.partition("/")
    if slash and host.lower() in HOSTS:
        return _checked(_NAME.fullmatch(rest))
    return None if slashes else _bare(text)


def _bare(text: str) -> HubName | None:
    """``org/repo`` or ``org/repo:tag``; what ends like a file is taken for a path."""
    match = _NAME.fullmatch(text)
    if match is None or match["path"] or text.lower().endswith(".gguf"):
        return None
    return _checked(match)


def _checked(match: re.Match[str] | None) -> HubName:
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


@dataclass(frozen=True, slots=True)
class RegistryName:
    """A model in a registry. ``base`` is the registry's origin, ``reference`` a tag or digest.

    ``namespace`` may be "" or have several parts in registries that are not Ollama's; ``scheme``
    is what the name began with.
    """

    base: str
    namespace: str
    model: str
    reference: str = "latest"
    scheme: str = "ollama"

    @property
    def repository(self) -> str:
        return f"{self.namespace}/{self.model}".lstrip("/")

    @property
    def locator(self) -> str:
        """The name as a person would write it, with everything that was left out."""
        mark = "@" if ":" in self.reference else ":"
        host = self.base.partition("://")[2]
        return f"{self.scheme}://{host}/{self.repository}{mark}{self.reference}"


def parse_registry_name(text: str, base: str = REGISTRY) -> RegistryName | None:
    """The registry name in ``text``, None where it is something else.

    ``SourceError('registry_name')`` for what begins as one and goes wrong.
    """
    page = _REGISTRY_PAGE.fullmatch(text)
    scheme, slashes, rest = text.partition("://")
    if page:
        rest = f"library/{page[1]}"
    elif not slashes or scheme.lower() != "ollama":
        return None
    path, at, digest = rest.partition("@")
    parts = path.split("/")
    parts[-1], _, tag = parts[-1].partition(":")
    host = ""
    if len(parts) == 3 or (len(parts) == 2 and re.search("[.:]", parts[0])):
        host = parts.pop(0)
    namespace, model = ("library", *parts)[-2:]
    reference = digest if at else tag or "latest"
    sound = (
        len(parts) <= 2
        and (not host or _REGISTRY_HOST.fullmatch(host))
        and all(_REGISTRY_PART.fullmatch(part) for part in (namespace, model))
        and (_DIGEST.fullmatch(reference) if at else _REGISTRY_PART.fullmatch(reference))
    )
    if not sound:
        raise SourceError(
            "registry_name",
            "A registry name looks like ollama://[host/][namespace/]model[:tag].",
        )
    own = base.partition("://")[2]
    return RegistryName(
        base if host in ("", own) else f"https://{host}", namespace, model, reference
    )


def parse_name(
    text: str, endpoint: str = ENDPOINT, registry: str = REGISTRY
) -> HubName | RegistryName | None:
    """The name in ``text``, or None where it is something else (a link, a path).

    ``SourceError`` (``hub_name`` or ``registry_name``) for what begins as one and goes wrong.
    """
    return parse_registry_name(text, registry) or parse_hub_name(text, endpoint)
