"""Names and links of ModelScope: ``ms://owner/repository[@revision][/path]`` and its pages."""

import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import parse_qs, unquote, urlsplit

from ggufhub.errors import SourceError
from ggufhub.names import PART, HubName, parse_hub_name

ENDPOINT = "https://modelscope.cn"
HOSTS = frozenset({"modelscope.cn", "www.modelscope.cn", "modelscope.ai", "www.modelscope.ai"})

BRANCH = "master"
"""What a repository's main branch is called there."""

_PAGE = re.compile(
    rf"/models/(?P<repo>{PART}/{PART})"
    r"(?:/(?:summary|files)?|/(?:file/view|resolve)/(?P<revision>[^/]+)/(?P<path>.+))?"
)
_CALL = re.compile(rf"/api/v1/models/({PART}/{PART})/repo")


def modelscope_endpoint(environment: Mapping[str, str]) -> str:
    """MODELSCOPE_ENDPOINT: the origin behind ``ms://`` names."""
    return environment.get("MODELSCOPE_ENDPOINT", "").strip().rstrip("/") or ENDPOINT


def parse_modelscope_name(text: str, endpoint: str = ENDPOINT) -> tuple[HubName, str] | None:
    """The file or repository ``text`` names and the origin to ask, None for anything else.

    ``SourceError('hub_name')`` for what begins as a name and goes wrong.
    """
    scheme, slashes, rest = text.partition("://")
    if slashes and scheme.lower() == "ms":
        return _from_name(rest), endpoint
    if scheme.lower() not in ("http", "https"):
        return None
    try:
        url = urlsplit(text)
    except ValueError:
        return None
    own = urlsplit(endpoint)
    if url.netloc.lower() not in HOSTS | {own.netloc.lower()}:
        return None
    name = _from_page(url.path, url.query)
    if name is None:
        return None
    return name, endpoint if url.netloc == own.netloc else f"https://{url.netloc}"


def _from_name(rest: str) -> HubName:
    """Written as names of the other hub are, but for the branch that is meant without any."""
    try:
        name = parse_hub_name(f"hf://{rest}")
    except SourceError:
        name = None
    if name is None:
        raise SourceError(
            "hub_name", "A ModelScope name looks like ms://owner/repository[@revision][/path]."
        )
    return name if rest.startswith(f"{name.repo}@") else replace(name, revision=BRANCH)


def _from_page(path: str, query: str) -> HubName | None:
    page = _PAGE.fullmatch(path.rstrip("/"))
    if page:
        return HubName(page["repo"], unquote(page["revision"] or BRANCH), _sound(page["path"]))
    call = _CALL.fullmatch(path)
    fields = parse_qs(query)
    if call is None or "FilePath" not in fields:
        return None
    return HubName(call[1], fields.get("Revision", [BRANCH])[0], _sound(fields["FilePath"][0]))


def _sound(path: str | None) -> str:
    plain = unquote(path or "").strip("/")
    if {"", ".", ".."} & set(plain.split("/")) and plain:
        raise SourceError("hub_name", "The path in the link leads out of the repository.")
    return plain
