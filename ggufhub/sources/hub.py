"""HubSource: a file in a repository of the hub, pinned to a commit before a byte is read."""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ggufhub.errors import SourceError
from ggufhub.limits import Limits
from ggufhub.sources.api import Api
from ggufhub.sources.base import ByteSource, Digest
from ggufhub.sources.dial import Dialer
from ggufhub.sources.http import Declared, HttpSource, sibling_limits
from ggufhub.sources.hub_choice import Plan, choose, models
from ggufhub.sources.hub_names import COMMIT, HubName, HubSettings
from ggufhub.sources.policy import AddressPolicy
from ggufhub.sources.resolved import ResolvedSource

MOST_PAGES = 20
"""Pages of one listing; each holds up to 1,000 entries."""

SHOWN_CHOICES = 30
"""File names an error message lists."""

NEXT_PAGE = re.compile(r'<([^<>]+)>\s*;[^,]*\brel="?next"?')
"""The link to the following page, in the header ``Link`` of a listing (RFC 8288)."""

SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class HubFile:
    """One entry of a listing. ``sha256`` is known of files kept outside git, as models are."""

    path: str
    size: int | None
    sha256: str | None
    folder: bool = False


class HubSource(ResolvedSource):
    """A model in a hub repository.

    The revision is resolved to a commit and the folder is listed, so that neither can change
    while shards are read; the listing also declares the size and the SHA-256 of every file.
    """

    scheme = "hf"
    branch = "main"

    def __init__(
        self,
        name: HubName,
        *,
        policy: AddressPolicy,
        limits: Limits | None = None,
        settings: HubSettings | None = None,
        dialer: Dialer | None = None,
    ) -> None:
        place = f"/{name.path}" if name.path else f":{name.tag}" if name.tag else ""
        revision = "" if name.revision == self.branch else f"@{quote(name.revision)}"
        super().__init__(f"{self.scheme}://{name.repo}{revision}{place}")
        self._name = name
        self._policy = policy
        self._limits = limits or Limits()
        self._settings = settings or HubSettings()
        self._dialer = dialer or Dialer(policy)
        token = self._settings.token
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._commit = ""
        self._path = ""
        self._listing: list[HubFile] = []

    def sibling(self, name: str) -> ByteSource:
        """The file ``name`` in the same folder, at the same commit. Makes its first request."""
        self._opened()
        file = find_file(self._listing, self._folder + name) if "/" not in name else None
        if file is None:
            raise SourceError("not_found", f"There is no {name} beside the model.")
        locator = f"{self.scheme}://{self._name.repo}@{self._commit}/{file.path}"
        declared = declared_by_hub(file, locator, ())
        return self._http(file.path, declared, sibling_limits(self._limits)).started()

    def sibling_names(self) -> list[str]:
        self._opened()
        return [
            file.path.removeprefix(self._folder)
            for file in self._listing
            if file.path.rpartition("/")[0] == self._folder.rstrip("/") and not file.folder
        ]

    @property
    def _folder(self) -> str:
        """The folder of the file, "" or with a slash at its end."""
        return self._path[: self._path.rfind("/") + 1]

    def _resolve(self) -> HttpSource:
        api = Api(
            self._settings.endpoint,
            policy=self._policy,
            limits=self._limits,
            dialer=self._dialer,
            reads=self.reads,
            headers=self._headers,
        )
        try:
            self._commit = self._pin(api)
            file, notes = self._pick(api)
        finally:
            api.close()
        self._path = file.path
        return self._http(file.path, declared_by_hub(file, self.locator, notes), self._limits)

    def _http(self, path: str, declared: Declared, limits: Limits) -> HttpSource:
        return HttpSource(
            self._link(path),
            policy=self._policy,
            limits=limits,
            headers=self._headers,
            dialer=self._dialer,
            declared=declared,
            reads=self.reads,
        )

    def _pin(self, api: Api) -> str:
        """The commit that is read, whatever happens to the branch meanwhile."""
        revision = self._name.revision
        return revision if COMMIT.fullmatch(revision) else _commit(api, self._name)

    def _at(self) -> str:
        return f"{self._name.repo} at commit {self._commit}"

    def _link(self, path: str) -> str:
        endpoint, repo = self._settings.endpoint, self._name.repo
        return f"{endpoint}/{repo}/resolve/{self._commit}/{quote(path)}"

    def _list(self, api: Api, folder: str, *, deep: bool) -> list[HubFile]:
        """The entries of ``folder``, or of everything below it."""
        return list_tree(api, self._name, self._commit, folder, deep=deep)

    def _pick(self, api: Api) -> tuple[HubFile, tuple[str, ...]]:
        """The file to read, and what there is to tell about it."""
        name, at, path = self._name, self._at(), self._name.path
        if path:
            self._listing = self._list(api, path.rpartition("/")[0], deep=False)
            file = find_file(self._listing, path)
            if file is not None and not file.folder:
                return file, (f"Read from {at}.",)
            if file is None:
                raise _no_such_file(path, self._listing)
        self._listing = self._list(api, path, deep=True)
        plan = choose([file.path for file in self._listing if not file.folder], name.tag)
        chosen = find_file(self._listing, plan.primary)
        if chosen is None:
            raise _no_choice(plan, name.tag, self._listing)
        return chosen, (f"Read from {at}.", *_explained(plan, self._listing))


def _explained(plan: Plan, listing: list[HubFile]) -> list[str]:
    """Which file was chosen, why, and what else llama.cpp would look at."""
    count = len(models(file.path for file in listing))
    if count == 1:
        notes = [f"{plan.primary} is the only model there."]
    else:
        notes = [f"Of {count} models, llama.cpp's -hf would load {plan.primary}: {plan.why}."]
    if len(plan.shards) > 1:
        notes.append(f"It is one of {len(plan.shards)} shards.")
    if plan.sides:
        found = ", ".join(f"{path} ({kind})" for kind, path in plan.sides.items())
        notes.append(f"Side files it could add: {found}.")
    return notes


def _no_choice(plan: Plan, tag: str, listing: list[HubFile]) -> SourceError:
    found = models(file.path for file in listing)
    if not found:
        return SourceError("not_found", "The repository holds no GGUF model.")
    reason = f"No model matches {tag}" if tag else "It is not clear which model is meant"
    if plan.preset:
        reason = f"It is not clear which model is meant: {plan.why}"
    return SourceError("choose", f"{reason}. Name one of: {_listed(found)}.")


def _no_such_file(path: str, listing: list[HubFile]) -> SourceError:
    found = [file.path for file in listing if file.path.endswith(".gguf")]
    beside = f" Beside it are: {_listed(found)}." if found else ""
    return SourceError("not_found", f"There is no {path} in the repository.{beside}")


def _listed(paths: list[str]) -> str:
    more = len(paths) - SHOWN_CHOICES
    shown = ", ".join(paths[:SHOWN_CHOICES])
    return f"{shown} and {more} more" if more > 0 else shown


def find_file(listing: list[HubFile], path: str) -> HubFile | None:
    return next((file for file in listing if file.path == path), None)


def declared_by_hub(file: HubFile, locator: str, notes: tuple[str, ...]) -> Declared:
    known = Digest("sha256", file.sha256, "declared by hub") if file.sha256 else None
    return Declared(
        locator=locator,
        name=file.path.rpartition("/")[2],
        size=file.size,
        digests=(known,) if known else (),
        notes=notes,
    )


def _commit(api: Api, name: HubName) -> str:
    """The commit a branch, tag or pull request stands for now."""
    revision = quote(name.revision, safe="")
    document = api.get(f"/api/models/{name.repo}/revision/{revision}?expand=sha").good().json()
    commit = document.get("sha") if isinstance(document, dict) else None
    if not isinstance(commit, str) or not COMMIT.fullmatch(commit):
        raise SourceError("bad_answer", "The hub does not say which commit this is.")
    return commit


def list_tree(api: Api, name: HubName, commit: str, folder: str, *, deep: bool) -> list[HubFile]:
    """The entries of ``folder`` (of everything below it if ``deep``), page by page."""
    below = f"/{quote(folder)}" if folder else ""
    place = f"/api/models/{name.repo}/tree/{commit}{below}" + ("?recursive=true" if deep else "")
    listing: list[HubFile] = []
    for _ in range(MOST_PAGES):
        answer = api.get(place).good()
        entries = answer.json()
        if not isinstance(entries, list):
            raise SourceError("bad_answer", "The hub's listing is not a list.")
        listing += [file for entry in entries if (file := _entry(entry)) is not None]
        following = NEXT_PAGE.search(answer.headers.get("Link") or "")
        if following is None:
            return listing
        place = following[1]
    raise SourceError("limit", f"The repository's listing has more than {MOST_PAGES} pages.")


def _entry(entry: Any) -> HubFile | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
        return None
    size, lfs = entry.get("size"), entry.get("lfs")
    oid = lfs.get("oid") if isinstance(lfs, dict) else None
    known = isinstance(oid, str) and SHA256.fullmatch(oid)
    return HubFile(
        entry["path"],
        size if isinstance(size, int) and size >= 0 else None,
        oid if known else None,
        folder=entry.get("type") == "directory",
    )
