"""Listings of a model hub: the files of one repository, the repositories of an organisation or a
collection. Everything is pinned to a commit, and a file is then opened without asking again.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Self
from urllib.parse import quote

from ggufhub.errors import SourceError
from ggufhub.limits import Limits
from ggufhub.sources.base import Digest, Reads
from ggufhub.sources.dial import Dialer
from ggufhub.sources.http import HttpSource
from ggufhub.sources.hub import (
    NEXT_PAGE,
    HubFile,
    HubSource,
    declared_by_hub,
    find_file,
    list_tree,
)
from ggufhub.sources.hub_names import COMMIT, HubName, HubSettings, parse_hub_name
from ggufhub.sources.list_quota import MeteredApi, Quota
from ggufhub.sources.listing import Collector, Entry, Interest, Listing
from ggufhub.sources.policy import AddressPolicy

MOST_REPOSITORIES = 10_000
"""Of one organisation: the largest publishers of quants have a few thousand."""

REPOSITORIES_A_PAGE = 100

_PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}"
_OWNER = re.compile(rf"hf://({_PART})/?")
_COLLECTION = re.compile(rf"hf://collections/({_PART}/[A-Za-z0-9_.-]{{1,256}})/?")
_PAGE = re.compile(r"https?://(?:www\.)?(?:huggingface\.co|hf\.co)/([^?#]+?)/?(?:[?#].*)?")


class Hub:
    """One hub, asked with one connection. Use it as a context manager.

    Once the hub says that nothing is left of ``quota`` it is not asked before there is.
    """

    def __init__(
        self,
        settings: HubSettings,
        *,
        policy: AddressPolicy,
        dialer: Dialer,
        limits: Limits,
        quota: Quota | None = None,
    ) -> None:
        token = settings.token
        self._api = MeteredApi(
            settings.endpoint,
            quota=quota or Quota(),
            policy=policy,
            limits=limits,
            dialer=dialer,
            reads=Reads(),
            headers={"Authorization": f"Bearer {token}"} if token else {},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._api.close()

    def repositories(self, text: str) -> list[str] | None:
        """``hf://owner/repository`` for each repository of the organisation or collection that
        ``text`` names; None where it names neither."""
        page = _PAGE.fullmatch(text)
        place = f"hf://{page[1]}" if page else text
        collection = _COLLECTION.fullmatch(place)
        if collection:
            return self._of_collection(collection[1])
        owner = _OWNER.fullmatch(place)
        return self._of_owner(owner[1]) if owner else None

    def files(self, name: HubName, interest: Interest) -> Listing:
        """The files of a repository (below ``name.path``) that matter, at one commit."""
        facts = self._facts(name)
        commit = facts.get("sha")
        if not isinstance(commit, str) or not COMMIT.fullmatch(commit):
            raise SourceError("bad_answer", "The hub does not say which commit this is.")
        listing = Listing(f"hf://{name.repo}", revision=commit)
        listing.declared = facts
        collector = Collector(listing, interest)
        for file in list_tree(self._api, name, commit, name.path, deep=True):
            if not file.folder and not collector.add(_entry(file, name.repo, commit)):
                break
        self._read_texts(collector, name, commit)
        return listing

    def _facts(self, name: HubName) -> dict[str, Any]:
        """Commit, card and what the hub itself read from one of the GGUF files."""
        place = f"/api/models/{name.repo}/revision/{quote(name.revision, safe='')}"
        wanted = "?expand=sha&expand=gguf&expand=cardData"
        document = self._api.get(place + wanted).good().json()
        return document if isinstance(document, dict) else {}

    def _read_texts(self, collector: Collector, name: HubName, commit: str) -> None:
        texts = collector.listing.texts
        for entry in collector.listing.entries:
            # The card is known from the facts; a copy of it costs a request for nothing.
            if entry.name.lower() == "readme.md" or not collector.wants_text(entry):
                continue
            answer = self._api.get(f"/{name.repo}/resolve/{commit}/{quote(entry.path)}")
            if answer.status == 200:
                texts[entry.path] = answer.body.decode("utf-8", "replace")

    def _of_owner(self, owner: str) -> list[str]:
        first = f"/api/models?author={quote(owner)}&filter=gguf&limit={REPOSITORIES_A_PAGE}"
        return _names([entry.get("id") for page in self._pages(first) for entry in page])

    def _of_collection(self, slug: str) -> list[str]:
        document = self._api.get(f"/api/collections/{quote(slug)}").good().json()
        items = document.get("items") if isinstance(document, dict) else None
        if not isinstance(items, list):
            raise SourceError("bad_answer", "The hub's collection is no list.")
        models = [i for i in items if isinstance(i, dict) and i.get("type") == "model"]
        return _names([item.get("id") for item in models])

    def _pages(self, place: str) -> Iterator[list[dict[str, Any]]]:
        for _ in range(MOST_REPOSITORIES // REPOSITORIES_A_PAGE):
            answer = self._api.get(place).good()
            entries = answer.json()
            if not isinstance(entries, list):
                raise SourceError("bad_answer", "The hub's list of models is not a list.")
            yield [entry for entry in entries if isinstance(entry, dict)]
            following = NEXT_PAGE.search(answer.headers.get("Link") or "")
            if following is None:
                return
            place = following[1]


def _names(ids: Sequence[Any]) -> list[str]:
    """The repositories with these ids, each once; what is no id is left out."""
    known = [id for id in ids if isinstance(id, str) and re.fullmatch(rf"{_PART}/{_PART}", id)]
    return [f"hf://{id}" for id in dict.fromkeys(known)]


def _entry(file: HubFile, repo: str, commit: str) -> Entry:
    digests = (Digest("sha256", file.sha256, "declared by hub"),) if file.sha256 else ()
    locator = f"hf://{repo}@{commit}/{quote(file.path)}"
    return Entry(file.path, locator, file.size, digests)


def _file(entry: Entry) -> HubFile:
    """The listed file as the hub knows it: by its path in the repository."""
    name = parse_hub_name(entry.locator)
    assert name is not None  # ``_entry`` made it
    return HubFile(name.path, entry.size, entry.sha256)


class ListedHubSource(HubSource):
    """A file whose listing is at hand: opened by its commit, without asking the hub again."""

    def __init__(
        self,
        name: HubName,
        files: Sequence[Entry],
        *,
        policy: AddressPolicy,
        limits: Limits,
        settings: HubSettings,
        dialer: Dialer,
    ) -> None:
        super().__init__(name, policy=policy, limits=limits, settings=settings, dialer=dialer)
        self._commit = name.revision
        self._path = name.path
        self._listing = [_file(entry) for entry in files]

    def _resolve(self) -> HttpSource:
        file = find_file(self._listing, self._path)
        if file is None:
            raise SourceError("not_found", f"There is no {self._path} in the listing.")
        return self._http(file.path, declared_by_hub(file, self.locator, ()), self._limits)
