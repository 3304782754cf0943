"""Lists of links: plain lines, JSON lines, checksum files, and index pages of web servers."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

from ggufhub.sources.base import Digest
from ggufhub.sources.listing import Collector, Entry, Interest, Listing

MOST_LINE = 8_192
"""Characters of one line: a link has at most 4,096."""

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_SUM = re.compile(r"\\?([0-9A-Fa-f]{64})[ \t]+\*?(\S.*)")
_BSD_SUM = re.compile(r"SHA256 ?\((.+)\) ?= ?([0-9A-Fa-f]{64})")

IN_MANIFEST = "in a manifest"


def list_links(text: str, locator: str, interest: Interest, base: str = "") -> Listing:
    """The entries of a list: a line is a link or name, or a JSON object with ``url`` and, as far
    as known, ``sha256`` and ``size``; or a line of a checksum file whose names are taken below
    ``base``. Lines that make no sense are problems.
    """
    listing = Listing(locator)
    collector = Collector(listing, interest)
    seen: set[str] = set()
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        entry = _entry(line, base) if len(line) <= MOST_LINE else None
        if entry is None:
            collector.skip(
                f"line {number}", "This is no link, no name and no JSON object with one."
            )
        elif entry.locator not in seen:
            seen.add(entry.locator)
            if not collector.add(entry):
                break
    return listing


def _entry(line: str, base: str) -> Entry | None:
    if line.startswith("{"):
        return _from_json(line, base)
    found = _SUM.fullmatch(line)
    if found:
        return _below(found[2], base, found[1])
    found = _BSD_SUM.fullmatch(line)
    if found:
        return _below(found[1], base, found[2])
    if " " in line or not line.isprintable():
        return None
    return Entry(link_path(line), line, named=True)


def _from_json(line: str, base: str) -> Entry | None:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return None
    url = told.get("url") or told.get("source") if isinstance(told, dict) else None
    if not isinstance(url, str) or not url.isprintable() or " " in url or not url:
        return None
    size, sha256 = told.get("size"), told.get("sha256")
    known = isinstance(sha256, str) and _SHA256.fullmatch(sha256)
    return Entry(
        link_path(url),
        urljoin(base, url) if base else url,
        size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None,
        (Digest("sha256", sha256.lower(), IN_MANIFEST),) if known else (),
        named=True,
    )


def _below(name: str, base: str, sha256: str) -> Entry | None:
    """A file that a checksum file names; nothing outside the folder of that file."""
    name = name.removeprefix("./")
    if not base or name.startswith(("/", "~")) or ".." in re.split(r"[/\\]", name):
        return None
    digests = (Digest("sha256", sha256.lower(), IN_MANIFEST),)
    return Entry(name, urljoin(base, name.replace("%", "%25").replace("#", "%23")), None, digests)


def link_path(link: str) -> str:
    """The path by which a link is listed: host and path, without query and scheme; a name as it
    is."""
    try:
        parts = urlsplit(link)
    except ValueError:
        return link
    if parts.scheme not in ("http", "https"):
        return link
    return unquote(f"{parts.netloc}{parts.path}")


class _Links(HTMLParser):
    """The targets of all links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.targets += [value for name, value in attributes if name == "href" and value]


def list_index(page: str, base: str, interest: Interest) -> Listing:
    """The files an index page of a web server links to, on the same host and below ``base``."""
    listing = Listing(base)
    collector = Collector(listing, interest)
    folder = base[: base.rfind("/") + 1]
    seen: set[str] = set()
    for target in _targets(page, base):
        if not target.startswith(folder) or target.endswith("/") or target in seen:
            continue
        seen.add(target)
        if not collector.add(Entry(unquote(target.removeprefix(folder)), target)):
            break
    return listing


def _targets(page: str, base: str) -> Iterator[str]:
    links = _Links()
    links.feed(page)
    for target in links.targets:
        try:
            yield urljoin(base, target).partition("#")[0].partition("?")[0]
        except ValueError:
            continue
